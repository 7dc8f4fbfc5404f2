r"""Cells over seeds: the mean and spread of each number, and a label that tells settings apart.

How far a model is from the optimum, on one scale for every $(d, T)$ and architecture: with $L^*$ the least loss that
any policy can have and $L(k^*)$ that of the best constant step,

    gap = (L - L*) / (L(k*) - L*)         1: as good as smoothed fictitious play with the exact step; 0: the optimum
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from regrax.experiments.runs import TrainConfig
from regrax.experiments.sweep._results import Row

NUMBERS: dict[str, Callable[[Row], float | None]] = {
    "loss": lambda row: row.measured.loss,
    "above": lambda row: percent_above(row, row.measured.loss),
    "gap": lambda row: _gap(row),
    "step_size": lambda row: row.measured.step_size,
    "operations": lambda row: row.operations,
    "seconds": lambda row: row.seconds,
}
OTHERS = (  # settings that a label names where they tell two rows apart
    *("objective", "operator", "heads", "distribution", "feedback", "surrogate"),
    *("steps", "batch", "rate", "sequences"),
)
COLUMNS = (
    *("model", "d", "T", "seeds", "loss", "above least, %", "k* above, %", "gap"),
    *("step", "k*", "operations", "seconds"),
)


class Group(NamedTuple):
    """The cells that differ only in their seeds.

    Attributes:
        label: the architecture, and other settings where they vary.
        row: the settings and exact numbers, which all of them share.
        seeds: how many.
        mean: over seeds, by number.
        spread: standard deviation over seeds; 0 for a single one.
    """

    label: str
    row: Row
    seeds: int
    mean: dict[str, float | None]
    spread: dict[str, float]


def groups(rows: Sequence[Row]) -> list[Group]:
    """The rows by everything but the seed, in order of first appearance.

    >>> from regrax.experiments.runs import Measured
    >>> linear = TrainConfig("linear", 3, 20)
    >>> found = [Measured(loss, 0.0, None, 0.4, 0.0, 0.0) for loss in (1.3, 1.1)]
    >>> (group,) = groups([Row(linear, one, 1.0, None, "") for one in found])
    >>> group.label, group.mean["loss"], group.spread["loss"]
    ('linear', 1.2, 0.1414)
    """
    found: dict[TrainConfig, list[Row]] = {}
    for row in rows:
        found.setdefault(replace(row.config, first_seed=0), []).append(row)
    varying = _varying(rows)
    return [_group(cells, varying[architecture(cells[0].config)]) for cells in found.values()]


def summary(
    rows: Sequence[Row], written: Callable[[float], str]
) -> tuple[Sequence[str], list[list[str]]]:
    """A table of the groups as text; `written` gives a number its form, what is not known stays empty."""

    def text(value: float | None) -> str:
        return "" if value is None else written(value)

    lines = []
    for label, row, seeds, mean, _ in groups(rows):
        line = [label, str(row.config.actions), str(row.config.horizon), str(seeds)]
        level = None if row.exact_step_loss is None else percent_above(row, row.exact_step_loss)
        found = (mean["loss"], mean["above"], level, mean["gap"], mean["step_size"], row.exact_step)
        count, seconds = mean["operations"], mean["seconds"] or 0.0
        line += [*map(text, found), "" if count is None else f"{count:.2e}"]
        lines.append([*line, f"{seconds:.1f}"])
    return COLUMNS, lines


def percent_above(row: Row, loss: float) -> float | None:
    """How many percent a loss is above the least possible."""
    least = row.measured.optimal_loss
    return None if least is None else 100 * (loss / least - 1)


def architecture(config: TrainConfig) -> str:
    """The model and its sizes.

    >>> architecture(TrainConfig("transformer", 3, 20))
    'transformer 2x32'
    """
    deep = config.model == "transformer"
    return f"transformer {config.layers}x{config.width}" if deep else config.model


def _gap(row: Row) -> float | None:
    least, step = row.measured.optimal_loss, row.exact_step_loss
    return None if least is None or step is None else (row.measured.loss - least) / (step - least)


def _varying(rows: Sequence[Row]) -> dict[str, list[str]]:
    """For each architecture the other settings that are not the same throughout."""
    found = {}
    for name in {architecture(row.config) for row in rows}:
        mine = [row.config for row in rows if architecture(row.config) == name]
        found[name] = [s for s in OTHERS if len({getattr(c, s) for c in mine}) > 1]
    return found


def _group(cells: Sequence[Row], varying: Sequence[str]) -> Group:
    config = cells[0].config
    label = ", ".join([architecture(config), *(_named(s, getattr(config, s)) for s in varying)])
    mean: dict[str, float | None] = {}
    spread: dict[str, float] = {}
    for number, of in NUMBERS.items():
        known = [value for value in map(of, cells) if value is not None]
        mean[number] = statistics.fmean(known) if known else None
        spread[number] = statistics.stdev(known) if len(known) > 1 else 0.0
    return Group(label, cells[0], len(cells), mean, spread)


def _named(setting: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"no {setting}" if value is None else f"{setting} {value:g}"
