"""Results of a tournament: means over seeds, confidence intervals, and a ranking."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from regrax import _checks as checks
from regrax._tables import html_table, latex, to_csv, to_pandas
from regrax._text import counted, fitted_table, listed, paragraph

MEASURES = {
    "regret": "regret per round",
    "swap_regret": "swap regret per round",
    "payoff": "payoff per round",
    "cce_gap": "CCE gap per round",
    "ce_gap": "CE gap per round",
}
"""Measures, with their names in tables."""


class Interval(NamedTuple):
    """A mean over seeds and the half-width of its 95 % confidence interval, NaN for a single seed."""

    mean: float
    half: float

    def __str__(self) -> str:
        if np.isnan(self.half):
            return "failed" if np.isnan(self.mean) else f"{self.mean:#.4g}"
        return f"{self.mean:#.4g} ±{self.half:.3g}"

    def to_dict(self) -> dict[str, float | None]:
        """Return the mean and the half-width, with None for NaN."""
        return {name: None if np.isnan(value) else value for name, value in self._asdict().items()}


class Failure(NamedTuple):
    """A learner, or a pairing of learners, that could not play a game."""

    game: str
    learners: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Tournament:
    """Results of `round_robin`.

    Attributes:
        learners: Specs of the $K$ learners.
        games: Names of the $G$ games.
        rounds: Rounds per match.
        seeds: Matches $R$ per pairing.
        start: Policy in round 1: `"random"`, drawn per seed and player, or the learners' `"own"`.
        sampled: True if actions were sampled.
        values: For each measure, an array of shape `(G, K, K, R)` over games, learners, opponents and seeds; NaN where
            a pairing failed.
        failures: Pairings that failed with an error.

    >>> from regrax.games import prisoners_dilemma
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> from regrax.experiments.tournament import round_robin
    >>> games = {"dilemma": prisoners_dilemma()}
    >>> results = round_robin([Uniform(), FollowTheLeader()], games, 10, start="own")
    >>> [results.learners[i] for i in results.ranking("regret")], results.overall("payoff")[1].mean
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
        """Return the table of row learners against column learners, in one game or over all games."""
        means = self._means(measure, game, (0,))
        return [[interval(samples) for samples in row] for row in means]

    def overall(self, measure: str, game: str | None = None) -> list[Interval]:
        """Return each learner's mean over all opponents, itself included, in one game or over all games."""
        return [interval(samples) for samples in self._means(measure, game, (0, 2))]

    def ranking(self, measure: str = "regret") -> list[int]:
        """Return learner indices, best (lowest regret or gap, highest payoff) first and failed learners last."""
        means = np.array([entry.mean for entry in self.overall(measure)])
        if measure == "payoff":
            means = -means
        return np.argsort(means, kind="stable").tolist()  # NaN comes last

    def to_dict(self, rank: str = "regret") -> dict[str, Any]:
        """Return the settings, the ranking and all means as plain values, overall and by game.

        Args:
            rank: Measure to rank by.
        """
        names = ("learners", "games", "rounds", "seeds", "start", "sampled")
        result = {name: getattr(self, name) for name in names}
        result |= {"ranked_by": rank, "ranking": [self.learners[k] for k in self.ranking(rank)]}
        result |= self._intervals(None)
        result["by_game"] = {game: self._intervals(game) for game in self.games}
        return {**result, "failures": [failure._asdict() for failure in self.failures]}

    def _intervals(self, game: str | None) -> dict[str, Any]:
        overall = {}
        pairings = {}
        for measure in MEASURES:
            overall[measure] = [mean.to_dict() for mean in self.overall(measure, game)]
            rows = self.pairings(measure, game)
            pairings[measure] = [[mean.to_dict() for mean in row] for row in rows]
        return {"overall": overall, "pairings": pairings}

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with one row per game, learner, opponent and seed."""
        names = (self.games, self.learners, self.learners, range(self.seeds))
        labels = zip(*itertools.product(*names), strict=True)
        table = dict(zip(("game", "learner", "opponent", "seed"), map(list, labels), strict=True))
        return {**table, **{name: self.values[name].ravel().tolist() for name in MEASURES}}

    to_pandas, to_csv = to_pandas, to_csv

    def to_latex(self, rank: str = "regret", digits: int = 4) -> str:
        """Return the ranking as a LaTeX tabular of each learner's measures over all games and opponents."""
        return latex(self._ranking_columns(rank), digits)

    def to_text(self, rank: str = "regret") -> str:
        """Return the settings, the ranking and the pairings as tables that fit the terminal.

        Args:
            rank: Measure to rank by.
        """
        sizes = {"learner": len(self.learners), "game": len(self.games)}
        sizes |= {"round": self.rounds, "seed": self.seeds}
        title = listed(counted(count, noun) for noun, count in sizes.items())
        losses = "sampled actions" if self.sampled else "expected losses"
        title += f", {self.start} starts, {losses}; ranked by {MEASURES[rank]}"
        order = self.ranking(rank)
        overall = [self.overall(measure) for measure in MEASURES]
        pairings = self.pairings(rank)
        ranked = []
        against = []
        for place, k in enumerate(order, 1):
            ranked.append([f"{place} {self.learners[k]}", *(means[k] for means in overall)])
            against.append([place, *(pairings[k][other].mean for other in order)])
        tables = [fitted_table(("learner", *MEASURES.values()), ranked, title)]
        title = f"{MEASURES[rank]} of row against column"
        tables.append(fitted_table(["", *(str(row[0]) for row in against)], against, title))
        for game, learners, reason in self.failures:
            tables.append(paragraph(f"failed: {' against '.join(learners)} in {game}: {reason}"))
        return "\n".join(tables)

    __str__ = to_text

    def _repr_html_(self) -> str:
        table = self._ranking_columns("regret")
        return html_table(table, zip(*table.values(), strict=True))

    def _ranking_columns(self, rank: str) -> dict[str, list[Any]]:
        """Return each learner's measures over all games and opponents, best learner first."""
        order = self.ranking(rank)
        table: dict[str, list[Any]] = {"learner": [self.learners[k] for k in order]}
        for measure in MEASURES:
            overall = self.overall(measure)
            table[measure.replace("_", " ")] = [overall[k].mean for k in order]
        return table

    def _means(
        self, measure: str, game: str | None, axes: tuple[int, ...]
    ) -> Float[np.ndarray, "K *K R"]:
        """Return the mean of the finite values over games, and opponents if `axes` has their axis; NaN without any."""
        checks.one_of("measure", measure, MEASURES)
        values = self.values[measure]
        if game is not None:
            checks.one_of("game", game, self.games)
            values = values[[self.games.index(game)]]
        return np.ma.masked_invalid(values).mean(axes).filled(np.nan)


def interval(samples: Float[np.ndarray, "R"]) -> Interval:
    r"""Return the mean and $t_{0.975, n-1}\, s / \sqrt n$ of the finite samples.

    >>> interval(np.array([1.0, 3.0]))
    Interval(mean=2.0, half=12.706)
    """
    finite = samples[np.isfinite(samples)]
    if len(finite) == 0:
        return Interval(np.nan, np.nan)
    mean = float(finite.mean())
    if len(finite) == 1:
        return Interval(mean, np.nan)
    error = finite.std(ddof=1) / np.sqrt(len(finite))
    return Interval(mean, float(stdtrit(len(finite) - 1, 0.975) * error))
