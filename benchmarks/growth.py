"""How cost grows with actions, rounds, sequences, seeds and players: slopes in log-log coordinates, and a figure."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

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


def curves(repeats: int) -> dict[str, dict[str, Any]]:
    """Seconds of a round or step at every size, and the slope over the larger half of the sizes."""
    found = {}
    for name, (task, varied, sizes, common) in CURVES.items():
        costs = [_cost(task, {**common, varied: size}, repeats) for size in sizes]
        tail = len(sizes) // 2
        slope = np.polyfit(np.log(sizes[tail:]), np.log(costs[tail:]), 1)[0]
        found[name] = {"sizes": list(sizes), "seconds": costs, "slope": float(slope)}
    return found


def _cost(task: str, arguments: dict[str, Any], repeats: int) -> float:
    units = arguments["count"] if "count" in arguments else arguments["rounds"]
    with Side(OURS) as side:
        first = side.prepare(task, **arguments)
        if "error" in first:
            raise RuntimeError(first["error"])
        return median(side.run()["cpu"] for _ in range(repeats)) / units


def draw(found: dict[str, dict[str, Any]], file: Path) -> None:
    """A panel a curve."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    for axes, (name, curve) in zip(figure.subplots(2, 3).flat, found.items(), strict=True):
        axes.loglog(curve["sizes"], np.array(curve["seconds"]) * 1e6, "o-", color="#0072b2")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(name.rsplit(" by ", 1)[1])
        axes.set_ylabel("microseconds")
        axes.set_xticks(curve["sizes"], [str(size) for size in curve["sizes"]])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.text(0.05, 0.9, f"slope {curve['slope']:.2f}", transform=axes.transAxes)
    figure.savefig(file, dpi=130)
