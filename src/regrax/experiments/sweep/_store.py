r"""The folder of a sweep: each finished cell is kept at once, written aside and renamed, and never done again.

DIR/sweep.json                the names of the cells, and the errors of those that failed
DIR/cells/NAME.safetensors    a cell's trained model; with NAME.json it is a checkpoint
DIR/cells/NAME.json           its settings and its numbers, written last
DIR/results.csv               a row a finished cell; results.parquet too if pyarrow is installed
"""

import contextlib
import csv
import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regrax._atomic_write import write_whole
from regrax.checkpoints import read_description, save_model
from regrax.experiments.sweep._grid_cell import Cell
from regrax.experiments.sweep._train import Done

Row = dict[str, Any]


class Folder:
    """Where the cells of a sweep are kept.

    >>> import tempfile
    >>> from regrax.experiments.runs import Training
    >>> from regrax.experiments.sweep._grid_cell import completed
    >>> from regrax.experiments.sweep._train import work
    >>> small = completed(Training("linear", 2, 5, steps=10, batch=64))
    >>> first, second = (Cell(small, seed, sequences=200) for seed in (0, 1))
    >>> folder = Folder(tempfile.mkdtemp())
    >>> folder.keep(first, work([first, second])[0])
    >>> folder.row(first)["horizon"], folder.row(second)
    (5, None)
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.cells = Path(path), Path(path) / "cells"
        self.cells.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no other command writes into it; what a killed one left half done is removed."""
        with (self.path / ".lock").open("w") as lock:
            _lock(lock, self.path)
            for file in self.cells.glob(".*.tmp"):
                file.unlink(missing_ok=True)
            yield

    def keep(self, cell: Cell, done: Done) -> None:
        """Write a finished cell: its model, then its settings and numbers."""
        where = self.cells / cell.name
        save_model(where, done.model, cell=cell.settings, numbers=done.numbers)

    def row(self, cell: Cell) -> Row | None:
        """The settings and numbers of a cell, or None unless it is here and whole."""
        row = _row(self.cells / f"{cell.name}.json")
        return row if row is not None and cell.settings.items() <= row.items() else None

    def note(self, cells: Sequence[Cell], failed: dict[str, str]) -> None:
        """Write which cells the sweep has, and the errors of those that failed."""
        about = {"cells": [cell.name for cell in cells], "failed": failed}
        write_whole(self.path / "sweep.json", json.dumps(about, indent=1).encode())

    def write_results(self) -> list[Path]:
        """Write the table of finished cells as CSV, and as Parquet if pyarrow is there; give the files."""
        rows = table(self.path)
        files = [self.path / "results.csv"]
        write_whole(files[0], _csv(rows))
        parquet = _parquet(rows)
        if parquet is not None:
            files.append(self.path / "results.parquet")
            write_whole(files[1], parquet)
        return files


def table(folder: str | Path) -> list[Row]:
    """The finished cells of the sweep in a folder, a dict each: settings, then numbers, then the checkpoint's path.

    It is what `results.csv` holds; a data frame takes it as it is.

    >>> import tempfile
    >>> from regrax.experiments.runs import Training
    >>> from regrax.experiments.sweep import run_sweep
    >>> from regrax.experiments.sweep._grid_cell import completed
    >>> small = completed(Training("linear", 2, 5, steps=10, batch=64))
    >>> folder = tempfile.mkdtemp()
    >>> _ = run_sweep([Cell(small, seed, sequences=200) for seed in (0, 1)], folder)
    >>> [(row["model"], row["seed"]) for row in table(folder)]
    [('linear', 0), ('linear', 1)]
    """
    cells = _noted(folder)["cells"]
    rows = [_row(Path(folder) / "cells" / f"{name}.json") for name in cells]
    return [row for row in rows if row is not None]


def failures(folder: str | Path) -> dict[str, str]:
    """The errors of the cells that failed, by their names."""
    return _noted(folder)["failed"]


def _noted(folder: str | Path) -> dict[str, Any]:
    file = Path(folder) / "sweep.json"
    try:
        return json.loads(file.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{folder} must be the folder of a sweep, but has no sweep.json") from None


def _row(file: Path) -> Row | None:
    try:
        about = read_description(file)
        model = file.with_suffix(".safetensors")
        if hashlib.sha256(model.read_bytes()).hexdigest() != about["sha256"]:
            return None
        return {**about["cell"], **about["numbers"], "checkpoint": str(model.with_suffix(""))}
    except (OSError, ValueError, KeyError, TypeError):  # not there, or damaged: to be done again
        return None


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue().encode()


def _parquet(rows: Sequence[Row]) -> bytes | None:
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import write_table  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    file = io.BytesIO()
    write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


def _lock(file: Any, folder: Path) -> None:
    try:
        import fcntl
    except (
        ImportError
    ):  # a system without it: two commands in one folder are then the user's to avoid
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"another sweep is running in {folder}: wait, or choose another") from None
