"""`regrax play`: seat learners in a game, play, and print how far joint play is from equilibrium."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrax._files import open_output, output_file
from regrax._settings import Output, Positional
from regrax.cli._text import number, print_json, print_table, save_figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from regrax.games import Game, Summary, Trajectory
    from regrax.learners import Learner


@dataclass(frozen=True)
class Play:
    """Play learners against each other and measure regret and equilibrium gaps.

    regrax play weighted-rps --learners 'hedge(0.4479)' --rounds 20
    """

    game: Positional[str]
    """A game's spec, as in weighted-rps or random(10, 10, seed=3), or a .json, .npz or .nfg file."""
    learners: tuple[str, ...]
    """One learner's spec for every seat, or one for each: hedge(0.4479), blum_mansour(hedge(0.9944)), ..."""
    rounds: int
    """How many rounds to play."""
    seed: int | None = None
    """Draw actions with this seed; without it every player sees expected losses."""
    start: tuple[str, ...] = ()
    """The policy of round 1, for each seat: probabilities as in 0.2,0.8, an action's name, random, or own."""
    log: Output | None = None
    """Write a JSON line for every round and player to this file."""
    plot: Output | None = None
    """Draw gaps, regrets with their bounds, simplices and joint play into this .png, .svg or .pdf file."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Play in float64, write what was asked for, print."""
        import jax

        from regrax import _checks as checks

        if self.plot:
            from regrax.show.plots import check_suffix

            check_suffix(self.plot)
        if self.seed is not None:
            checks.at_least("seed", self.seed, 0)
        with jax.enable_x64(True):
            self._run()

    def _run(self) -> None:
        import jax

        from regrax.cli._text import read_game, read_learner, read_starts

        game = read_game(self.game)
        # a seat of its own for each: an outside agent keeps what was said to it
        texts = self.learners * len(game.sizes) if len(self.learners) == 1 else self.learners
        learners = [read_learner(text) for text in texts]
        key = None if self.seed is None else jax.random.key(self.seed)
        start = read_starts(self.start, game, self.seed) if self.start else None
        if not self.log and not self.plot:
            summary = self._summed(game, learners, key, start)
        else:
            summary = self._kept(game, learners, key, start).summary()
        result = {
            "game": str(game),
            "learners": [str(learner) for learner in learners],
            "rounds": self.rounds,
            "seed": self.seed,
            **_gaps(game, summary),
            "players": _players(game, summary),
        }
        print_json(result) if self.json else _print(result)

    def _summed(self, game: "Game", learners: "list[Learner]", key: Any, start: Any) -> "Summary":
        """Play with a bar on the terminal, and keep sums only."""
        from regrax.cli._text import Bars
        from regrax.experiments import Progress
        from regrax.games import play

        with Bars(hidden=self.json, after=1.0) as bars:

            def show(done: int, of: int) -> None:
                bars.show(Progress("play", done, of))

            return play(
                game, learners, self.rounds, key=key, start=start, keep="summary", on_progress=show
            )

    def _kept(self, game: "Game", learners: "list[Learner]", key: Any, start: Any) -> "Trajectory":
        """Play with every row kept, and write the log and the plot that are made of them."""
        from regrax.games import play
        from regrax.learners import HostLearner

        if self.log and any(isinstance(learner, HostLearner) for learner in learners):
            trajectory = _play_and_log(self.log, game, learners, self.rounds, key, start)
        else:
            trajectory = play(game, learners, self.rounds, key=key, start=start)
            if self.log:
                _write_log(self.log, game, trajectory)
        if self.plot:
            from regrax.show.plots import plot_play

            save_figure(plot_play(game, learners, trajectory), self.plot)
        return trajectory


def _gaps(game: "Game", summary: "Summary") -> dict[str, float]:
    from regrax.games import joint_gaps

    found = joint_gaps(summary.joint, game)
    return {name: float(found[name]) for name in ("nash_gap", "cce_gap", "ce_gap", "swap_gap")}


