r"""Files of a sweep, the table of its results, and the means over seeds.

    DIR/sweep.json                the cells, and the errors of cells that failed
    DIR/cells/NAME.safetensors    a cell's trained model, as a checkpoint with its settings and measurements
    DIR/results.csv               one row per finished cell; also results.parquet if pyarrow is installed

With $L^*$ the lower bound on the loss of any policy and $L(k^*)$ the loss of the best constant step, the distance from
the optimum has one scale for every $(d, T)$ and architecture:

    gap = (L - L*) / (L(k*) - L*)         1 for smoothed fictitious play with the exact step, 0 for the optimum
"""

import csv
import io
import statistics
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from regrax import theory
from regrax._files import write_whole
from regrax._tables import csv_cell
from regrax.checkpoints import file_of
from regrax.experiments.runs import Measured, TrainConfig, load_trained
from regrax.experiments.sweep.grid import name_of

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


@dataclass(frozen=True)
class CellResult:
    """A finished cell.

    Attributes:
        config: Settings of the cell.
        measured: Measurements of the trained model.
        seconds: Training time in seconds.
        operations: Floating-point operations in training, or None if not counted.
        checkpoint: Path of the trained model.
    """

    config: TrainConfig
    measured: Measured
    seconds: float
    operations: int | None
    checkpoint: str

    @property
    def exact_step(self) -> float | None:
        """Stationary step $k^*$, or None if the lower bound on the loss is unknown."""
        if self.measured.optimal_loss is None:
            return None
        return _exact(self.config.actions, self.config.horizon, self.config.operator)[0]

    @property
    def exact_step_loss(self) -> float | None:
        """Loss of the algorithm with step $k^*$; with $d$ heads the excess over the optimum is $d$ times larger."""
        if self.measured.optimal_loss is None:
            return None
        heads = self.config.actions if self.config.model == "swap" else 1
        excess = _exact(self.config.actions, self.config.horizon, self.config.operator)[1]
        return self.measured.optimal_loss + heads * excess

    def to_dict(self) -> dict[str, Any]:
        """Return a flat table row with settings, measurements and the checkpoint's path."""
        settings = asdict(self.config)
        settings["seed"] = settings.pop("first_seed")
        del settings["seeds"]
        others = ("exact_step", "exact_step_loss", "seconds", "operations", "checkpoint")
        return settings | asdict(self.measured) | {name: getattr(self, name) for name in others}


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
    row: CellResult
    seeds: int
    mean: dict[str, float | None]
    spread: dict[str, float]


@cache
def _exact(actions: int, horizon: int, operator: str) -> tuple[float, float]:
    """Return the exact step, and its excess loss over the lower bound."""
    step = theory.step_size(actions, horizon, operator=operator)
    loss = theory.loss(step, actions, horizon, operator=operator)
    return step, loss - theory.optimal_loss(actions, horizon, operator=operator)


@dataclass(frozen=True)
class Listing:
    """Cells of a sweep, and the error of each cell that failed, by name."""

    cells: list[TrainConfig]
    failed: dict[str, str]


def listing_of(folder: str | Path) -> Listing:
    """Read `sweep.json` from a sweep folder."""
    file = Path(folder) / "sweep.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Listing)
    except FileNotFoundError:
        raise ValueError(f"{folder} must be a sweep folder, but it has no sweep.json") from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error!s:.200}") from None


def cell_path(folder: Path, cell: TrainConfig) -> Path:
    """Return the path of a cell's checkpoint, without suffix."""
    return folder / "cells" / name_of(cell)


def _read_rows(folder: Path, cells: list[TrainConfig]) -> list[CellResult]:
    rows = []
    for cell in cells:
        path = file_of(cell_path(folder, cell))
        with suppress(OSError, ValueError):  # the cell is missing or damaged, and runs again
            trained = load_trained(path, cell)
            rows.append(CellResult(cell, *trained[1:], str(path)))
    return rows


def rows_of(folder: str | Path) -> list[CellResult]:
    """Read the finished cells of a sweep from its folder."""
    return _read_rows(Path(folder), listing_of(folder).cells)


def table(folder: str | Path) -> list[dict[str, Any]]:
    """Read the finished cells of a sweep as dicts, ready for a data frame, with the contents of `results.csv`.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from regrax.experiments.sweep import completed, run_sweep
    >>> small = completed(TrainConfig("linear", 2, 5, steps=10, batch=64, sequences=200))
    >>> folder = tempfile.mkdtemp()
    >>> _ = run_sweep([replace(small, first_seed=seed) for seed in (0, 1)], folder)
    >>> [(row["model"], row["seed"]) for row in table(folder)]
    [('linear', 0), ('linear', 1)]
    """
    return [row.to_dict() for row in rows_of(folder)]


def write_results(
    folder: Path, cells: list[TrainConfig], failed: dict[str, str]
) -> list[CellResult]:
    """Write `sweep.json` and the table of finished cells, and return these cells."""
    write_whole(folder / "sweep.json", msgspec.json.encode(Listing(cells, failed)))
    rows = _read_rows(folder, cells)
    lines = [row.to_dict() for row in rows]
    text = io.StringIO()
    if lines:
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        for line in lines:
            writer.writerow({name: csv_cell(value) for name, value in line.items()})
    write_whole(folder / "results.csv", text.getvalue().encode())
    with suppress(ImportError):
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import write_table  # pyright: ignore[reportMissingImports]

        file = io.BytesIO()
        write_table(pyarrow.Table.from_pylist(lines), file)
        write_whole(folder / "results.parquet", file.getvalue())
    return rows


def groups(rows: Sequence[CellResult]) -> list[Group]:
    """Group rows by all settings except the seed, in order of first appearance.

    >>> from regrax.experiments.runs import Measured
    >>> linear = TrainConfig("linear", 3, 20)
    >>> measured = [Measured(loss, 0.0, None, 0.4, 0.0, 0.0) for loss in (1.3, 1.1)]
    >>> (group,) = groups([CellResult(linear, numbers, 1.0, None, "") for numbers in measured])
    >>> group.label, group.mean["loss"], group.spread["loss"]
    ('linear', 1.2, 0.1414)
    """
    cells: dict[TrainConfig, list[CellResult]] = {}
    for row in rows:
        cells.setdefault(replace(row.config, first_seed=0), []).append(row)
    values = set()
    for config in cells:
        model = architecture(config)
        values |= {(model, setting, getattr(config, setting)) for setting in OTHERS}
    counts = Counter((model, setting) for model, setting, _ in values)
    found = []
    for config, own in cells.items():
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
        mean = {}
        spread = {}
        numbers = [_numbers(row) for row in own]
        for name in numbers[0]:
            values = [row[name] for row in numbers if row[name] is not None]
            mean[name] = statistics.fmean(values) if values else None
            spread[name] = statistics.stdev(values) if len(values) > 1 else 0.0
        found.append(Group(", ".join(label), own[0], len(own), mean, spread))
    return found


def architecture(config: TrainConfig) -> str:
    """Return the model and its sizes.

    >>> architecture(TrainConfig("transformer", 3, 20))
    'transformer 2x32'
    """
    if config.model == "transformer":
        return f"transformer {config.layers}x{config.width}"
    return config.model


def summary(rows: Sequence[CellResult]) -> list[dict[str, Any]]:
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


def percent_above(row: CellResult, loss: float | None) -> float | None:
    """Return the percentage by which a loss exceeds the lower bound, or None if either is unknown."""
    least = row.measured.optimal_loss
    if loss is None or least is None:
        return None
    return 100 * (loss / least - 1)


def _numbers(row: CellResult) -> dict[str, Any]:
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
