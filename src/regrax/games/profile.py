r"""A correlated profile: a joint distribution with its game, and whether anyone would rather leave it.

A mediator draws the joint action $a \sim \mu$ and tells every player its own part. With $G_n$ the deviation gains of
`regrax.games.gaps`, the profile is, up to a tolerance,

    CE      if no player gains by playing j whenever told i           max_nij G_n[i, j] <= tolerance
    CCE     if no player gains by playing j whatever it is told       max_nj sum_i G_n[i, j] <= tolerance
    Nash    if it is a product of independent mixed strategies and a CCE

Everything here is computed in double precision on the host.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax._checks import pytree
from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax.games.game import Game, unfolded
from regrax.specs import as_game

Concept = Literal["nash", "ce", "cce"]
CONCEPTS = get_args(Concept)
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


@pytree("joint", "game")
class CorrelatedProfile:
    r"""A distribution $\mu$ over the joint actions of a game.

    >>> from regrax.games import chicken
    >>> third = CorrelatedProfile([[1 / 3, 1 / 3], [1 / 3, 0]], chicken())
    >>> third
    chicken: 0.3333 (swerve, swerve), 0.3333 (swerve, dare), 0.3333 (dare, swerve)
    >>> third.payoffs.tolist(), third.check("ce", 1e-12), third.check("nash", 1e-12)
    ([5.0, 5.0], True, False)

    Reference: Aumann (1974), Subjectivity and correlation in randomized strategies.
    """

    joint: Float[Any, "*d"]
    game: Game

    def __init__(self, joint: Any, game: Game | str) -> None:
        game = as_game(game)
        joint = np.array(joint, float)
        checks.shape(
            "joint", joint, f"{game.sizes}, the sizes of {game}", joint.shape == game.sizes
        )
        checks.distributions("joint", joint.ravel())
        joint.setflags(write=False)
        self.__dict__.update(joint=joint, game=game)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a profile never changes: {name} cannot be set")

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
        joint = np.asarray(self.joint)
        return tuple(unfolded(joint, n).sum(1) for n in range(joint.ndim))

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
        players = range(self.joint.ndim)
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

    def likeliest(self, least: float = 0.0) -> Iterator[tuple[Any, ...]]:
        """The joint actions that are played more often than `least`, the likeliest first: labels and probability."""
        flat, names = np.ravel(self.joint), self.game.actions
        for index in np.argsort(-flat, kind="stable")[: np.count_nonzero(flat > least)]:
            actions = zip(names, np.unravel_index(index, self.game.sizes), strict=True)
            yield *(labels[a] for labels, a in actions), float(flat[index])

    def columns(self) -> dict[str, list[Any]]:
        """The joint actions that are played, a column per player, the likeliest first, and their probabilities.

        >>> from regrax.games import solve
        >>> solve("chicken", "ce", "welfare").columns()["probability"]
        [0.5, 0.25, 0.25]
        """
        columns = map(list, zip(*self.likeliest(), strict=True))
        return dict(zip((*self.game.players, "probability"), columns, strict=True))

    to_pandas, to_csv, to_latex, _repr_html_ = to_pandas, to_csv, to_latex, to_html

    def __repr__(self) -> str:
        played = islice(self.likeliest(), MAX_SHOWN_ACTIONS + 1)
        shown = [f"{p:.4g} ({', '.join(labels)})" for *labels, p in played]
        if len(shown) > MAX_SHOWN_ACTIONS:
            shown[-1] = "..."
        return f"{self.game}: {', '.join(shown)}"


def check_concept(concept: str) -> None:
    """Raise unless `concept` names an equilibrium."""
    if concept not in CONCEPTS:
        raise ValueError(f'concept must be "nash", "ce" or "cce", got {concept!r}')


def _worst(profile: CorrelatedProfile, player: int, concept: Concept) -> Deviation:
    payoffs = unfolded(np.asarray(profile.joint), player) @ profile.game.own(player).T
    gains = payoffs - payoffs.diagonal()[:, None]
    if concept == "ce":
        recommended, instead = divmod(int(gains.argmax()), gains.shape[1])
        return Deviation(player, recommended, instead, float(gains.max()))
    always = gains.sum(0)
    return Deviation(player, None, int(always.argmax()), float(always.max()))
