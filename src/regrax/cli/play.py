"""`regrax play`: play learners in a repeated game."""

from functools import partial
from typing import TYPE_CHECKING, Any

from regrax.cli.inputs import Figure, Json, NewOutput, read_game, read_learner
from regrax.cli.output import Bar, counted, listed, print_json, print_table, print_text, save_figure

if TYPE_CHECKING:
    from regrax.games import Game, Summary

GAPS = {"cce_gap": "CCE", "ce_gap": "CE, pairwise", "swap_gap": "swap", "nash_gap": "Nash"}
MAX_PRINTED_ACTIONS = 12


def play(
    game: str,
    /,
    *,
    learners: tuple[str, ...],
    rounds: int,
    episodes: int = 1,
    seed: int | None = None,
    start: tuple[str, ...] = (),
    prior: tuple[str, ...] = (),
    log: NewOutput = None,
    plot: Figure = None,
    json: Json = False,
) -> None:
    """Play learners in a game; measure regret and equilibrium gaps.

    Example uses:
        regrax play weighted-rps --learners 'hedge(0.4479)' --rounds 20
        regrax play chicken --learners 'exp3(0.1)' 'uniform()' --rounds 500 --seed 1

    Args:
        game: Game spec, such as weighted-rps or random(10, 10, seed=3), or a .json, .npz or .nfg file.
        learners: One learner spec for all players, or one per player.
        rounds: Number of rounds.
        episodes: Number of independent repetitions; --plot shows the first.
        seed: Sample actions with this seed; without it every player observes expected losses.
        start: Policy in round 1, one for all players or one each: 0.2,0.8, an action, random(7), or own.
        prior: Initial distribution of the learner's weights, in the format of --start.
        log: Write one JSON line per round and player to a new file.
        plot: Plot gaps, regrets with their bounds, and policies to a .png, .svg or .pdf file.
    """
    import jax

    from regrax import _checks as checks
    from regrax.games import check_rounds, play as play_game, start_policies

    table = read_game(game)
    keep_rows = log is not None or plot is not None or episodes != 1
    check_rounds(table, rounds, "all" if keep_rows else "summary", episodes)
    starts = start_policies(table, start[0] if len(start) == 1 else start or None)
    priors = start_policies(table, prior[0] if len(prior) == 1 else prior or None, "prior")
    key = None
    if seed is not None:
        checks.at_least("seed", seed, 0)
        key = jax.random.key(seed)
    with jax.enable_x64(True), Bar(hidden=json) as bar:
        specs = learners if len(learners) > 1 else learners * len(table.sizes)
        players = [read_learner(spec) for spec in specs]
        for index, weights in enumerate(priors):
            if weights is not None:
                players[index] = players[index].with_prior(weights)
        settings: dict[str, Any] = {"key": key, "start": starts}
        summaries: list[Summary] = []
        if keep_rows or any(hasattr(player, "counts") for player in players):
            from regrax.agents import play_episodes

            for trajectory in play_episodes(table, players, rounds, episodes, log=log, **settings):
                summaries.append(trajectory.summary())
                if plot is not None and len(summaries) == 1:
                    from regrax.show.plots import plot_play

                    save_figure(plot_play(table, players, trajectory), plot)
        else:
            settings |= {"keep": "summary", "on_progress": partial(bar.move, "play")}
            summaries.append(play_game(table, players, rounds, **settings))
        result = {"game": str(table), "learners": [str(player) for player in players]}
        result |= {"rounds": rounds, "seed": seed, **_measured(table, summaries)}
    if episodes > 1:
        result["episodes"] = episodes
    if start:
        result["start"] = list(start)
    for row, player in zip(result["players"], players, strict=True):
        counts = getattr(
            player, "counts", None
        )  # a chat agent counts which parser read each answer
        if counts is not None:
            row["answers"] = dict(counts)
    print_json(result) if json else _print(result)


def _measured(game: "Game", summaries: "list[Summary]") -> dict[str, Any]:
    """Compute gaps of the empirical distribution over all episodes, and mean payoffs and regrets per episode."""
    import numpy as np

    from regrax.games import joint_gaps

    gaps = joint_gaps(np.mean([summary.joint for summary in summaries], 0), game)
    measures = {"payoff": [summary.payoffs for summary in summaries]}
    for name, kind in (
        ("regret", "external"),
        ("internal_regret", "internal"),
        ("swap_regret", "swap"),
    ):
        measures[name] = [summary.regrets(kind) for summary in summaries]
    players = []
    for index, name in enumerate(game.players):
        row: dict[str, Any] = {"player": name}
        for measure, values in measures.items():
            row[measure] = float(np.mean(values, 0)[index])
        average = np.mean([summary.averages[index] for summary in summaries], 0)
        row["average"] = dict(zip(game.actions[index], average.tolist(), strict=True))
        players.append(row)
    return {**{name: float(gaps[name]) for name in sorted(GAPS)}, "players": players}


def _print(result: dict[str, Any]) -> None:
    title = f"{result['game']}, {counted(result['rounds'], 'round')}"
    if "episodes" in result:
        title += f", means over {result['episodes']} episodes"
    if result["seed"] is None:
        title += ", expected losses"
    else:
        title += f", actions drawn with seed {result['seed']}"
    if "start" in result:
        title += f", start {' '.join(result['start'])}"
    measures = ("payoff", "regret", "internal_regret", "swap_regret")
    rows = []
    for player, learner in zip(result["players"], result["learners"], strict=True):
        rows.append([player["player"], learner, *(player[name] for name in measures)])
    columns = ("payoff per round", "regret, total", "internal regret, total", "swap regret, total")
    print_table(("player", "learner", *columns), rows, title)
    for player in result["players"]:
        ranked = sorted(player["average"].items(), key=lambda item: -item[1])
        shares = [f"{label} {share:.1%}" for label, share in ranked[:MAX_PRINTED_ACTIONS]]
        more = len(ranked) - len(shares)
        print_text(
            f"{player['player']} played {listed(shares)}" + (f" and {more} more" if more else "")
        )
        if player.get("answers"):
            counts = [f"{name} {count:,}" for name, count in sorted(player["answers"].items())]
            print_text(f"answers of {player['player']} by parser: {listed(counts)}")
    print()
    gaps = [[label, result[name]] for name, label in GAPS.items()]
    print_table(("equilibrium gap", "largest gain for a player, per round"), gaps)
