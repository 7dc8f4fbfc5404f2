"""Run the cells that are missing: batch by batch, here or on a cluster, each kept as soon as it is finished."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from regrax import _checks as checks
from regrax.experiments._pool import ClusterLost, Dask, Pool, Threads, run_all
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments._store import Store
from regrax.experiments.runs import TrainConfig, Trained, save_trained
from regrax.experiments.sweep._cells import Batch, batches, name_of, weight
from regrax.experiments.sweep._results import Row, path_of, write_results
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
    folder, cells = Path(folder), list(cells)
    with Store(folder).held():
        (folder / "cells").mkdir(exist_ok=True)
        done = {row.config for row in write_results(folder, cells, {})}
        missing = [cell for cell in cells if cell not in done]
        done_before = len(cells) - len(missing)
        run = _Run(folder, retries, on_progress, len(cells), done_before)
        try:
            if missing:
                pool = Threads() if dask is None else Dask(dask)
                run_all(pool, [(b, 0) for b in batches(missing)], run.begin, run.end, run.tell)
                run.tell("")
        finally:
            rows = write_results(folder, cells, run.failed)
    return Finished(rows, run.failed, done_before)


Try = tuple[Batch, int]
"""A batch, and how often its cells have been tried before."""


@dataclass
class _Run:
    """A sweep on its way: how far every batch is, how many cells are finished, what failed."""

    folder: Path
    retries: int
    on_progress: OnProgress
    cells: int
    done: int
    failed: dict[str, str] = field(default_factory=dict)
    weights: dict[Try, float] = field(default_factory=dict)
    shares: dict[Try, float] = field(default_factory=dict)

    def begin(self, pool: Pool, task: Try) -> Any:
        """Submit a batch."""
        self.weights[task], self.shares[task] = weight(task[0]), 0.0
        return pool.submit(work, task[0], lambda share: self.shares.update({task: share}))

    def end(self, task: Try, future: Any) -> Iterable[Try]:
        """Keep what a batch gave, or say which cells to try again."""
        batch, tries = task
        self.shares[task] = 1.0
        try:
            found: list[Trained] = future.result()
        except ClusterLost:
            raise
        except Exception as error:
            if len(batch) > 1 or tries < self.retries:
                return [((cell,), tries + 1) for cell in batch]
            self.failed |= {name_of(cell): _words(error) for cell in batch}
            return []
        for cell, trained in zip(batch, found, strict=True):
            save_trained(path_of(self.folder, cell), cell, trained)
        self.done += len(batch)
        return []

    def tell(self, note: str) -> None:
        """Tell how far it is, by an estimate of how long each cell takes."""
        share = fmean(self.shares.values(), self.weights.values())
        failed = f", {len(self.failed)} failed" if self.failed else ""
        words = f"{self.done} of {self.cells} cells{failed}" + (f", {note}" if note else "")
        self.on_progress(Progress("sweep", share, 1.0, words))


def _words(error: Exception) -> str:
    """An error as one line."""
    text = " ".join(str(error).split()) or "no reason given"
    return f"{type(error).__name__}: {text}"[:500]
