"""Where work runs: in threads of this process, or on a Dask cluster whose workers need regrax and nothing else."""

import logging
import os
import re
import time
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

from regrax import __version__

MAX_WORKERS = min(2, os.cpu_count() or 1)  # while one compiles, on one core, another computes
LOOK_SECONDS = 0.05  # from one look at what is running to the next
PATIENCE_SECONDS = 15.0  # that a scheduler may be out of reach before it counts as lost

Task = TypeVar("Task", bound=Hashable)
Tell = Callable[[float], None]
"""Told the share of its work that a task has done."""


class ClusterLost(ConnectionError):
    """Nothing can come back any more from where the tasks run."""


class Threads:
    """Tasks in threads of this process."""

    def __init__(self) -> None:
        self.stopped, self.threads = Event(), ThreadPoolExecutor(MAX_WORKERS)

    def submit(self, function: Callable[..., Any], argument: Any, tell: Tell) -> Any:
        """Begin `function(argument, tell)`; what comes back has `done()` and `result()`."""

        def tell_unless_stopped(share: float) -> None:
            if self.stopped.is_set():
                raise InterruptedError
            tell(share)

        return self.threads.submit(function, argument, tell_unless_stopped)

    def look(self) -> str:
        """A word on how it goes."""
        return ""

    def close(self) -> None:
        """Leave, and let nothing go on."""
        self.stopped.set()
        self.threads.shutdown(wait=True, cancel_futures=True)


ADDRESS = re.compile(r"(\w+://)?[\w.\-\[\]:]+:\d{1,5}/?")


class Dask:
    """The cluster whose scheduler listens at an address, as in `tcp://127.0.0.1:8786`; results come over the wire."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError(
                "--dask needs the extra dask, but it is not installed: pip install 'regrax[dask]'"
            ) from None
        absent = f"no Dask scheduler answers at {address} (--dask takes its address, as in "
        absent += "tcp://127.0.0.1:8786)"
        if not ADDRESS.fullmatch(address):  # a client that is given one waits for it in vain
            raise ValueError(absent)
        _quiet()
        self.lost = ClusterLost(
            f"the Dask scheduler at {address} was lost; every cell that was finished is kept, and the same command "
            "does the rest"
        )
        self.away = None  # since when
        try:
            self.client = Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{absent}: {str(error)[:200]}") from None

    def submit(self, function: Callable[..., Any], argument: Any, tell: Tell) -> "_Remote":
        future = self.client.submit(run_checked, function, argument, __version__, pure=False)
        return _Remote(future, self.lost)

    def look(self) -> str:
        """How many workers there are."""
        if self.client.status == "running":
            self.away = None
        elif self.away is None:
            self.away = time.monotonic()
        elif time.monotonic() - self.away > PATIENCE_SECONDS or self.client.status == "closed":
            raise self.lost
        workers = len(self.client.scheduler_info()["workers"])
        return f"{workers} worker{'s' if workers > 1 else ''}" if workers else "waiting for workers"

    def close(self) -> None:
        """Cancel what has not begun, and leave."""
        self.client.close(timeout=2)


def run_checked(function: Callable[..., Any], argument: Any, version: str) -> Any:
    """Run a task on a worker, which must have the regrax of whoever asks."""
    if version != __version__:
        raise RuntimeError(
            f"a worker must have the regrax of the command, {version}, got {__version__}"
        )
    return function(argument)


def _quiet() -> None:
    """What Dask logs of a broken connection is said here in one sentence."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class _Remote:
    """A task on the cluster."""

    def __init__(self, future: Any, lost: ClusterLost) -> None:
        self.future, self.done, self.lost = future, future.done, lost

    def result(self) -> Any:
        """What the task gave, or its own error; anything else that keeps it from coming is the cluster's."""
        if self.future.status == "error":
            raise self.future.exception(timeout=PATIENCE_SECONDS)
        if self.future.status != "finished":
            raise self.lost
        try:
            return self.future.result(timeout=PATIENCE_SECONDS)
        except Exception:
            raise self.lost from None
        finally:
            self.future.release()


Pool = Threads | Dask


def run_all(
    pool: Pool,
    tasks: Iterable[Task],
    begin: Callable[[Pool, Task], Any],
    end: Callable[[Task, Any], Iterable[Task]],
    look: Callable[[str], None] = lambda _: None,
) -> None:
    """Run tasks until none is left.

    Args:
        pool: Where they run; closed at the end, whatever the end is.
        tasks: What to begin with.
        begin: Submits a task.
        end: Takes a task that is done and its future; gives the tasks to begin after it.
        look: Called again and again with the pool's word on how it goes.
    """
    try:
        running = {begin(pool, task): task for task in tasks}
        while running:
            look(pool.look())
            for future in [future for future in running if future.done()]:
                task = running.pop(future)
                running |= {begin(pool, more): more for more in end(task, future)}
            time.sleep(LOOK_SECONDS)
    finally:
        pool.close()
