r"""Means over seeds, and the gap to the optimum on one scale for every $(d, T)$ and architecture.

With $L^*$ the lower bound on the loss of any policy and $L(k^*)$ the loss of the best constant step,

    gap = (L - L*) / (L(k*) - L*)         1 for smoothed fictitious play with the exact step, 0 for the optimum
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from regrax.experiments.runs import TrainConfig
from regrax.experiments.sweep.results import Row

OTHERS = (
    "objective", "operator", "heads", "distribution", "feedback", "surrogate", "steps", "batch", "rate", "sequences",
)  # fmt: skip
"""Settings that a label includes if they vary within an architecture."""
COLUMNS = {
    "model": "model",
    "actions": "d",
    "horizon": "T",
    "seeds": "seeds",
    "loss": "loss, total",
    "bound": "lower bound, total",
    "above": "above bound, %",
    "exact_above": "k* above bound, %",
    "gap": "gap",
    "step_size": "step",
    "exact_step": "k*",
    "operations": "operations",
    "seconds": "time, s",
}
"""Headers of the table of groups."""


class Group(NamedTuple):
    """Cells that differ only in their seeds.

    Attributes:
        label: Architecture and other settings that vary.
        row: One of the cells; all share its settings and exact numbers.
        seeds: Number of cells.
        mean: Mean over seeds of each number.
        spread: Standard deviation over seeds; 0 for a single seed.
    """

    label: str
    row: Row
    seeds: int
    mean: dict[str, float | None]
    spread: dict[str, float]


def groups(rows: Sequence[Row]) -> list[Group]:
    """Group rows by all settings except the seed, in order of first appearance.

    >>> from regrax.experiments.runs import Measured
    >>> linear = TrainConfig("linear", 3, 20)
    >>> measured = [Measured(loss, 0.0, None, 0.4, 0.0, 0.0) for loss in (1.3, 1.1)]
    >>> (group,) = groups([Row(linear, numbers, 1.0, None, "") for numbers in measured])
    >>> group.label, group.mean["loss"], group.spread["loss"]
    ('linear', 1.2, 0.1414)
    """
    cells: dict[TrainConfig, list[Row]] = {}
    for row in rows:
        cells.setdefault(replace(row.config, first_seed=0), []).append(row)
    values = set()
    for config in cells:
        model = architecture(config)
        values |= {(model, setting, getattr(config, setting)) for setting in OTHERS}
    counts = Counter((model, setting) for model, setting, _ in values)
    return [_group(config, own, counts) for config, own in cells.items()]


def _group(config: TrainConfig, rows: list[Row], counts: Counter[tuple[str, str]]) -> Group:
    model = architecture(config)
    label = [model]
    for setting in OTHERS:
        value = getattr(config, setting)
        if counts[model, setting] == 1:
            continue
        if value is None:
            label.append(f"no {setting}")
        elif isinstance(value, str):
            label.append(value)
        else:
            label.append(f"{setting} {value:g}")
    numbers = [_numbers(row) for row in rows]
    mean = {}
    spread = {}
    for name in numbers[0]:
        values = [own[name] for own in numbers if own[name] is not None]
        mean[name] = statistics.fmean(values) if values else None
        spread[name] = statistics.stdev(values) if len(values) > 1 else 0.0
    return Group(", ".join(label), rows[0], len(rows), mean, spread)


def architecture(config: TrainConfig) -> str:
    """Return the model and its sizes.

    >>> architecture(TrainConfig("transformer", 3, 20))
    'transformer 2x32'
    """
    if config.model == "transformer":
        return f"transformer {config.layers}x{config.width}"
    return config.model


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a table of the groups with the keys of `COLUMNS`; unknown numbers are None.

    Args:
        rows: Finished cells.
    """
    table = []
    for label, row, seeds, mean, _ in groups(rows):
        sizes = {"actions": row.config.actions, "horizon": row.config.horizon, "seeds": seeds}
        exact = {"exact_step": row.exact_step, "bound": row.measured.optimal_loss}
        exact["exact_above"] = percent_above(row, row.exact_step_loss)
        values = {"model": label, **sizes, **mean, **exact}
        table.append({name: values[name] for name in COLUMNS})
    return table


def percent_above(row: Row, loss: float | None) -> float | None:
    """Return the percentage by which a loss exceeds the lower bound, or None if either is unknown."""
    least = row.measured.optimal_loss
    if loss is None or least is None:
        return None
    return 100 * (loss / least - 1)


def _numbers(row: Row) -> dict[str, Any]:
    loss = row.measured.loss
    least = row.measured.optimal_loss
    exact = row.exact_step_loss
    gap = None if least is None or exact is None else (loss - least) / (exact - least)
    return {
        "loss": loss,
        "above": percent_above(row, loss),
        "gap": gap,
        "step_size": row.measured.step_size,
        "operations": row.operations,
        "seconds": row.seconds,
    }
