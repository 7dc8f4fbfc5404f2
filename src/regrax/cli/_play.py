"""`regrax play`: seat learners in a game, play, and print how far joint play is from equilibrium."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from regrax.cli._output import number, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from regrax.games import Game, Trajectory
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
    log: Path | None = None
    """Write a JSON line for every round and player to this file."""
    plot: Path | None = None
    """Draw gaps, regrets with their bounds, simplices and joint play into this .png, .svg or .pdf file."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Play in float64, write what was asked for, print."""
        import jax

        from regrax import _checks as checks
        from regrax.show.plots import check_suffix

        if self.plot:
            check_suffix(self.plot)
        if self.seed is not None:
            checks.at_least("seed", self.seed, 0)
        with jax.enable_x64(True):
            self._run()

    def _run(self) -> None:
        import jax

        from regrax.cli._specs import read_game, read_learner
        from regrax.games import play

        game = read_game(self.game)
        # a seat of its own for each: an outside agent keeps what was said to it
        texts = self.learners * len(game.sizes) if len(self.learners) == 1 else self.learners
        learners = [read_learner(text) for text in texts]
        key = None if self.seed is None else jax.random.key(self.seed)
        if self.log and any(learner.host for learner in learners):
            trajectory = _play_and_log(self.log, game, learners, self.rounds, key)
        else:
            trajectory = play(game, learners, self.rounds, key=key)
            if self.log:
                _write_log(self.log, game, trajectory)
        if self.plot:
            from regrax.show.plots import plot_play

            plot_play(game, learners, trajectory).savefig(self.plot, dpi=160)
        result = {
            "game": str(game),
            "learners": [str(learner) for learner in learners],
            "rounds": self.rounds,
            "seed": self.seed,
            **_gaps(game, trajectory),
            "players": _players(game, trajectory),
        }
        print_json(result) if self.json else _print(result)


def _gaps(game: "Game", trajectory: "Trajectory") -> dict[str, float]:
    from regrax.games import joint_gaps

    found = joint_gaps(trajectory.joint, game)
    return {name: float(found[name]) for name in ("nash_gap", "cce_gap", "ce_gap", "swap_gap")}


def _players(game: "Game", trajectory: "Trajectory") -> list[dict[str, Any]]:
    from regrax.regret import external_regret, internal_regret, swap_regret

    return [
        {
            "player": name,
            "payoff": -float((played * losses).sum(1).mean()),
            "regret": float(external_regret(played, losses)),
            "internal_regret": float(internal_regret(played, losses)),
            "swap_regret": float(swap_regret(played, losses)),
            "average": dict(zip(labels, played.mean(0).tolist(), strict=True)),
        }
        for name, labels, played, losses in zip(
            game.players, game.actions, trajectory.played, trajectory.losses, strict=True
        )
    ]


def _write_log(file: Path, game: "Game", trajectory: "Trajectory") -> None:
    columns = _listed((trajectory.policies, trajectory.losses, trajectory.actions))
    with file.open("w") as lines:
        for t in range(trajectory.rounds):
            row = [part and [rows[t] for rows in part] for part in columns]
            lines.writelines(_lines(game, t + 1, *row))


def _play_and_log(
    file: Path, game: "Game", learners: "Sequence[Learner]", rounds: int, key: Any
) -> "Trajectory":
    """Play with outside agents: each round is in the log, with what was said, before the next begins."""
    from regrax.games import play

    said = [getattr(getattr(learner, "function", None), "exchanges", ()) for learner in learners]
    done = 0
    with file.open("w", buffering=1) as lines:

        def write(*parts: Any) -> None:
            nonlocal done
            done += 1
            row = _listed(parts)
            lines.writelines(_lines(game, done, *row, said=[kept[-1:] for kept in said]))

        try:
            return play(game, learners, rounds, key=key, heard=write)
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
