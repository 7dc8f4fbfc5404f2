"""Write the page `RESULTS.md`."""

import platform
from importlib.metadata import version
from typing import Any

from benchmarks import felt, limit
from benchmarks.measure import Measured, Result
from benchmarks.side import OURS

PACKAGES = ("regrax", "jax", "numpy")


def time(seconds: float) -> str:
    """Format seconds with a suitable unit.

    >>> time(0.0000123)
    '12.3 us'
    """
    if seconds >= 3600:
        return f"{seconds / 3600:,.0f} h"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def line(result: Result) -> str:
    """Format a row for the terminal."""
    ours = result.sides[OURS]
    if ours.error:
        return f"{result.name}: {ours.error}"
    others = [
        f"{name} {m.error or f'{time(m.median)} ({m.ratio:.3g}x)'}"
        for name, m in result.sides.items()
        if name != OURS
    ]
    verdict = f"  BEHIND: {', '.join(result.missed)}" if result.missed else ""
    bound = "" if result.limit is None else f", limit {time(result.limit)}"
    return f"{result.name}: {time(ours.median)}{bound}; {'; '.join(others)}{verdict}"


def page(
    results: list[Result],
    starting: dict[str, Any],
    growth: dict[str, Any],
    waited: list[dict[str, Any]],
) -> str:
    """Return the whole page as Markdown."""
    parts = [
        "# Benchmarks",
        "Written by `make bench`; what is measured and why rows are far from their limits: [README.md](README.md).",
        _machine(),
        "## Against the best of the others",
        _leads(results),
        "## Every side",
        _sides(results),
        "## Start-up",
        _start_up(starting),
        "## What a person waits for",
        "Processor seconds of each command or first call in a process of its own, best of three: with an empty cache "
        "of compiled programs, and again; in imports of jax.",
        felt.table(waited),
        "## How cost grows",
        "![Cost against size](growth.png)",
        _growth(growth),
    ]
    return "\n\n".join(parts) + "\n"


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"One core of {platform.machine()} {platform.system()}, Python {platform.python_version()}, {packages}. "
        f"In plain C this core sustains {limit.operations_a_second() / 1e9:.0f} GFlop/s and reads "
        f"{limit.bytes_a_second(2**13) / 1e9:.0f} GB/s from its first cache, "
        f"{limit.bytes_a_second(2**23) / 1e9:.0f} GB/s from 8 MB. Seconds are CPU seconds; ratios are medians over "
        "turns in which every side ran once."
    )


def _table(columns: list[str], cells: list[list[str]]) -> str:
    rows = [columns, ["---"] * len(columns), *cells]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _leads(results: list[Result]) -> str:
    columns = ["work", "regrax", "best other", "its time", "ratio", "asked for"]
    columns += ["limit", "of the limit", "first call"]
    return _table(columns, [_lead(result) for result in results])


def _lead(result: Result) -> list[str]:
    ours, best = result.sides[OURS], result.best
    if ours.error or best is None:
        return [result.name, ours.error or time(ours.median), *[""] * 7]
    other = result.sides[best]
    asked = ", ".join(sorted({f"{needed:.3g}x {_short(s)}" for s, needed in result.needed.items()}))
    return [
        result.name,
        time(ours.median),
        best,
        time(other.median),
        f"**{other.ratio:.3g}x**" + (" (behind)" if result.missed else ""),
        asked,
        "" if result.limit is None else time(result.limit),
        "" if result.limit is None else f"{result.limit / ours.median:.0%}",
        time(ours.first_call),
    ]


def _short(side: str) -> str:
    return side.split(",")[0]


def _sides(results: list[Result]) -> str:
    columns = ["work", "side", "median", "quartiles", "ratio", "first call", "peak memory"]
    cells = [
        [result.name, name, *_measured(measured)]
        for result in results
        for name, measured in result.sides.items()
    ]
    return _table(columns, cells)


def _measured(m: Measured) -> list[str]:
    if m.error:
        return [m.error, "", "", "", ""]
    return [
        time(m.median),
        f"{time(m.low)} to {time(m.high)}",
        f"{m.ratio:.3g}x",
        time(m.first_call),
        f"{m.peak_mb:.0f} MB",
    ]


def _start_up(starting: dict[str, Any]) -> str:
    cells = [[name, f"{seconds:.2f} s"] for name, seconds in starting["seconds"].items()]
    ratio = starting["import_ratio"]
    asked = f"`import regrax; regrax.Hedge(0.4)` takes {ratio:.2f} times `import jax` (at most 1.6 asked for)."
    return _table(["command", "wall"], cells) + "\n\n" + asked


def _growth(growth: dict[str, Any]) -> str:
    cells = [
        [
            name,
            ", ".join(
                f"{size}: {time(cost)}"
                for size, cost in zip(curve["sizes"], curve["seconds"], strict=True)
            ),
            f"{curve['slope']:.2f}",
        ]
        for name, curve in growth.items()
    ]
    return _table(["cost", "by size", "slope over the larger half"], cells)
