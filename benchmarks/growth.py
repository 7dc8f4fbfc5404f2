"""Measure how cost grows with actions, rounds, sequences, seeds and players: log-log slopes, and a figure.

Commands run in their own processes, and their processor seconds include everything before the first round.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.felt import seconds
from benchmarks.side import OURS, Side

ROUNDS = {"rounds": 2000, "step": 0.1}
TRAINING = {"kind": "linear", "count": 20, "batch": 1024}
CURVES: Mapping[str, tuple[str, str, Sequence[int], Mapping[str, Any]]] = {
    "Hedge, a round, by actions d": ("hedge", "actions", (10, 30, 100, 300, 1000), ROUNDS),
    "Blum-Mansour, a round, by actions d": ("blum_mansour", "actions", (10, 30, 100, 300), ROUNDS),
    "Hedge, a round, by players of 4": ("hedge_of_many", "players", (2, 3, 4, 5, 6), {**ROUNDS, "actions": 4}),
    "linear training step, by rounds T": ("steps", "rounds", (20, 40, 80, 160, 320), TRAINING),
    "linear training step, by sequences": ("steps", "batch", (256, 1024, 4096, 16384), TRAINING),
    "linear training step, by seeds": ("steps", "seeds", (1, 2, 4, 8, 16), TRAINING),
}  # fmt: skip
PLAY = "play weighted-rps --learners hedge(0.1) --rounds {rounds}"
COMMANDS = {
    "play --json": f"{PLAY} --json",
    "play --plot": f"{PLAY} --plot {{folder}}/gaps.png",
    "play --log": f"{PLAY} --log {{folder}}/log.jsonl",
    "audit": "audit {folder}/log.jsonl --json",  # of the log just written
}
COMMAND_ROUNDS = (10**2, 10**3, 10**4, 10**5, 10**6)
MAX_SLOPE = 1.1
"""Largest slope of a command: its time may grow in proportion to its rounds, up to noise."""


def curves(repeats: int) -> dict[str, dict[str, Any]]:
    """Measure seconds per round, step or command at every size, and the slope over the larger half of the sizes."""
    found = {}
    for name, (task, varied, sizes, common) in CURVES.items():
        costs = [_cost(task, {**common, varied: size}, repeats) for size in sizes]
        found[name] = _curve(sizes, costs)
    costs = zip(*[_command_costs(rounds) for rounds in COMMAND_ROUNDS], strict=True)
    for name, growing in zip(COMMANDS, costs, strict=True):
        found[f"{name}, by rounds"] = _curve(COMMAND_ROUNDS, growing)
    return found


def too_steep(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the commands whose time grows faster than their rounds."""
    return [name for name in COMMANDS if found[f"{name}, by rounds"]["slope"] > MAX_SLOPE]


def _curve(sizes: Sequence[int], costs: Sequence[float]) -> dict[str, Any]:
    tail = len(sizes) // 2
    slope = np.polyfit(np.log(sizes[tail:]), np.log(costs[tail:]), 1)[0]
    return {"sizes": list(sizes), "seconds": list(costs), "slope": float(slope)}


def _command_costs(rounds: int) -> list[float]:
    """Return processor seconds of every command, the better of two runs, since the first may compile."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        costs = [_costs_in(folder, rounds) for folder in (first, second)]
    return [min(both) for both in zip(*costs, strict=True)]


def _costs_in(folder: str, rounds: int) -> list[float]:
    lines = [text.format(rounds=rounds, folder=folder).split() for text in COMMANDS.values()]
    return [seconds([sys.executable, "-m", "regrax", *line], Path(folder)) for line in lines]


def _cost(task: str, arguments: dict[str, Any], repeats: int) -> float:
    units = arguments["count"] if "count" in arguments else arguments["rounds"]
    with Side(OURS) as side:
        first = side.prepare(task, **arguments)
        if "error" in first:
            raise RuntimeError(first["error"])
        return median(side.run()["cpu"] for _ in range(repeats)) / units


def draw(found: dict[str, dict[str, Any]], file: Path) -> None:
    """Draw a panel for each curve."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(18, 6.5), layout="constrained")
    for axes, (name, curve) in zip(figure.subplots(2, 5).flat, found.items(), strict=True):
        whole = name.split(",")[0] in COMMANDS
        axes.loglog(
            curve["sizes"],
            np.array(curve["seconds"]) * (1 if whole else 1e6),
            "o-",
            color="#0072b2",
        )
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(name.rsplit(" by ", 1)[1])
        axes.set_ylabel("seconds" if whole else "microseconds")
        if whole:  # side by side, so that what is flat looks flat
            axes.set_ylim(0.5, 2 * max(curve["seconds"][-1] for curve in found.values()))
        axes.set_xticks(curve["sizes"], [f"{size:g}" for size in curve["sizes"]])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.text(0.05, 0.9, f"slope {curve['slope']:.2f}", transform=axes.transAxes)
    figure.savefig(file, dpi=110)
