"""Concurrent tasks, in threads of this process or on a Dask cluster, and reports of progress."""

import gc
import logging
import os
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, NamedTuple, TypeVar

from regrax import __version__

MAX_WORKERS = min(2, os.cpu_count() or 1)  # one computes while XLA compiles on the other core
WAIT_SECONDS = 0.1  # seconds between progress reports

Work = TypeVar("Work", bound=Hashable)
Tell = Callable[[float], None]
"""Callback that receives the completed fraction of a task."""


class Progress(NamedTuple):
    """State of a task.

    Args:
        task: Name of the task.
        done: Amount of work done, in the unit of `total`.
        total: Total amount of work.
        note: Short note to print after the bar.

    >>> Progress("train linear", 5, 20).done
    5
    """

    task: str
    done: float
    total: float
    note: str = ""


OnProgress = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """Do nothing; the default for every `on_progress` argument."""


class Threads:
    """Run tasks in threads of this process."""

    def __init__(self) -> None:
        self.stopped = Event()
        self.executor = ThreadPoolExecutor(MAX_WORKERS)

    def submit(self, function: Callable[..., Any], argument: Any, tell: Tell) -> Future:
        """Start `function(argument, tell)`."""

        def tell_unless_stopped(share: float) -> None:
            if self.stopped.is_set():
                raise InterruptedError
            tell(share)

        return self.executor.submit(function, argument, tell_unless_stopped)

    def status(self) -> str:
        """Return a note for the progress bar."""
        return ""

    def close(self) -> None:
        """Stop all tasks at their next progress report."""
        self.stopped.set()
        self.executor.shutdown(wait=True, cancel_futures=True)


class Dask:
    """Run tasks on the Dask cluster with this scheduler address, such as `tcp://127.0.0.1:8786`.

    Workers need regrax installed; they do not share files with this process.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError(
                "--dask needs an extra that is not installed: pip install 'regrax[dask]'"
            ) from None
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":  # its errors are raised below in one line
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        refused = ""
        try:
            self.client = Client(address, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            refused = f"{error!s:.200}"
        if refused:
            gc.collect()  # closes the failed client; if a later client's start did so, it would wait for its own lock
            raise ValueError(
                f"no Dask scheduler at {address} (--dask expects an address like tcp://127.0.0.1:8786): {refused}"
            )
        self.executor = self.client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], argument: Any, tell: Tell) -> Future:
        """Start `function(argument)` on a worker."""
        return self.executor.submit(run_checked, function, argument, __version__)

    def status(self) -> str:
        """Return the number of workers as text."""
        workers = len(self.client.scheduler_info()["workers"])
        if not workers:
            return "waiting for workers"
        return "1 worker" if workers == 1 else f"{workers} workers"

    def close(self) -> None:
        """Cancel tasks that have not started, and disconnect."""
        self.client.close(timeout=2)


Pool = Threads | Dask


def run_checked(function: Callable[..., Any], argument: Any, version: str) -> Any:
    """Run a task on a worker, or raise if the worker's regrax version is not `version`."""
    if version != __version__:
        raise RuntimeError(f"workers must run regrax {version}, got {__version__}")
    return function(argument)


def run_all(
    pool: Pool,
    tasks: Iterable[Work],
    begin: Callable[[Pool, Work], Future],
    end: Callable[[Work, Future], Iterable[Work]],
    look: Callable[[str], None] = lambda _: None,
) -> None:
    """Run tasks until none are left, then close the pool.

    Args:
        pool: Pool to run the tasks in.
        tasks: Initial tasks.
        begin: Function that submits a task to the pool.
        end: Function that receives a finished task and its future, and returns the tasks to run next.
        look: Called several times a second with the status of the pool.
    """
    try:
        running = {begin(pool, task): task for task in tasks}
        while running:
            finished, _ = wait(running, WAIT_SECONDS, FIRST_COMPLETED)
            for future in finished:
                for task in end(running.pop(future), future):
                    running[begin(pool, task)] = task
            look(pool.status())
    finally:
        pool.close()
