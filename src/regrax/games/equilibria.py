"""Exact equilibria of a game, by concept and objective, and the distance of play from the set of equilibria."""

from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.games import nash
from regrax.games.game import Game, pure
from regrax.games.linear_programs import incentives, largest_minimum, minimise
from regrax.games.max_entropy import most_entropic
from regrax.games.profile import Concept, CorrelatedProfile, check_concept
from regrax.specs import as_game

Objective = Literal["any", "welfare", "minimum", "entropy"]
OBJECTIVES = ("any", "welfare", "minimum", "entropy")


class NearestEquilibrium(NamedTuple):
    """The equilibrium nearest to a joint distribution, and how far it is in total variation."""

    profile: CorrelatedProfile
    distance: float


def solve(
    game: Game | str, concept: Concept = "ce", objective: Objective | Any = "any"
) -> CorrelatedProfile:
    r"""An equilibrium of `game`, or of the game of a spec, that is best by an objective.

    `objective` is `"any"`, a pure equilibrium wherever there is one; `"welfare"`, the largest sum of payoffs;
    `"minimum"`, the largest payoff of whoever gets least; `"entropy"`, the largest entropy; or an array $w$ of the
    game's sizes, the largest $\sum_a \mu(a) w(a)$. Correlated and coarse correlated equilibria are linear programs
    (entropy: a convex one, certified to $10^{-9}$ of the payoffs' span). Nash is a linear program for zero-sum games,
    the best of the extreme equilibria for other two-player games, and a pure equilibrium for more players; it has no
    entropy objective. `profile.gap(concept)` tells what the answer is worth.

    >>> from regrax.games import chicken
    >>> best = solve(chicken(), "ce", "welfare")
    >>> best, best.welfare
    (chicken: 0.5 (swerve, swerve), 0.25 (swerve, dare), 0.25 (dare, swerve), 10.5)
    >>> float(solve("chicken", "cce", [[0, 0], [0, 1]]).joint[1, 1])  # both dare as often as can be
    0.2
    """
    game = as_game(game)
    check_concept(concept)
    if not isinstance(objective, str):
        return _best(game, concept, _weights(objective, game))
    if objective not in OBJECTIVES:
        raise ValueError(
            f'objective must be "any", "welfare", "minimum", "entropy" or an array, got {objective!r}'
        )
    if objective == "any" and (found := nash.pure_equilibria(game)):
        # an equilibrium by every concept, and nothing to solve
        return CorrelatedProfile(pure("", *found[0]).joint(game.sizes), game)
    # one player alone correlates with nobody
    if concept == "nash" and len(game.sizes) > 1:
        return _nash(game, objective)
    return _correlated(game, concept, objective)


def _correlated(game: Game, concept: Concept, objective: Objective) -> CorrelatedProfile:
    if objective != "entropy" and nash.is_zero_sum(game):
        # every equilibrium pays the value; this is the smaller program
        return nash.zero_sum_equilibrium(game)
    gains = incentives(game, concept)
    if objective == "entropy":
        return _profile(most_entropic(gains), game)
    payoffs = np.asarray(game.payoffs, float).reshape(len(game.sizes), -1)
    payoffs = payoffs / (np.abs(payoffs).max() or 1.0)
    if objective == "minimum":
        return _profile(largest_minimum(payoffs, gains).x[:-1], game)
    # where any will do an objective still helps: without one the simplex method took 4 to 40 times as long
    return _profile(minimise(-payoffs.sum(0), gains, shares=payoffs.shape[1]).x, game)


def nearest_equilibrium(
    joint: Any, game: Game | str, concept: Concept = "ce"
) -> NearestEquilibrium:
    r"""$\min_\mu \frac12 \|\mu - p\|_1$ over correlated (or coarse) equilibria $\mu$, and the $\mu$ that attains it.

    >>> from regrax.games import prisoners_dilemma
    >>> nearest_equilibrium([[0.5, 0], [0, 0.5]], prisoners_dilemma(), "ce").distance
    0.5
    """
    if concept not in ("ce", "cce"):
        raise ValueError(f'distance is measured to the "ce" or "cce" set, got concept {concept!r}')
    from scipy import sparse

    game = as_game(game)
    flat = np.ravel(CorrelatedProfile(joint, game).joint)
    gains, one = incentives(game, concept), sparse.eye_array(flat.size, format="csr")
    # variables mu and r >= p - mu; half the L1 distance of distributions is sum_a max(p - mu, 0)
    found = minimise(
        np.repeat([0.0, 1.0], flat.size),
        sparse.block_array([[gains, None], [-one, -one]], format="csr"),
        np.concatenate([np.zeros(gains.shape[0]), -flat]),
        shares=flat.size,
    )
    profile = _profile(found.x[: flat.size], game)
    return NearestEquilibrium(profile, 0.5 * float(np.abs(np.ravel(profile.joint) - flat).sum()))


def _weights(objective: Any, game: Game) -> Float[np.ndarray, "*d"]:
    weights = np.asarray(objective, float)
    fits = weights.shape == game.sizes
    checks.shape("objective", weights, f"{game.sizes}, the sizes of {game}", fits)
    checks.finite("objective", weights)
    return weights / (np.abs(weights).max() or 1.0)


def _best(game: Game, concept: Concept, weights: Float[np.ndarray, "*d"]) -> CorrelatedProfile:
    """The equilibrium of the largest mean weight."""
    if concept != "nash" or len(game.sizes) == 1:
        found = minimise(-weights.ravel(), incentives(game, concept), shares=weights.size)
        return _profile(found.x, game)
    if len(game.sizes) > 2:
        raise ValueError(
            f"Nash equilibria by an objective of one's own are of two players, but {game} has {len(game.sizes)}"
        )
    return max(nash.nash_equilibria(game), key=lambda found: float((weights * found.joint).sum()))


def _profile(flat: Any, game: Game) -> CorrelatedProfile:
    flat = np.maximum(flat, 0)
    return CorrelatedProfile((flat / flat.sum()).reshape(game.sizes), game)


def _nash(game: Game, objective: Objective) -> CorrelatedProfile:
    if objective == "entropy":
        raise ValueError('objective "entropy" is for concepts "ce" and "cce", got concept "nash"')
    if nash.is_zero_sum(game):
        return nash.zero_sum_equilibrium(game)  # all are worth the same
    if len(game.sizes) == 2:
        return max(nash.nash_equilibria(game), key=_WORTH[objective])
    lacks = "no pure equilibrium" if objective == "any" else f"no exact method for {objective!r}"
    raise ValueError(
        f"Nash equilibria of {len(game.sizes)} players are solved exactly only if one is pure and any will do, "
        f"but {game} has {lacks}; approach one by dynamics (regrax solve --by), or ask for a ce"
    )


# on a set of mixtures of extreme equilibria each payoff is linear in the other's strategy: the best is extreme
_WORTH = {
    "any": lambda profile: 0,  # the first
    "welfare": lambda profile: profile.welfare,
    "minimum": lambda profile: float(profile.payoffs.min()),
}
