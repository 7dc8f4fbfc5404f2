"""`regrax play`: play learners in a repeated game."""

from typing import Any

from regrax._text import counted, quantities
from regrax.cli.options import Figure, Json, Output, Requests
from regrax.cli.shared import print_result, progress_bar, read_key, read_learner, save_figure

SPENT = {"answers": "answers in the cache", "tokens": "their tokens", "cost": "their cost"}


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
    log: Output = None,
    plot: Figure = None,
    json: Json = False,
    requests: Requests = Requests(),
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
        start: Policy in round 1, for all players or one each: an action, probabilities (0.2,0.8), random(7) or own.
        prior: Initial distribution of the learner's weights, in the format of --start.
        log: Write one JSON line per round and player to a new file.
        plot: Plot gaps, regrets with their bounds, and policies to a .png, .svg or .pdf file.
    """
    import jax

    from regrax import games

    table = games.read_game(game)
    settings: dict[str, Any] = {"key": read_key(seed)}
    title = f"{table.name}, {counted(rounds, 'round')}"
    if episodes > 1:
        title += f", means over {episodes} episodes"
    title += ", expected losses" if seed is None else f", actions drawn with seed {seed}"
    for name, values in (("start", start), ("prior", prior)):
        if values:
            settings[name] = values[0] if len(values) == 1 else values
            title += f", {name} {' '.join(values)}"
    with jax.enable_x64(True), progress_bar(hidden=json) as show:
        players = games.seated_learners(table, [read_learner(spec) for spec in learners])
        asks = any(hasattr(player, "counts") for player in players)
        if log is None and plot is None and episodes == 1 and not asks:
            settings |= {"keep": "summary", "on_progress": lambda *at: show(("play", *at))}
            plays = [games.play(table, players, rounds, **settings)]
        else:
            from regrax.agents import play_episodes

            if asks:
                settings |= requests.open(log)
            plays = []
            for trajectory in play_episodes(table, players, rounds, episodes, log=log, **settings):
                if plot is not None and not plays:
                    from regrax.show.plots import plot_play

                    save_figure(plot_play(table, players, trajectory), plot)
                plays.append(trajectory.summary())
        measured = games.measure_play(table, plays)
    for row, learner in zip(measured["players"], players, strict=True):
        row |= {"learner": str(learner), "answers": getattr(learner, "counts", None)}
    text = games.measured_text(measured, title)
    result = {"game": table.name, "learners": [str(learner) for learner in players]}
    result |= {"rounds": rounds, "episodes": episodes, "seed": seed}
    result |= {"start": start, "prior": prior, **measured}
    if asks:
        result["spent"] = settings["cache"].spent()._asdict()
        text += "\n" + quantities(result["spent"], SPENT)
    print_result(text, json, result)
