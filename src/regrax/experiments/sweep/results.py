r"""Files of a sweep, and the table of its results.

DIR/sweep.json                the cells, and the errors of cells that failed
DIR/cells/NAME.safetensors    a cell's trained model, as a checkpoint with its settings and measurements
DIR/results.csv               one row per finished cell; also results.parquet if pyarrow is installed
"""

import csv
import io
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from regrax import theory
from regrax._files import write_whole
from regrax._tables import csv_cell
from regrax.checkpoints import file_of
from regrax.experiments.runs import Measured, TrainConfig, load_trained
from regrax.experiments.sweep.grid import name_of


@dataclass(frozen=True)
class Row:
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
        _, excess = _exact(self.config.actions, self.config.horizon, self.config.operator)
        heads = self.config.actions if self.config.model == "swap" else 1
        return self.measured.optimal_loss + heads * excess

    def to_dict(self) -> dict[str, Any]:
        """Return a flat table row with settings, measurements and the checkpoint's path."""
        settings = asdict(self.config)
        settings["seed"] = settings.pop("first_seed")
        del settings["seeds"]
        others = ("exact_step", "exact_step_loss", "seconds", "operations", "checkpoint")
        return settings | asdict(self.measured) | {name: getattr(self, name) for name in others}


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


def _read_rows(folder: Path, cells: list[TrainConfig]) -> list[Row]:
    rows = []
    for cell in cells:
        path = cell_path(folder, cell)
        with suppress(OSError, ValueError):  # the cell is missing or damaged, and runs again
            trained = load_trained(path, cell)
            checkpoint = str(file_of(path))
            rows.append(
                Row(cell, trained.measured, trained.seconds, trained.operations, checkpoint)
            )
    return rows


def rows_of(folder: str | Path) -> list[Row]:
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


def write_results(folder: Path, cells: list[TrainConfig], failed: dict[str, str]) -> list[Row]:
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
