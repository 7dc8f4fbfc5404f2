"""What a tournament measured: means over seeds, their intervals, and a ranking."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from regrax._tables import to_csv, to_html, to_latex, to_pandas

MEASURES: tuple[str, ...] = ("regret", "swap_regret", "payoff", "cce_gap", "ce_gap")


class Interval(NamedTuple):
    """A mean over seeds and half the width of its 95 % interval, NaN from a single seed."""

    mean: float
    half: float


class Failure(NamedTuple):
    """A learner, or a pair of them, that could not play a game."""

    game: str
    learners: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Tournament:
    """What `round_robin` measured: arrays of games, learners, opponents and seeds; NaN where a pairing failed.

    Attributes:
        learners: specs of the $K$ learners.
        games: names of the $G$ games.
        rounds: per match.
        seeds: matches $R$ per pairing.
        start: the policy of round 1: `"random"`, one draw per seed and seat, or the learners' `"own"`.
        sampled: whether actions were drawn.
        values: per measure an array over games, learners, opponents and seeds, `(G, K, K, R)`.
        failures: pairings that ended in an error.

    >>> from regrax.games import prisoners_dilemma
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> from regrax.experiments.tournament import round_robin
    >>> games = {"dilemma": prisoners_dilemma()}
    >>> found = round_robin([Uniform(), FollowTheLeader()], games, 10, start="own")
    >>> [found.learners[i] for i in found.ranking("regret")], found.overall("payoff")[1].mean
    (['follow_the_leader()', 'uniform()'], 0.405)
    """

    learners: tuple[str, ...]
    games: tuple[str, ...]
    rounds: int
    seeds: int
    start: str
    sampled: bool
    values: Mapping[str, Float[np.ndarray, "G K K R"]]
    failures: tuple[Failure, ...]

    def pairings(self, measure: str, game: str | None = None) -> list[list[Interval]]:
        """Row learner against column learner in one game, or over all of them."""
        values = self._of(measure, game)
        count = range(len(self.learners))
        return [[interval(mean_of_numbers(values[:, i, j], 0)) for j in count] for i in count]

    def overall(self, measure: str, game: str | None = None) -> list[Interval]:
        """Each learner over all opponents, itself among them, in one game or over all of them."""
        values = self._of(measure, game)
        each = [values[:, i].reshape(-1, self.seeds) for i in range(len(self.learners))]
        return [interval(mean_of_numbers(rows, 0)) for rows in each]

    def ranking(self, measure: str = "regret") -> list[int]:
        """The learners' numbers, the best first: least regret or gap, most payoff; who never finished is last."""
        means = [found.mean for found in self.overall(measure)]
        keys = [-mean if measure == "payoff" else mean for mean in means]
        return sorted(range(len(keys)), key=lambda i: (np.isnan(keys[i]), keys[i]))

    def columns(self) -> dict[str, list[Any]]:
        """A row per game, learner, opponent and seed, and its measures."""
        names = (self.games, self.learners, self.learners, range(self.seeds))
        labels = zip(*itertools.product(*names), strict=True)
        table = dict(zip(("game", "learner", "opponent", "seed"), map(list, labels), strict=True))
        return {**table, **{name: self.values[name].ravel().tolist() for name in MEASURES}}

    to_pandas, to_csv = to_pandas, to_csv

    def to_latex(self, rank: str = "regret", digits: int = 4) -> str:
        """The ranking as a LaTeX tabular: each learner's measures over all games and opponents."""
        return Ranking(self, rank).to_latex(digits)

    def _repr_html_(self) -> str:
        return to_html(Ranking(self))

    def _of(self, measure: str, game: str | None) -> Float[np.ndarray, "G K K R"]:
        if measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
        if game is not None and game not in self.games:
            raise ValueError(f"game must be one of {', '.join(self.games)}, got {game!r}")
        values = self.values[measure]
        return values if game is None else values[self.games.index(game)][None]


class Ranking(NamedTuple):
    """A tournament's learners, the best first."""

    tournament: Tournament
    rank: str = "regret"

    def columns(self) -> dict[str, list[Any]]:
        """Each learner's measures over all games and opponents."""
        order = self.tournament.ranking(self.rank)
        table = {"learner": [self.tournament.learners[i] for i in order]}
        overall = {m: self.tournament.overall(m) for m in MEASURES}
        return table | {m.replace("_", " "): [f[i].mean for i in order] for m, f in overall.items()}

    to_latex = to_latex


def interval(samples: Float[np.ndarray, "R"]) -> Interval:
    r"""Mean and $t_{0.975, n-1}\, s / \sqrt n$ of the samples that are numbers.

    >>> interval(np.array([1.0, 3.0]))
    Interval(mean=2.0, half=12.706)
    """
    finite = samples[np.isfinite(samples)]
    if len(finite) < 2:
        return Interval(float(finite.mean()) if len(finite) else np.nan, np.nan)
    error = finite.std(ddof=1) / np.sqrt(len(finite))
    return Interval(float(finite.mean()), float(stdtrit(len(finite) - 1, 0.975) * error))


def mean_of_numbers(values: Float[np.ndarray, "*d"], axis: int) -> Float[np.ndarray, "*e"]:
    """The mean of what is not NaN; NaN where nothing is left."""
    there = np.isfinite(values)
    count = there.sum(axis)
    total = np.where(there, values, 0.0).sum(axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
