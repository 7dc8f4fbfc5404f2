r"""Cells over seeds: the mean and spread of each number, and a label that tells settings apart.

How far a model is from the optimum, on one scale for every $(d, T)$ and architecture: with $L^*$ the least loss that
any policy can have and $L(k^*)$ that of the best constant step,

    gap = (L - L*) / (L(k*) - L*)         1: as good as smoothed fictitious play with the exact step; 0: the optimum
"""

import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from regrax.experiments.sweep._store import Row

NUMBERS = ("loss", "above", "gap", "step_size", "total_variation", "operations", "seconds")
OTHERS = (  # settings that a label names where they tell two rows apart
    *("objective", "operator", "heads", "distribution", "feedback", "surrogate"),
    *("steps", "batch", "rate", "sequences"),
)
COLUMNS = (
    *("model", "d", "T", "seeds", "loss", "above least, %", "k* above, %", "gap"),
    *("step", "k*", "operations", "seconds"),
)


class Group(NamedTuple):
    """The cells that differ only in their seeds."""

    label: str  # the architecture, and other settings where they vary
    row: Row  # the settings and exact numbers, which all of them share
    seeds: int
    mean: dict[str, float | None]
    spread: dict[str, float]  # standard deviation over seeds; 0 for a single one


def groups(rows: Sequence[Row]) -> list[Group]:
    """The rows by everything but the seed, in the order they came.

    >>> common = {"model": "linear", "actions": 2, "horizon": 5, "optimal_loss": 1.0, "exact_step_loss": 1.1}
    >>> rows = [{**common, "seed": seed, "loss": loss} for seed, loss in enumerate((1.3, 1.1))]
    >>> (group,) = groups(rows)
    >>> group.label, group.mean["gap"], group.spread["loss"]
    ('linear', 2.0, 0.1414)
    """
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(_alike(row), []).append(row)
    varying = _varying(rows)
    return [_group(cells, varying) for cells in found.values()]


def summary(
    rows: Sequence[Row], written: Callable[[float], str]
) -> tuple[Sequence[str], list[list[str]]]:
    """A table of the groups as text; `written` gives a number its form, what is not known stays empty."""

    def text(value: float | None) -> str:
        return "" if value is None else written(value)

    lines = []
    for label, row, seeds, mean, _ in groups(rows):
        line = [label, str(row["actions"]), str(row["horizon"]), str(seeds), text(mean["loss"])]
        line += [text(mean["above"]), text(percent_above(row, "exact_step_loss"))]
        line += [text(value) for value in (mean["gap"], mean["step_size"], row.get("exact_step"))]
        count, seconds = mean["operations"], mean["seconds"]
        line += ["" if count is None else f"{count:.2e}"]
        lines.append([*line, "" if seconds is None else f"{seconds:.1f}"])
    return COLUMNS, lines


def percent_above(row: Row, name: str) -> float | None:
    """How many percent a loss is above the least possible."""
    least = row["optimal_loss"]
    return None if least is None else 100 * (row[name] / least - 1)


def architecture(row: Row) -> str:
    """The model and its sizes.

    >>> architecture({"model": "transformer", "layers": 2, "width": 32})
    'transformer 2x32'
    """
    deep = row["model"] == "transformer"
    return f"transformer {row['layers']}x{row['width']}" if deep else row["model"]


def _alike(row: Row) -> tuple:
    sizes = (row["actions"], row["horizon"], architecture(row))
    return (*sizes, *(row.get(name) for name in OTHERS))


def _varying(rows: Sequence[Row]) -> dict[str, list[str]]:
    """For each architecture the other settings that are not the same throughout."""
    found = {}
    for name in {architecture(row) for row in rows}:
        mine = [row for row in rows if architecture(row) == name]
        found[name] = [s for s in OTHERS if len({row.get(s) for row in mine}) > 1]
    return found


def _group(cells: Sequence[Row], varying: dict[str, list[str]]) -> Group:
    first = cells[0]
    name = architecture(first)
    label = ", ".join([name, *(_named(s, first[s]) for s in varying[name])])
    values = {number: [_number(cell, number) for cell in cells] for number in NUMBERS}
    mean, spread = {}, {}
    for number, found in values.items():
        known = [value for value in found if value is not None]
        mean[number] = statistics.fmean(known) if known else None
        spread[number] = statistics.stdev(known) if len(known) > 1 else 0.0
    return Group(label, first, len(cells), mean, spread)


def _named(setting: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"no {setting}" if value is None else f"{setting} {value:g}"


def _number(row: Row, name: str) -> float | None:
    if name == "above":
        return percent_above(row, "loss")
    if name == "gap":
        least, step = row["optimal_loss"], row["exact_step_loss"]
        return None if least is None else (row["loss"] - least) / (step - least)
    return row.get(name)