def _players(game: "Game", summary: "Summary") -> list[dict[str, Any]]:
    measures = {
        "payoff": summary.payoffs,
        "regret": summary.regrets("external"),
        "internal_regret": summary.regrets("internal"),
        "swap_regret": summary.regrets("swap"),
    }
    return [
        {"player": name}
        | {measure: float(values[n]) for measure, values in measures.items()}
        | {"average": dict(zip(labels, summary.averages[n].tolist(), strict=True))}
        for n, (name, labels) in enumerate(zip(game.players, game.actions, strict=True))
    ]


def _write_log(file: Path, game: "Game", trajectory: "Trajectory") -> None:
    columns = _listed((trajectory.policies, trajectory.losses, trajectory.actions))
    with open_output(file) as lines:
        for t in range(trajectory.rounds):
            row = [part and [rows[t] for rows in part] for part in columns]
            lines.writelines(_lines(game, t + 1, *row))


def _play_and_log(
    file: Path, game: "Game", learners: "Sequence[Learner]", rounds: int, key: Any, start: Any
) -> "Trajectory":
    """Play with outside agents: each round is in the log, with what was said, before the next begins."""
    from regrax.games import play

    said = [getattr(getattr(learner, "function", None), "exchanges", ()) for learner in learners]
    done = 0
    with output_file(file).open("w", buffering=1) as lines:

        def write(played: Any) -> None:
            nonlocal done
            done += 1
            row = _listed(played)
            lines.writelines(_lines(game, done, *row, said=[kept[-1:] for kept in said]))

        try:
            return play(game, learners, rounds, key=key, start=start, on_round=write)
        except ValueError as error:
            raise ValueError(f"{error} ({file} has the {done} rounds before)") from None


def _listed(parts: tuple) -> list[Any]:
    """Policies, losses and actions (or None) of all players as plain lists."""
    return [part and [array.tolist() for array in part] for part in parts]


def _lines(
    game: "Game",
    number: int,
    policies: "Sequence[Any]",
    losses: "Sequence[Any]",
    actions: "Sequence[Any] | None",
    said: "Sequence[Any] | None" = None,
) -> "Iterator[str]":
    """A round's lines, one a player."""
    for n, name in enumerate(game.players):
        row = {"episode": 0, "agent": name, "round": number, "policy": policies[n]}
        row |= {} if actions is None else {"action": actions[n]}
        row |= {"losses": losses[n]}
        row |= _exchange(said[n][0]) if said and said[n] else {}
        yield json.dumps(row) + "\n"


def _exchange(kept: dict[str, Any]) -> dict[str, Any]:
    said = {name: kept[name] for name in ("question", "tries")}
    return {"answered": kept["answered"], "exchange": said}


def _favourites(average: dict[str, float]) -> str:
    """The actions played most, and how much."""
    ranked = sorted(average.items(), key=lambda item: -item[1])
    shown = [f"{label} {weight:.3f}" for label, weight in ranked[:3]]
    return "  ".join(shown) + (" ..." if len(ranked) > 3 else "")


def _print(result: dict[str, Any]) -> None:
    feedback = (
        "expected losses" if result["seed"] is None else f"sampled actions, seed {result['seed']}"
    )
    rows = [
        [player["player"], learner]
        + [number(player[name]) for name in ("payoff", "regret", "swap_regret")]
        + [_favourites(player["average"])]
        for player, learner in zip(result["players"], result["learners"], strict=True)
    ]
    columns = ("player", "learner", "payoff", "regret", "swap regret", "played most")
    print_table(columns, rows, f"{result['game']}, {result['rounds']} rounds, {feedback}")
    gaps = [
        ("CCE", "cce_gap"),
        ("CE, pairwise", "ce_gap"),
        ("swap", "swap_gap"),
        ("Nash", "nash_gap"),
    ]
    print_table(
        ("gap", "largest over players"), [[name, number(result[key])] for name, key in gaps]
    )
