"""`regrax tournament`: play every learner against every learner."""

from typing import Literal

from regrax.cli.options import Figure, Hosts, Json
from regrax.cli.shared import print_result, progress_bar, read_key, read_learner, save_figure

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
        regrax tournament --learners 'hedge(0.3)' 'uniform()' --games chicken jordan

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
    from regrax.games import read_games
    from regrax.learners import BanditLearner
    from regrax.sharding import is_first

    checks.at_least("seeds", seeds, 1, 10**5)
    checks.at_least("rounds", rounds, 1, 10**7)
    tables = {spec: read_games(spec, seeds) for spec in games}
    with hosts.joined() as devices, jax.enable_x64(True):
        players = [read_learner(spec) for spec in learners]
        sampled = sampled or any(isinstance(player, BanditLearner) for player in players)
        settings = {"seeds": seeds, "start": start, "key": read_key(0 if sampled else None)}
        with progress_bar(hidden=json or not is_first()) as show:
            settings |= {"on_progress": show, "devices": devices}
            results = round_robin(players, tables, rounds, **settings)
        if not is_first():
            return
        if plot is not None:
            from regrax.show.plots import plot_tournament

            save_figure(plot_tournament(results, rank), plot)
        print_result(results.to_text(rank), json, results.to_dict(rank))
