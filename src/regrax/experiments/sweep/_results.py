r"""The folder of a sweep: each finished cell is kept at once, written aside and renamed, and never done again.

DIR/sweep.json                the cells, and the errors of those that failed
DIR/cells/NAME.safetensors    a cell's trained model, a checkpoint with its settings and numbers
DIR/results.csv               a row per finished cell; results.parquet too if pyarrow is installed
"""

import csv
import io
from collections.abc import Iterable, Iterator
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
from regrax.experiments.sweep._cells import name_of


@dataclass(frozen=True)
class Row:
    """A finished cell: its settings, its numbers, and where its model is.

    Attributes:
        config: its settings.
        measured: its numbers.
        seconds: of training.
        operations: floating-point operations of training, where they were counted.
        checkpoint: path of its model.
    """

    config: TrainConfig
    measured: Measured
    seconds: float
    operations: int | None
    checkpoint: str

    @property
    def exact_step(self) -> float | None:
        """The stationary step for its size, where the least possible loss is known."""
        return None if self.measured.optimal_loss is None else _exact(*self._sizes)[0]

    @property
    def exact_step_loss(self) -> float | None:
        """What the algorithm with the exact step loses; $d$ heads lose $d$ times as much above the least."""
        if self.measured.optimal_loss is None:
            return None
        heads = self.config.actions if self.config.model == "swap" else 1
        return self.measured.optimal_loss + heads * _exact(*self._sizes)[1]

    @property
    def _sizes(self) -> tuple[int, int, str]:
        return self.config.actions, self.config.horizon, self.config.operator

    def to_dict(self) -> dict[str, Any]:
        """A flat row of a table: settings, then numbers, then the checkpoint's path."""
        settings = asdict(self.config)
        settings["seed"] = settings.pop("first_seed")
        del settings["seeds"]
        others = ("exact_step", "exact_step_loss", "seconds", "operations", "checkpoint")
        return settings | asdict(self.measured) | {name: getattr(self, name) for name in others}


@cache
def _exact(actions: int, horizon: int, operator: str) -> tuple[float, float]:
    """The exact step, and its loss above the least possible."""
    step = theory.step_size(actions, horizon, operator=operator)
    level = theory.loss(step, actions, horizon, operator=operator)
    return step, level - theory.optimal_loss(actions, horizon, operator=operator)


@dataclass(frozen=True)
class Listing:
    """Which cells a sweep has, and the errors of those that failed, by their names."""

    cells: list[TrainConfig]
    failed: dict[str, str]


def path_of(folder: Path, cell: TrainConfig) -> Path:
    """Where a cell of the sweep in a folder is kept."""
    return folder / "cells" / name_of(cell)


def _rows(folder: Path, cells: Iterable[TrainConfig]) -> Iterator[Row]:
    """The rows of the cells that are here and whole and of these very settings."""
    for cell in cells:
        path = path_of(folder, cell)
        with suppress(OSError, ValueError, KeyError, TypeError):  # not there, or damaged
            found = load_trained(path, cell)
            numbers = found.measured, found.seconds, found.operations
            yield Row(cell, *numbers, str(file_of(path)))


def listing_of(folder: str | Path) -> Listing:
    """What the sweep in a folder is."""
    file = Path(folder) / "sweep.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Listing)
    except FileNotFoundError:
        wrong = f"{folder} must be the folder of a sweep, got one without sweep.json"
        raise ValueError(wrong) from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{file} is damaged: {error!s:.200}") from None


def rows_of(folder: str | Path) -> list[Row]:
    """The finished cells of the sweep in a folder."""
    return list(_rows(Path(folder), listing_of(folder).cells))


def table(folder: str | Path) -> list[dict[str, Any]]:
    """The finished cells of the sweep in a folder, a dict each: settings, then numbers, then the checkpoint's path.

    It is what `results.csv` holds; a data frame takes it as it is.

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
    """Note what the sweep in a folder is, and write the table of its finished cells, which are returned."""
    write_whole(folder / "sweep.json", msgspec.json.encode(Listing(cells, failed)))
    rows = list(_rows(folder, cells))
    _write_table(folder, [row.to_dict() for row in rows])
    return rows


def _write_table(folder: Path, lines: list[dict[str, Any]]) -> None:
    """As CSV, and as Parquet if pyarrow is there."""
    text = io.StringIO()
    if lines:
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        for line in lines:
            writer.writerow({name: csv_cell(value) for name, value in line.items()})
    write_whole(folder / "results.csv", text.getvalue().encode())
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import write_table  # pyright: ignore[reportMissingImports]
    except ImportError:
        return
    file = io.BytesIO()
    write_table(pyarrow.Table.from_pylist(lines), file)
    write_whole(folder / "results.parquet", file.getvalue())
