"""Run the cells that are missing: batch by batch, here or on a cluster, each kept as soon as it is finished."""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regrax import _checks as checks
from regrax.experiments.sweep._grid_cell import Cell, batches, weight
from regrax.experiments.sweep._store import Folder, Row, table
from regrax.experiments.sweep._train import work

AT_ONCE = min(2, os.cpu_count() or 1)  # batches: while one compiles, on one core, another trains
LOOK = 0.05  # seconds from one look at what is running to the next

Batch = tuple[Cell, ...]


class Progress(NamedTuple):
    """How far a sweep is."""

    share: float  # of the work this command had to do, by an estimate of how long each cell takes
    finished: int  # cells, those of earlier commands among them
    failed: int
    cells: int
    note: str


class Finished(NamedTuple):
    """What a sweep has come to."""

    rows: list[Row]  # the finished cells, settings and numbers
    failed: dict[str, str]  # the names of cells that failed, and their errors
    done_before: int  # cells that were there already


class ClusterLost(ConnectionError):
    """Nothing can come back any more from where the batches run."""


@runtime_checkable
class Pool(Protocol):
    """Where batches run."""

    def submit(self, batch: Batch, heard: Callable[[float], None]) -> Any:
        """Begin a batch; what comes back has `done()` and `result()`."""

    def look(self) -> str:
        """A word on how it goes; raises ClusterLost when nothing can come back any more."""
        ...

    def close(self) -> None:
        """Leave, and let nothing go on."""


def run_sweep(
    cells: Sequence[Cell],
    folder: str | Path,
    *,
    dask: str | None = None,
    retries: int = 2,
    heard: Callable[[Progress], None] = lambda _: None,
) -> Finished:
    """Train and measure the cells that `folder` does not hold yet, in this process or on the Dask cluster at `dask`.

    A batch that fails is taken apart, and each of its cells tried again alone, `retries` times; a cell that still fails
    is reported, and the others go on. The results table is written at the end, and also if the end is an error.

    >>> import tempfile
    >>> from regrax.experiments.runs import Training
    >>> from regrax.experiments.sweep._grid_cell import completed
    >>> small = completed(Training("linear", 2, 5, steps=10, batch=64))
    >>> cells, folder = [Cell(small, seed, sequences=200) for seed in (0, 1)], tempfile.mkdtemp()
    >>> run_sweep(cells, folder).done_before, run_sweep(cells, folder).done_before
    (0, 2)
    """
    checks.at_least("retries", retries, 0)
    kept = Folder(folder)
    with kept.held():
        missing = [cell for cell in cells if kept.row(cell) is None]
        run = _Run(cells, missing, kept, retries, heard)
        kept.note(cells, {})
        try:
            if missing:
                run.all(_Here() if dask is None else _cluster(dask))
        finally:
            kept.note(cells, run.failed)
            kept.write_results()
    return Finished(table(folder), run.failed, len(cells) - len(missing))


def _cluster(address: str) -> Pool:
    from regrax.experiments.sweep._cluster import Cluster

    return Cluster(address)


class _Run:
    """A sweep on its way: what is running, what is finished, what failed."""

    def __init__(
        self,
        cells: Sequence[Cell],
        missing: Sequence[Cell],
        kept: Folder,
        retries: int,
        heard: Callable[[Progress], None],
    ) -> None:
        self.cells, self.missing, self.kept, self.heard = cells, missing, kept, heard
        self.retries, self.failed = retries, {}
        self.left = len(missing)
        self.finished = self.total = 0.0  # weight
        self.shares: dict[Batch, float] = {}  # of what is running

    def all(self, pool: Pool) -> None:
        """Every batch until it is kept or given up."""
        running = {self._begun(pool, batch): (batch, 0) for batch in batches(self.missing)}
        try:
            self._tell("")
            while running:
                self._tell(pool.look())
                for future in [future for future in running if future.done()]:
                    batch, tries = running.pop(future)
                    for again in self._ended(future, batch, tries):
                        running[self._begun(pool, again)] = (again, tries + 1)
                time.sleep(LOOK)
            self._tell("")
        finally:
            pool.close()

    def _begun(self, pool: Pool, batch: Batch) -> Any:
        self.shares[batch] = 0.0
        self.total += weight(batch)
        return pool.submit(batch, lambda share: self.shares.update({batch: share}))

    def _ended(self, future: Any, batch: Batch, tries: int) -> list[Batch]:
        """Keep what a batch gave, or say which cells to try again."""
        del self.shares[batch]
        self.finished += weight(batch)
        try:
            results = future.result()
        except ClusterLost:
            raise
        except Exception as error:
            if len(batch) > 1 or tries < self.retries:
                return [(cell,) for cell in batch]
            self.failed.update({cell.name: _words(error) for cell in batch})
            results = [None] * len(batch)
        for cell, done in zip(batch, results, strict=True):
            if done is not None:
                self.kept.keep(cell, done)
            self.left -= 1
        return []

    def _tell(self, note: str) -> None:
        under_way = sum(share * weight(batch) for batch, share in self.shares.items() if share)
        share = (self.finished + under_way) / self.total
        done = len(self.cells) - self.left - len(self.failed)
        self.heard(Progress(share, done, len(self.failed), len(self.cells), note))


class _Here:
    """Batches in threads of this process."""

    def __init__(self) -> None:
        self.stopped, self.threads = Event(), ThreadPoolExecutor(AT_ONCE)

    def submit(self, batch: Batch, heard: Callable[[float], None]) -> Any:
        def tell(share: float) -> None:
            if self.stopped.is_set():
                raise InterruptedError
            heard(share)

        return self.threads.submit(work, batch, tell)

    def look(self) -> str:
        return ""

    def close(self) -> None:
        self.stopped.set()
        self.threads.shutdown(wait=True, cancel_futures=True)


def _words(error: Exception) -> str:
    """An error as one line."""
    text = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {text}"[:500]
