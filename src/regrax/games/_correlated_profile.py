r"""A correlated profile: a joint distribution with its game, and whether anyone would rather leave it.

A mediator draws the joint action $a \sim \mu$ and tells every player its own part. With $G_n$ the deviation gains of
`regrax.games._gaps`, the profile is, up to a tolerance,

    CE      if no player gains by playing j whenever told i           max_nij G_n[i, j] <= tolerance
    CCE     if no player gains by playing j whatever it is told       max_nj sum_i G_n[i, j] <= tolerance
    Nash    if it is a product of independent mixed strategies and a CCE

Everything here is computed in double precision on the host.
"""

from functools import reduce
from typing import Any, Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax.games._game import Game
from regrax.specs import as_game

Concept = Literal["nash", "ce", "cce"]
CONCEPTS = ("nash", "ce", "cce")
MAX_SHOWN_ACTIONS = 6  # joint actions that `repr` prints


class Deviation(NamedTuple):
    """What a player gains by playing `instead` whenever `recommended` is recommended, or always if that is None.

    Attributes:
        player: index.
        recommended: index of an action, or None for whatever is recommended.
        instead: index of the action played in its place.
        gain: in expected payoff.
    """

    player: int
    recommended: int | None
    instead: int
    gain: float


class CorrelatedProfile(eqx.Module):
    r"""A distribution $\mu$ over the joint actions of a game.

    >>> from regrax.games import chicken
    >>> third = CorrelatedProfile([[1 / 3, 1 / 3], [1 / 3, 0]], chicken())
    >>> third
    chicken: 0.3333 (swerve, swerve), 0.3333 (swerve, dare), 0.3333 (dare, swerve)
    >>> third.payoffs.tolist(), third.check("ce", 1e-12), third.check("nash", 1e-12)
    ([5.0, 5.0], True, False)

    Reference: Aumann (1974), Subjectivity and correlation in randomized strategies.
    """

    joint: Float[Array, "*d"] | Float[np.ndarray, "*d"]
    game: Game

    def __init__(self, joint: Any, game: Game | str) -> None:
        game = as_game(game)
        joint = np.array(joint, float)
        checks.shape(
            "joint", joint, f"{game.sizes}, the sizes of {game}", joint.shape == game.sizes
        )
        checks.distributions("joint", joint.ravel())
        joint.setflags(write=False)
        self.joint, self.game = joint, game

    @property
    def payoffs(self) -> Float[np.ndarray, "N"]:
        r"""$\sum_a \mu(a) u_n(a)$ for every player."""
        axes = self.joint.ndim
        return np.tensordot(np.asarray(self.game.payoffs, float), np.asarray(self.joint), axes)

    @property
    def welfare(self) -> float:
        """The sum of the players' payoffs."""
        return float(self.payoffs.sum())

    @property
    def marginals(self) -> tuple[Float[np.ndarray, "_"], ...]:
        """How often each player plays each of its actions."""
        players = range(self.joint.ndim)
        return tuple(
            np.asarray(self.joint).sum(tuple(m for m in players if m != n)) for n in players
        )

    @property
    def product(self) -> "CorrelatedProfile":
        """The profile in which every player draws from its marginal on its own."""
        return CorrelatedProfile(reduce(np.multiply.outer, self.marginals), self.game)

    def worst_deviation(self, concept: Concept = "ce") -> Deviation:
        """The deviation that gains most: from one action for `"ce"`, from all for `"cce"` and `"nash"`.

        >>> from regrax.games import chicken
        >>> CorrelatedProfile([[1, 0], [0, 0]], chicken()).worst_deviation("ce")
        Deviation(player=0, recommended=0, instead=1, gain=1.0)
        """
        check_concept(concept)
        profile = self.product if concept == "nash" else self
        players = range(len(self.game.sizes))
        return max((_worst(profile, n, concept) for n in players), key=lambda found: found.gain)

    def gap(self, concept: Concept = "ce") -> float:
        """What the worst deviation gains: `ce_gap`, `cce_gap` or `nash_gap` in double precision.

        >>> from regrax.games import weighted_rps
        >>> CorrelatedProfile([[1 / 9] * 3] * 3, weighted_rps()).gap("cce")
        0.1111
        """
        return self.worst_deviation(concept).gain

    def check(self, concept: Concept = "ce", tolerance: float = 1e-9) -> bool:
        """Whether this is an equilibrium up to `tolerance`, in units of payoff.

        A Nash profile must also be the product of its marginals, up to `tolerance` in total variation.
        """
        apart = np.abs(self.joint - self.product.joint).sum() / 2 if concept == "nash" else 0.0
        return bool(max(apart, self.gap(concept)) <= tolerance)

    def explain(self, deviation: Deviation) -> str:
        """A deviation in words, with the game's labels.

        >>> from regrax.games import chicken
        >>> certain = CorrelatedProfile([[1, 0], [0, 0]], chicken())
        >>> certain.explain(certain.worst_deviation("cce"))
        'player 1 gains 1 by always playing dare'
        """
        player, recommended, instead, gain = deviation
        labels = self.game.actions[player]
        how = (
            f"always playing {labels[instead]}"
            if recommended is None
            else f"playing {labels[instead]} whenever told {labels[recommended]}"
        )
        return f"{self.game.players[player]} gains {gain:.6g} by {how}"

    def columns(self) -> dict[str, list[Any]]:
        """The joint actions that are played, a column per player, the likeliest first, and their probabilities.

        >>> from regrax.games import solve
        >>> solve("chicken", "ce", "welfare").columns()["probability"]
        [0.5, 0.25, 0.25]
        """
        flat = np.ravel(self.joint)
        played = [int(a) for a in np.argsort(-flat, kind="stable") if flat[a] > 0]
        labels = zip(*(self._labels(a) for a in played), strict=True)
        actions = dict(zip(self.game.players, map(list, labels), strict=True))
        return {**actions, "probability": [float(flat[a]) for a in played]}

    to_pandas, to_csv, to_latex, _repr_html_ = to_pandas, to_csv, to_latex, to_html

    def __repr__(self) -> str:
        flat = np.ravel(self.joint)
        played = [int(a) for a in np.argsort(-flat, kind="stable") if flat[a] > 0]
        shown = [
            f"{flat[a]:.4g} ({', '.join(self._labels(a))})" for a in played[:MAX_SHOWN_ACTIONS]
        ]
        return (
            f"{self.game}: {', '.join(shown)}{', ...' if len(played) > MAX_SHOWN_ACTIONS else ''}"
        )

    def _labels(self, flat: int) -> list[str]:
        actions = np.unravel_index(flat, self.game.sizes)
        return [labels[a] for labels, a in zip(self.game.actions, actions, strict=True)]


def check_concept(concept: str) -> None:
    """Raise unless `concept` names an equilibrium."""
    if concept not in CONCEPTS:
        raise ValueError(f'concept must be "nash", "ce" or "cce", got {concept!r}')


def _worst(profile: CorrelatedProfile, player: int, concept: Concept) -> Deviation:
    gains = _gains(profile, player)
    if concept == "ce":
        recommended, instead = divmod(int(gains.argmax()), gains.shape[1])
        return Deviation(player, recommended, instead, float(gains[recommended, instead]))
    always = gains.sum(0)
    return Deviation(player, None, int(always.argmax()), float(always.max()))


def _gains(profile: CorrelatedProfile, player: int) -> Float[np.ndarray, "d d"]:
    """`deviation_gains` in NumPy: nothing to compile for each new size of game."""
    own, rows = (
        np.moveaxis(np.asarray(table, float), player, 0).reshape(profile.game.sizes[player], -1)
        for table in (profile.game.payoffs[player], profile.joint)
    )
    payoffs = rows @ own.T
    return payoffs - np.diag(payoffs)[:, None]
