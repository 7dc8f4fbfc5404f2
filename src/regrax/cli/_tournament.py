"""`regrax tournament`: every learner against every learner over a set of games."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from regrax._settings import Output
from regrax.cli._distributed_options import Cluster
from regrax.cli._text import print_json, print_table, save_figure, say

if TYPE_CHECKING:
    from regrax.experiments.tournament import Interval, Tournament as Results
    from regrax.games import Game
    from regrax.learners import Learner
    from regrax.sharding import Devices

LEARNERS = (
    "hedge(inverse_sqrt(1.0))",
    "optimistic_hedge(0.3)",
    "ada_hedge()",
    "regret_matching_plus()",
    "predictive_regret_matching_plus()",
    "blum_mansour(ada_hedge())",
    "internal_regret_matching()",
    "fictitious_play()",
    "uniform()",
)
GAMES = (
    "weighted-rps",
    "shapley",
    "chicken",
    "jordan",
    "random(5, 5)",
    "random-zero-sum(5, 5)",
)
MAX_ROUNDS, MAX_SEEDS = 10**7, 10**5
MAX_PRINTED_COLUMNS = 9  # learners whose pairings fit on a terminal
COLUMNS = {
    "regret": "regret",
    "swap_regret": "swap regret",
    "payoff": "payoff",
    "cce_gap": "CCE gap",
    "ce_gap": "CE gap",
}


@dataclass(frozen=True)
class Tournament:
    """Play every learner against every learner in every game, and rank them.

    Payoffs are scaled to span 1 for every player; regrets are per round, of losses so scaled. Every seat's policy of
    round 1 is drawn, the same for all who take the seat. Intervals are at 95 %, over seeds: those of starts, of random
    games, such as random(5, 5), and of sampled actions.

    Args:
        learners: Specs of the learners.
        games: Specs or files of the games; a random family without a seed is drawn anew for every seed.
        rounds: How many rounds every match lasts.
        seeds: How many times what is random is drawn.
        start: Where everyone starts: at a random policy for every seed and seat, or where each learner chooses.
        sampled: Draw actions instead of showing expected losses; done anyway if a learner has bandit feedback.
        rank: What learners are ranked by.
        plot: Draw heat maps of all pairings into this .png, .svg or .pdf file.
        json: Print one JSON object.

    regrax tournament --learners 'hedge(0.3)' 'regret_matching()' --games chicken 'random(4, 4)' --rounds 500
    """

    learners: tuple[str, ...] = LEARNERS
    games: tuple[str, ...] = GAMES
    rounds: int = 1000
    seeds: int = 5
    start: Literal["random", "own"] = "random"
    sampled: bool = False
    rank: Literal["regret", "swap_regret", "payoff", "cce_gap", "ce_gap"] = "regret"
    plot: Output | None = None
    json: bool = False
    cluster: Cluster = field(default_factory=Cluster)

    def run(self) -> None:
        """Play in float64, draw, print: in the first process, if there are several."""
        from regrax import _checks as checks
        from regrax.cli._text import learner_maker, read_games

        checks.at_least("seeds", self.seeds, 1, MAX_SEEDS)
        checks.at_least("rounds", self.rounds, 1, MAX_ROUNDS)
        if self.plot:
            from regrax.show.plots import check_suffix

            check_suffix(self.plot)
        makers = [learner_maker(text) for text in self.learners]
        games = {text: read_games(text, self.seeds) for text in self.games}
        with self.cluster.joined() as devices:
            import jax

            from regrax.sharding import is_first

            with jax.enable_x64(True):
                found = self._played([make() for make in makers], games, devices)
                if is_first():
                    self._show(found)

    def _show(self, results: "Results") -> None:
        if self.plot:
            from regrax.show.plots import plot_tournament

            save_figure(plot_tournament(results, self.rank), self.plot)
        print_json(_result(results, self.rank)) if self.json else _print(results, self.rank)

    def _played(
        self,
        learners: "list[Learner]",
        games: "dict[str, list[Game]]",
        devices: "Devices | None",
    ) -> "Results":
        import jax

        from regrax.cli._text import Bars
        from regrax.experiments.tournament import round_robin
        from regrax.learners import BanditLearner
        from regrax.sharding import is_first

        sampled = self.sampled or any(isinstance(learner, BanditLearner) for learner in learners)
        key = jax.random.key(0) if sampled else None
        with Bars(hidden=self.json or not is_first()) as bars:
            return round_robin(
                learners,
                games,
                self.rounds,
                seeds=self.seeds,
                start=self.start,
                key=key,
                on_progress=bars.show,
                devices=devices,
            )


def _result(results: "Results", rank: str) -> dict[str, Any]:
    def means(game: str | None) -> dict[str, Any]:
        return {
            "overall": {m: [_plain(one) for one in results.overall(m, game)] for m in COLUMNS},
            "pairings": {
                m: [[_plain(one) for one in row] for row in results.pairings(m, game)]
                for m in COLUMNS
            },
        }

    return {
        "learners": list(results.learners),
        "games": list(results.games),
        "rounds": results.rounds,
        "seeds": results.seeds,
        "start": results.start,
        "sampled": results.sampled,
        "ranked_by": rank,
        "ranking": [results.learners[i] for i in results.ranking(rank)],
        **means(None),
        "by_game": {game: means(game) for game in results.games},
        "failures": [failure._asdict() for failure in results.failures],
    }


def _plain(interval: "Interval") -> dict[str, float | None]:
    """What could not be measured is null."""
    return {
        name: value if math.isfinite(value) else None for name, value in interval._asdict().items()
    }


def _print(results: "Results", rank: str) -> None:
    feedback = "sampled actions" if results.sampled else "expected losses"
    games, seeds = len(results.games), results.seeds
    title = (
        f"{len(results.learners)} learners, {games} game{'s' * (games > 1)}, {results.rounds} rounds, "
        f"{seeds} seed{'s' * (seeds > 1)}, {results.start} starts, {feedback}; by {COLUMNS[rank]}"
    )
    measured = {m: results.overall(m) for m in COLUMNS}
    rows = [
        [str(place + 1), results.learners[i], *(_text(measured[m][i]) for m in COLUMNS)]
        for place, i in enumerate(results.ranking(rank))
    ]
    print_table(("", "learner", *COLUMNS.values()), rows, title)
    _print_pairings(results, rank)
    for failure in results.failures:
        say(f"failed: {' against '.join(failure.learners)} in {failure.game}: {failure.reason}")


def _print_pairings(results: "Results", rank: str) -> None:
    """The mean of every pairing, opponents by their place in the ranking."""
    if len(results.learners) > MAX_PRINTED_COLUMNS:
        print(f"every pairing {COLUMNS[rank]}: --json and --plot")
        return
    order, cells = results.ranking(rank), results.pairings(rank)
    rows = [
        [str(place + 1), *(_mean(cells[i][j], 3) for j in order)] for place, i in enumerate(order)
    ]
    columns = ("", *(str(place + 1) for place in range(len(order))))
    print_table(columns, rows, f"{COLUMNS[rank]} against each")


def _mean(interval: "Interval", digits: int = 4) -> str:
    return "-" if math.isnan(interval.mean) else f"{round(interval.mean, digits) + 0.0:.{digits}f}"


def _text(interval: "Interval") -> str:
    """The mean, and its interval where there is one."""
    width = "" if math.isnan(interval.half) else f"\n±{interval.half:.4f}"
    return _mean(interval) + width
