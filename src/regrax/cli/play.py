"""`regrax play`: seat learners in a game, play, and print how far joint play is from equilibrium."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from regrax.cli.output import number, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

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

        from regrax import checks
        from regrax.plots import check_suffix

        if self.plot:
            check_suffix(self.plot)
        if self.seed is not None:
            checks.at_least("seed", self.seed, 0)
        with jax.enable_x64(True):
            self._run()

    def _run(self) -> None:
        import jax

        from regrax.games import play
        from regrax.specs import load_game, parse_learner

        game = load_game(self.game)
        # a seat of its own for each: an outside agent keeps what was said to it
        texts = self.learners * len(game.sizes) if len(self.learners) == 1 else self.learners
        learners = [parse_learner(text) for text in texts]
        key = None if self.seed is None else jax.random.key(self.seed)
        trajectory = play(game, learners, self.rounds, key=key)
        if self.log:
            _write_log(self.log, game, trajectory, learners)
        if self.plot:
            from regrax.plots import plot_play

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
    from regrax import games

    names = ("nash_gap", "cce_gap", "ce_gap", "swap_gap")
    return {name: float(getattr(games, name)(trajectory.joint, game)) for name in names}


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


def _write_log(
    file: Path, game: "Game", trajectory: "Trajectory", learners: "Sequence[Learner]"
) -> None:
    # what was said to an outside agent, an entry a round
    said = [getattr(getattr(l, "function", None), "exchanges", ()) for l in learners]
    policies = [rows.tolist() for rows in trajectory.policies]
    losses = [rows.tolist() for rows in trajectory.losses]
    actions = None if trajectory.actions is None else [a.tolist() for a in trajectory.actions]
    with file.open("w") as lines:
        for t in range(trajectory.rounds):
            for n, name in enumerate(game.players):
                row = {"episode": 0, "agent": name, "round": t + 1, "policy": policies[n][t]}
                row |= {} if actions is None else {"action": actions[n][t]}
                row |= {"losses": losses[n][t]}
                row |= _exchange(said[n][t]) if said[n] else {}
                lines.write(json.dumps(row) + "\n")


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
