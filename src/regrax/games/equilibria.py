"""Exact equilibria of a game by concept and objective, and the distance from a distribution to the nearest
equilibrium."""

from typing import Any, NamedTuple

import numpy as np

from regrax import _checks as checks
from regrax.games.game import CONCEPTS, Game, pure
from regrax.games.linear_programs import incentives, largest_minimum, minimise
from regrax.games.max_entropy import most_entropic
from regrax.games.nash import is_zero_sum, nash_equilibria, pure_equilibria, zero_sum_equilibrium
from regrax.games.profile import Concept, CorrelatedProfile
from regrax.specs import as_game

OBJECTIVES = ("any", "welfare", "minimum", "entropy")


class NearestEquilibrium(NamedTuple):
    """The equilibrium nearest to a distribution, and their distance in total variation."""

    profile: CorrelatedProfile
    distance: float


def solve(game: Game | str, concept: Concept = "ce", objective: Any = "any") -> CorrelatedProfile:
    r"""Compute an equilibrium of `game` that maximises an objective.

    Correlated and coarse correlated equilibria are linear programs; maximum entropy is a convex program whose solution
    is certified to $10^{-9}$ of the payoff range. Nash equilibria are a linear program for zero-sum games, the
    best extreme equilibrium for other two-player games, and a pure equilibrium for more players. `profile.gap(concept)`
    measures the accuracy of the result.

    Args:
        game: the game, or its spec.
        concept: `"nash"`, `"ce"` or `"cce"`.
        objective: `"any"` (a pure equilibrium if there is one), `"welfare"` (the sum of payoffs), `"minimum"` (the
            lowest payoff of any player), `"entropy"` (not for Nash), or an array $w$ of the game's sizes to maximise
            $\sum_a \mu(a) w(a)$.

    >>> from regrax.games import chicken
    >>> best = solve(chicken(), "ce", "welfare")
    >>> best, best.welfare
    (chicken: 0.5 (swerve, swerve), 0.25 (swerve, dare), 0.25 (dare, swerve), 10.5)
    >>> float(solve("chicken", "cce", [[0, 0], [0, 1]]).joint[1, 1])  # both dare as often as possible
    0.2
    """
    game = as_game(game)
    checks.one_of("concept", concept, CONCEPTS)
    payoffs = np.asarray(game.payoffs, float).reshape(len(game.sizes), -1)
    payoffs = payoffs / (np.abs(payoffs).max() or 1.0)
    # for "any" too, because without an objective the simplex method took 4 to 40 times as long
    weights = payoffs.sum(0)
    if not isinstance(objective, str):
        weights = np.asarray(objective, float)
        fits = weights.shape == game.sizes
        checks.shape("objective", weights, f"{game.sizes}, the sizes of {game.name}", fits)
        checks.finite("objective", weights)
        weights = weights.ravel() / (np.abs(weights).max() or 1.0)
        objective = "weights"
    elif objective not in OBJECTIVES:
        allowed = ", ".join(f'"{name}"' for name in OBJECTIVES)
        raise ValueError(f"objective must be {allowed} or an array, got {objective!r}")
    if objective == "any":
        found = pure_equilibria(game)
        if found:  # an equilibrium under every concept
            return CorrelatedProfile(pure("", *found[0]).joint(game.sizes), game)
    if objective in ("any", "welfare", "minimum") and is_zero_sum(game):
        return zero_sum_equilibrium(game)  # all equilibria have the same payoffs
    if concept == "nash" and len(game.sizes) > 1:
        return _best_nash(game, objective, weights)
    gains = incentives(game, concept)
    if objective == "entropy":
        return _profile(most_entropic(gains), game)
    if objective == "minimum":
        return _profile(largest_minimum(payoffs, gains).x[:-1], game)
    return _profile(minimise(-weights, gains, shares=weights.size).x, game)


def _best_nash(game: Game, objective: str, weights: Any) -> CorrelatedProfile:
    """Return the best extreme equilibrium; payoffs are linear on sets of their mixtures, so no other is better."""
    players = len(game.sizes)
    if objective == "entropy":
        raise ValueError('objective "entropy" requires concept "ce" or "cce", got "nash"')
    if players > 2:
        raise ValueError(
            f"with {players} players, a Nash equilibrium can be computed only if it is pure and the objective is "
            f'"any"; compute a "ce" of {game.name} instead, or approximate one by dynamics (regrax solve --by)'
        )
    equilibria = nash_equilibria(game)
    if objective == "any":
        return equilibria[0]
    if objective == "minimum":
        return max(equilibria, key=lambda profile: float(profile.payoffs.min()))
    return max(equilibria, key=lambda profile: float(weights @ np.ravel(profile.joint)))


def nearest_equilibrium(
    joint: Any, game: Game | str, concept: Concept = "ce"
) -> NearestEquilibrium:
    r"""Minimise $\frac12 \|\mu - p\|_1$ over the correlated (or coarse correlated) equilibria $\mu$.

    Args:
        joint: the distribution $p$ over joint actions.
        game: the game, or its spec.
        concept: `"ce"` or `"cce"`.

    >>> from regrax.games import prisoners_dilemma
    >>> nearest_equilibrium([[0.5, 0], [0, 0.5]], prisoners_dilemma(), "ce").distance
    0.5
    """
    checks.one_of("concept", concept, ("ce", "cce"))
    from scipy import sparse

    game = as_game(game)
    flat = np.ravel(CorrelatedProfile(joint, game).joint)
    gains = incentives(game, concept)
    identity = sparse.eye_array(flat.size, format="csr")
    # variables mu and r >= p - mu; half the L1 distance between distributions is sum_a max(p - mu, 0)
    result = minimise(
        np.repeat([0.0, 1.0], flat.size),
        sparse.block_array([[gains, None], [-identity, -identity]], format="csr"),
        np.concatenate([np.zeros(gains.shape[0]), -flat]),
        shares=flat.size,
    )
    profile = _profile(result.x[: flat.size], game)
    distance = np.abs(np.ravel(profile.joint) - flat).sum() / 2
    return NearestEquilibrium(profile, float(distance))


def _profile(flat: Any, game: Game) -> CorrelatedProfile:
    flat = np.maximum(flat, 0)
    return CorrelatedProfile((flat / flat.sum()).reshape(game.sizes), game)
