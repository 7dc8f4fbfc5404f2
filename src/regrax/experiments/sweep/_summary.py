r"""Cells over seeds: the mean and spread of each number, and a label that tells settings apart.

How far a model is from the optimum, on one scale for every $(d, T)$ and architecture: with $L^*$ the least loss that
any policy can have and $L(k^*)$ that of the best constant step,

    gap = (L - L*) / (L(k*) - L*)         1: as good as smoothed fictitious play with the exact step; 0: the optimum
"""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

from regrax.experiments.runs import TrainConfig
from regrax.experiments.sweep._results import Row

NUMBERS: dict[str, Callable[[Row], float | None]] = {
    "loss": attrgetter("measured.loss"),
    "above": lambda row: percent_above(row, row.measured.loss),
    "gap": lambda row: _gap(row),
    "step_size": attrgetter("measured.step_size"),
    "operations": attrgetter("operations"),
    "seconds": attrgetter("seconds"),
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
    values = {(architecture(row.config), s, getattr(row.config, s)) for row in rows for s in OTHERS}
    counts = Counter((model, setting) for model, setting, _ in values)
    return [_group(cells, counts) for cells in found.values()]


def summary(
    rows: Sequence[Row], written: Callable[[float], str]
) -> tuple[Sequence[str], list[list[str]]]:
    """A table of the groups as text; `written` gives a number its form, what is not known stays empty."""

    def text(value: float | None) -> str:
        return "" if value is None else written(value)

    lines = []
    for label, row, seeds, mean, _ in groups(rows):
        sizes = map(str, (row.config.actions, row.config.horizon, seeds))
        level = percent_above(row, row.exact_step_loss)
        found = (mean["loss"], mean["above"], level, mean["gap"], mean["step_size"], row.exact_step)
        count = "" if mean["operations"] is None else f"{mean['operations']:.2e}"
        lines.append([label, *sizes, *map(text, found), count, f"{mean['seconds'] or 0.0:.1f}"])
    return COLUMNS, lines


def percent_above(row: Row, loss: float | None) -> float | None:
    """How many percent a loss is above the least possible, where both are known."""
    least = row.measured.optimal_loss
    return None if loss is None or least is None else 100 * (loss / least - 1)


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


def _group(cells: Sequence[Row], counts: Counter[tuple[str, str]]) -> Group:
    """The mean over cells; `counts` says how many values a setting has in an architecture."""
    config, model = cells[0].config, architecture(cells[0].config)
    varying = [_named(s, getattr(config, s)) for s in OTHERS if counts[model, s] > 1]
    known = {n: [v for v in map(of, cells) if v is not None] for n, of in NUMBERS.items()}
    mean = {name: statistics.fmean(values) if values else None for name, values in known.items()}
    spread = {n: statistics.stdev(values) if values[1:] else 0.0 for n, values in known.items()}
    return Group(", ".join([model, *varying]), cells[0], len(cells), mean, spread)


def _named(setting: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"no {setting}" if value is None else f"{setting} {value:g}"
