"""Measure a row: every side runs in its own process, and the sides take turns on one core; ratios are of CPU time."""

from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any

import numpy as np

from benchmarks.rows import Row
from benchmarks.side import OURS, Side


@dataclass
class Measured:
    """Measurements of a side; seconds are CPU seconds of one unit: a round, a step, or the whole task."""

    first_call: float = 0.0  # seconds of the first run, with whatever it compiles
    median: float = 0.0
    low: float = 0.0  # the quartiles
    high: float = 0.0
    ratio: float = 1.0  # of this side's time to regrax's in the same turn, the median
    peak_mb: float = 0.0
    error: str = ""


@dataclass
class Result:
    """Measurements of a row."""

    name: str
    limit: float | None
    needed: dict[str, float]
    sides: dict[str, Measured] = field(default_factory=dict)

    @property
    def missed(self) -> list[str]:
        """The sides whose ratio is below the target."""
        return [
            side
            for side, needed in self.needed.items()
            if not self.sides[side].error and self.sides[side].ratio < needed
        ]

    @property
    def best(self) -> str | None:
        """The fastest of the other libraries."""
        others = {
            s: m.ratio for s, m in self.sides.items() if not s.startswith(OURS) and not m.error
        }
        return min(others, key=lambda side: others[side]) if others else None

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain numbers."""
        return {**asdict(self), "best_peer": self.best, "missed": self.missed}


def measure(row: Row, repeats: int) -> Result:
    """Time the first call of every side, then `repeats` turns."""
    result = Result(row.name, row.limit, dict(row.needed))
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(name)) for name in row.sides}
        first = {name: side.prepare(row.task, **row.asked(name)) for name, side in sides.items()}
        _check(row, first)
        if "error" in first[OURS]:
            raise RuntimeError(f"{row.name}: regrax itself fails: {first[OURS]['error']}")
        good = [name for name in sides if "error" not in first[name]]
        turns = [
            {name: first[name] if name in row.once else sides[name].run() for name in good}
            for _ in range(repeats)
        ]
    for name in sides:
        result.sides[name] = _summary(row, name, first[name], turns)
    return result


def _check(row: Row, first: dict[str, dict[str, Any]]) -> None:
    """Set an error for each side whose numbers differ from regrax's."""
    for name, answer in first.items():
        if name == OURS or "error" in answer or row.tolerance is None or not answer["gave"]:
            continue
        apart = np.abs(np.subtract(answer["gave"], first[OURS]["gave"])).max()
        if not apart <= row.tolerance:
            answer["error"] = f"its numbers differ from regrax's by {apart:.1e}"


def _summary(row: Row, name: str, first: dict[str, Any], turns: list[dict[str, Any]]) -> Measured:
    if "error" in first:
        return Measured(error=first["error"])
    costs = [turn[name]["cpu"] / row.units(name) for turn in turns]
    ours = [turn[OURS]["cpu"] / row.units(OURS) for turn in turns]
    low, middle, high = quantiles(costs, n=4) if len(costs) > 1 else costs * 3
    return Measured(
        first_call=first["cpu"],
        median=middle,
        low=low,
        high=high,
        ratio=median(theirs / mine for theirs, mine in zip(costs, ours, strict=True)),
        peak_mb=turns[-1][name]["peak_mb"],
    )
