"""Run the cells that are missing: batch by batch, here or on a cluster, each kept as soon as it is finished."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regrax import _checks as checks
from regrax.experiments._pool import ClusterLost, Dask, Pool, Threads, run_all
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments._store import Store
from regrax.experiments.runs import TrainConfig, Trained, save_trained
from regrax.experiments.sweep._cells import Batch, batches, name_of, weight
from regrax.experiments.sweep._results import (
    Listing,
    Row,
    path_of,
    row_of,
    rows_of,
    write_listing,
    write_table,
)
from regrax.experiments.sweep._train import work


@dataclass(frozen=True)
class Finished:
    """What a sweep has come to."""

    rows: list[Row]  # the finished cells, settings and numbers
    failed: dict[str, str]  # the names of cells that failed, and their errors
    done_before: int  # cells that were there already


def run_sweep(
    cells: Sequence[TrainConfig],
    folder: str | Path,
    *,
    dask: str | None = None,
    retries: int = 2,
    on_progress: OnProgress = ignore,
) -> Finished:
    """Train and measure the cells that `folder` does not hold yet, in this process or on a Dask cluster.

    A batch that fails is taken apart, and each of its cells tried again alone; a cell that still fails is reported, and
    the others go on. The results table is written at the end, and also if the end is an error.

    Args:
        cells: Trainings of one seed, as `completed` makes them.
        folder: Where they are kept.
        dask: The address of the cluster's scheduler.
        retries: How often a failing cell is tried again.
        on_progress: Called again and again with the share of the work that is done.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from regrax.experiments.sweep import completed
    >>> small = completed(TrainConfig("linear", 2, 5, steps=10, batch=64, sequences=200))
    >>> cells, folder = [replace(small, first_seed=seed) for seed in (0, 1)], tempfile.mkdtemp()
    >>> run_sweep(cells, folder).done_before, run_sweep(cells, folder).done_before
    (0, 2)
    """
    checks.at_least("retries", retries, 0)
    folder = Path(folder)
    with Store(folder).held():
        (folder / "cells").mkdir(exist_ok=True)
        missing = [cell for cell in cells if row_of(folder, cell) is None]
        run = _Run(cells, len(missing), folder, retries, on_progress)
        write_listing(folder, Listing(list(cells), {}))
        try:
            if missing:
                pool = Threads() if dask is None else Dask(dask)
                run_all(pool, [(b, 0) for b in batches(missing)], run.begin, run.end, run.tell)
                run.tell("")
        finally:
            write_listing(folder, Listing(list(cells), run.failed))
            rows = rows_of(folder)
            write_table(folder, rows)
    return Finished(rows, run.failed, len(cells) - len(missing))


Try = tuple[Batch, int]
"""A batch, and how often its cells have been tried before."""


@dataclass
class _Run:
    """A sweep on its way: what is running, what is finished, what failed."""

    cells: Sequence[TrainConfig]
    left: int
    folder: Path
    retries: int
    on_progress: OnProgress
    failed: dict[str, str] = field(default_factory=dict)
    shares: dict[Batch, float] = field(default_factory=dict)  # of what is running
    finished: float = 0.0  # weight
    total: float = 0.0

    def begin(self, pool: Pool, task: Try) -> Any:
        """Submit a batch."""
        batch, _ = task
        self.shares[batch] = 0.0
        self.total += weight(batch)
        return pool.submit(work, batch, lambda share: self.shares.update({batch: share}))

    def end(self, task: Try, future: Any) -> Iterable[Try]:
        """Keep what a batch gave, or say which cells to try again."""
        batch, tries = task
        del self.shares[batch]
        self.finished += weight(batch)
        found: list[Trained] = []
        try:
            found = future.result()
        except ClusterLost:
            raise
        except Exception as error:
            if len(batch) > 1 or tries < self.retries:
                return [((cell,), tries + 1) for cell in batch]
            self.failed |= {name_of(cell): _words(error) for cell in batch}
        for cell, trained in zip(batch, found, strict=False):
            save_trained(path_of(self.folder, cell), cell, trained)
        self.left -= len(batch)
        return []

    def tell(self, note: str) -> None:
        """Tell how far it is, by an estimate of how long each cell takes."""
        under_way = sum(share * weight(batch) for batch, share in self.shares.items() if share)
        share = (self.finished + under_way) / self.total
        failed = f", {len(self.failed)} failed" if self.failed else ""
        done = len(self.cells) - self.left - len(self.failed)
        words = f"{done} of {len(self.cells)} cells{failed}" + (f", {note}" if note else "")
        self.on_progress(Progress("sweep", share, 1.0, words))


def _words(error: Exception) -> str:
    """An error as one line."""
    text = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {text}"[:500]
