r"""Correlated profiles: a distribution over the joint actions of a game, and the gains from deviating from it.

A mediator draws a joint action $a \sim \mu$ and recommends to each player its own action. With the deviation gains
$G_n$ of `regrax.games.gaps`, the profile is, up to a tolerance,

    CE      if no player gains by playing j whenever i is recommended     max_nij G_n[i, j] <= tolerance
    CCE     if no player gains by always playing j                        max_nj sum_i G_n[i, j] <= tolerance
    Nash    if it is a product of independent mixed strategies and a CCE

All numbers are computed in double precision with NumPy.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax._checks import pytree
from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax._text import MIN_SHARE, fitted_table, number, paragraph
from regrax.games.game import CONCEPTS, Game, unfolded
from regrax.games.gaps import check_joint, deviation_gains
from regrax.specs import as_game

Concept = Literal["nash", "ce", "cce"]
MAX_SHOWN_ACTIONS = 6  # joint actions that `repr` prints
ROUNDING = 1e-12  # a smaller gap is printed as 0


class Deviation(NamedTuple):
    """A deviation by one player, and its gain.

    Attributes:
        player: index of the player.
        recommended: index of the action that is replaced; None if the deviation ignores the recommendation.
        instead: index of the action played in its place.
        gain: increase in the player's expected payoff.
    """

    player: int
    recommended: int | None
    instead: int
    gain: float


@pytree("joint", "game")
class CorrelatedProfile:
    r"""A distribution $\mu$ over the joint actions of a game.

    Args:
        joint: probabilities, an array of the game's sizes.
        game: the game, or its spec.

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
        joint = np.array(check_joint(joint, game))
        joint.setflags(write=False)
        self.__dict__.update(joint=joint, game=game)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a profile is immutable: {name} cannot be set")

    @property
    def payoffs(self) -> Float[np.ndarray, "N"]:
        r"""The expected payoff $\sum_a \mu(a) u_n(a)$ of every player."""
        return np.tensordot(np.asarray(self.game.payoffs, float), self.joint, self.joint.ndim)

    @property
    def welfare(self) -> float:
        """The sum of the players' expected payoffs."""
        return float(self.payoffs.sum())

    @property
    def marginals(self) -> tuple[Float[np.ndarray, "_"], ...]:
        """The mixed strategy of each player."""
        joint = np.asarray(self.joint)
        return tuple(unfolded(joint, n).sum(1) for n in range(joint.ndim))

    @property
    def strategies(self) -> list[dict[str, float]]:
        """The mixed strategy of each player, by the names of its actions."""
        pairs = zip(self.game.actions, self.marginals, strict=True)
        return [dict(zip(labels, shares.tolist(), strict=True)) for labels, shares in pairs]

    @property
    def product(self) -> "CorrelatedProfile":
        """The profile in which every player draws from its marginal independently."""
        return CorrelatedProfile(reduce(np.multiply.outer, self.marginals), self.game)

    def worst_deviation(self, concept: Concept = "ce") -> Deviation:
        """Find the deviation with the largest gain: from one action for `"ce"`, from every action for `"cce"` and
        `"nash"`.

        >>> from regrax.games import chicken
        >>> CorrelatedProfile([[1, 0], [0, 0]], chicken()).worst_deviation("ce")
        Deviation(player=0, recommended=0, instead=1, gain=1.0)
        """
        checks.one_of("concept", concept, CONCEPTS)
        profile = self.product if concept == "nash" else self
        deviations = []
        for player in range(self.joint.ndim):
            gains = deviation_gains(profile.joint, profile.game, player)
            if concept != "ce":  # whatever is recommended
                gains = gains.sum(0, keepdims=True)
            row, instead = divmod(int(gains.argmax()), gains.shape[1])
            recommended = row if concept == "ce" else None
            deviations.append(Deviation(player, recommended, instead, float(gains.max())))
        return max(deviations, key=lambda deviation: deviation.gain)

    def gap(self, concept: Concept = "ce") -> float:
        """Return the gain of the worst deviation: `ce_gap`, `cce_gap` or `nash_gap` in double precision.

        >>> from regrax.games import weighted_rps
        >>> CorrelatedProfile([[1 / 9] * 3] * 3, weighted_rps()).gap("cce")
        0.1111
        """
        return self.worst_deviation(concept).gain

    def check(self, concept: Concept = "ce", tolerance: float = 1e-9) -> bool:
        """Return True if this is an equilibrium up to `tolerance`, in units of payoff.

        A Nash profile must also be the product of its marginals, up to `tolerance` in total variation.
        """
        correlation = 0.0
        if concept == "nash":
            correlation = np.abs(self.joint - self.product.joint).sum() / 2
        return bool(max(correlation, self.gap(concept)) <= tolerance)

    def explain(self, deviation: Deviation) -> str:
        """Describe a deviation in words, with the game's labels.

        >>> from regrax.games import chicken
        >>> certain = CorrelatedProfile([[1, 0], [0, 0]], chicken())
        >>> certain.explain(certain.worst_deviation("cce"))
        'player 1 gains 1 by always playing dare'
        """
        labels = self.game.actions[deviation.player]
        how = f"always playing {labels[deviation.instead]}"
        if deviation.recommended is not None:
            how = f"playing {labels[deviation.instead]} instead of {labels[deviation.recommended]}"
        return f"{self.game.players[deviation.player]} gains {number(deviation.gain)} by {how}"

    def likeliest(self, minimum: float = 0.0) -> Iterator[tuple[Any, ...]]:
        """Yield the labels and the probability of each joint action more likely than `minimum`, most likely first."""
        flat = np.ravel(self.joint)
        for index in np.argsort(-flat, kind="stable")[: np.count_nonzero(flat > minimum)]:
            profile = np.unravel_index(index, self.game.sizes)
            pairs = zip(self.game.actions, profile, strict=True)
            yield *(labels[a] for labels, a in pairs), float(flat[index])

    def to_dict(self, concept: Concept = "ce") -> dict[str, Any]:
        """Return the profile, its payoffs and the deviation with the largest gain, as plain numbers and labels.

        >>> from regrax.games import solve
        >>> solve("chicken", "ce", "welfare").to_dict()["welfare"]
        10.5
        """
        worst = self.worst_deviation(concept)
        labels = self.game.actions[worst.player]
        recommended = None if worst.recommended is None else labels[worst.recommended]
        return {
            "profile": self.joint.tolist(),
            "payoffs": self.payoffs.tolist(),
            "welfare": self.welfare,
            "gap": worst.gain,
            "deviation": {
                "player": self.game.players[worst.player],
                "recommended": recommended,
                "instead": labels[worst.instead],
                "gain": worst.gain,
            },
        }

    def to_text(self, concept: Concept = "ce", title: str = "") -> str:
        """Return the profile, its payoffs and the deviation with the largest gain as tables that fit the terminal.

        Args:
            concept: `"nash"` shows mixed strategies, the others joint actions.
            title: Line above the tables.
        """
        text = ""
        columns = ["player", "payoff per round", "mixed strategy"]
        players = zip(self.game.players, self.payoffs.tolist(), self.strategies, strict=True)
        rows = [*players, ("sum (welfare)", self.welfare, None)]
        if concept != "nash":
            header = (*self.game.players, "probability")
            text = fitted_table(header, list(self.likeliest(MIN_SHARE)), title) + "\n"
            title = ""
            columns.pop()
            rows = [row[:2] for row in rows]
        text += fitted_table(columns, rows, title)
        worst = self.worst_deviation(concept)
        gap = f"gap {number(worst.gain)} per round: "
        deviation = "no player gains by deviating"
        if worst.gain >= ROUNDING:
            deviation = self.explain(worst)
        return f"{text}\n{paragraph(gap + deviation)}\n"

    def columns(self) -> dict[str, list[Any]]:
        """Return a table of the joint actions with positive probability, most likely first.

        >>> from regrax.games import solve
        >>> solve("chicken", "ce", "welfare").columns()["probability"]
        [0.5, 0.25, 0.25]
        """
        columns = map(list, zip(*self.likeliest(), strict=True))
        return dict(zip((*self.game.players, "probability"), columns, strict=True))

    to_pandas = to_pandas
    to_csv = to_csv
    to_latex = to_latex
    _repr_html_ = to_html

    def __repr__(self) -> str:
        shown = []
        for *labels, share in islice(self.likeliest(), MAX_SHOWN_ACTIONS + 1):
            shown.append(f"{share:.4g} ({', '.join(labels)})")
        if len(shown) > MAX_SHOWN_ACTIONS:
            shown[-1] = "..."
        return f"{self.game.name}: {', '.join(shown)}"
