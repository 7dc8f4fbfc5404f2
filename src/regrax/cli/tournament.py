"""`regrax tournament`: play every learner against every learner."""

import math
from typing import TYPE_CHECKING, Any, Literal

from regrax.cli.hosts import Hosts
from regrax.cli.inputs import Figure, Json, read_games, read_learner
from regrax.cli.output import Bar, counted, number, print_json, print_table, print_text, save_figure

if TYPE_CHECKING:
    from regrax.experiments.tournament import Interval, Tournament

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
GAMES = ("weighted-rps", "shapley", "chicken", "jordan", "random(5, 5)", "random-zero-sum(5, 5)")
COLUMNS = {
    "regret": "regret per round",
    "swap_regret": "swap regret per round",
    "payoff": "payoff per round",
    "cce_gap": "CCE gap per round",
    "ce_gap": "CE gap per round",
}


def tournament(
    *,
    learners: tuple[str, ...] = LEARNERS,
    games: tuple[str, ...] = GAMES,
    rounds: int = 1000,
    seeds: int = 5,
    start: Literal["random", "own"] = "random",
    sampled: bool = False,
    rank: Literal["regret", "swap_regret", "payoff", "cce_gap", "ce_gap"] = "regret",
    plot: Figure = None,
    json: Json = False,
    hosts: Hosts = Hosts(),
) -> None:
    """Play every learner against every learner and rank them.

    Each player's payoffs are scaled to a range of 1. Intervals are 95 %
    intervals over the seeds of starts, random games and sampled actions.

    Example uses:
        regrax tournament --rounds 200 --seeds 2
        regrax tournament --learners 'hedge(0.3)' 'uniform()' --games chicken 'random(4, 4)'

    Args:
        learners: Specs of the learners.
        games: Specs or files of the games; a random game without a seed is drawn again for every seed.
        rounds: Number of rounds per match.
        seeds: Number of random draws.
        start: Policy in round 1: random (the same for every learner), or the learner's own.
        sampled: Sample actions instead of using expected losses; implied by learners with bandit feedback.
        rank: Measure to rank by.
        plot: Plot heat maps of all pairings to a .png, .svg or .pdf file.
    """
    import jax

    from regrax import _checks as checks
    from regrax.experiments.tournament import round_robin
    from regrax.learners import BanditLearner
    from regrax.sharding import is_first

    checks.at_least("seeds", seeds, 1, 10**5)
    checks.at_least("rounds", rounds, 1, 10**7)
    tables = {spec: read_games(spec, seeds) for spec in games}
    with hosts.joined() as devices, jax.enable_x64(True):
        players = [read_learner(spec) for spec in learners]
        key = None
        if sampled or any(isinstance(player, BanditLearner) for player in players):
            key = jax.random.key(0)
        with Bar(hidden=json or not is_first()) as bar:
            results = round_robin(
                players,
                tables,
                rounds,
                seeds=seeds,
                start=start,
                key=key,
                on_progress=bar.show,
                devices=devices,
            )
        if not is_first():
            return
        if plot is not None:
            from regrax.show.plots import plot_tournament

            save_figure(plot_tournament(results, rank), plot)
        print_json(_described(results, rank)) if json else _print(results, rank)


def _described(results: "Tournament", rank: str) -> dict[str, Any]:
    result = {name: getattr(results, name) for name in ("rounds", "seeds", "start", "sampled")}
    result |= {"learners": list(results.learners), "games": list(results.games), "ranked_by": rank}
    result["ranking"] = [results.learners[index] for index in results.ranking(rank)]
    result |= _means(results, None)
    result["by_game"] = {game: _means(results, game) for game in results.games}
    result["failures"] = [failure._asdict() for failure in results.failures]
    return result


def _means(results: "Tournament", game: str | None) -> dict[str, Any]:
    overall = {}
    pairings = {}
    for measure in COLUMNS:
        overall[measure] = [_plain(mean) for mean in results.overall(measure, game)]
        pairings[measure] = [
            [_plain(mean) for mean in row] for row in results.pairings(measure, game)
        ]
    return {"overall": overall, "pairings": pairings}


def _plain(mean: "Interval") -> dict[str, float | None]:
    """Replace NaN by None; NaN means that a pairing failed, or that a single seed has no interval."""
    values = mean._asdict().items()
    return {name: value if math.isfinite(value) else None for name, value in values}


def _print(results: "Tournament", rank: str) -> None:
    feedback = "sampled actions" if results.sampled else "expected losses"
    title = f"{counted(len(results.learners), 'learner')}, {counted(len(results.games), 'game')}, "
    title += f"{counted(results.rounds, 'round')}, {counted(results.seeds, 'seed')}, "
    title += f"{results.start} starts, {feedback}; ranked by {COLUMNS[rank]}"
    order = results.ranking(rank)
    rows = []
    for place, index in enumerate(order, 1):
        means = [_text(results.overall(measure)[index]) for measure in COLUMNS]
        rows.append([f"{place} {results.learners[index]}", *means])
    print_table(("learner", *COLUMNS.values()), rows, title)
    pairings = results.pairings(rank)
    rows = []
    for place, index in enumerate(order, 1):
        rows.append([str(place), *(number(pairings[index][other].mean) for other in order)])
    opponents = [str(place) for place in range(1, len(order) + 1)]
    print_table(("", *opponents), rows, f"{COLUMNS[rank]} of row against column")
    for failure in results.failures:
        learners = " against ".join(failure.learners)
        print_text(f"failed: {learners} in {failure.game}: {failure.reason}")


def _text(mean: "Interval") -> str:
    if math.isnan(mean.half):
        return number(mean.mean)
    return f"{number(mean.mean)} ±{mean.half:.3g}"
