"""Batches on a Dask cluster: workers need regrax and nothing else, no shared disk; results come back over the wire."""

import logging
import time
from collections.abc import Callable
from typing import Any

from regrax import __version__
from regrax.experiments.sweep._grid_cell import Cell
from regrax.experiments.sweep._run import ClusterLost
from regrax.experiments.sweep._train import Done, work

PATIENCE = 15.0  # seconds that a scheduler may be out of reach before it counts as lost


class Cluster:
    """The cluster whose scheduler listens at an address, as in `tcp://127.0.0.1:8786`."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ValueError(
                "--dask needs the extra dask, but it is not installed: pip install 'regrax[dask]'"
            ) from None
        _quiet()
        self.address, self.away = address, None
        try:
            self.client = Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(
                f"no Dask scheduler answers at {address} (--dask takes its address, as in "
                f"tcp://127.0.0.1:8786): {str(error)[:200]}"
            ) from None

    def submit(self, batch: tuple[Cell, ...], heard: Callable[[float], None]) -> "_Remote":
        future = self.client.submit(work, batch, asked=__version__, pure=False)
        return _Remote(future, self.lost)

    def look(self) -> str:
        """How many workers there are."""
        if self.client.status == "running":
            self.away = None
        elif self.away is None:
            self.away = time.monotonic()
        elif time.monotonic() - self.away > PATIENCE or self.client.status == "closed":
            raise self.lost()
        workers = len(self.client.scheduler_info()["workers"])
        return f"{workers} worker{'s' if workers > 1 else ''}" if workers else "waiting for workers"

    def lost(self) -> ClusterLost:
        """The error when the scheduler has gone."""
        return ClusterLost(
            f"the Dask scheduler at {self.address} was lost; every cell that was finished is kept, and the same "
            "command does the rest"
        )

    def close(self) -> None:
        """Cancel what has not begun, and leave."""
        self.client.close(timeout=2)


def _quiet() -> None:
    """What Dask logs of a broken connection is said here in one sentence."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class _Remote:
    """A batch on the cluster."""

    def __init__(self, future: Any, lost: Callable[[], ClusterLost]) -> None:
        self.future, self.lost = future, lost

    def done(self) -> bool:
        return self.future.done()

    def result(self) -> list[Done]:
        """What the batch gave, or its own error; anything else that keeps it from coming is the cluster's."""
        if self.future.status == "error":
            raise self.future.exception(timeout=PATIENCE)
        if self.future.status != "finished":
            raise self.lost()
        try:
            return self.future.result(timeout=PATIENCE)
        except Exception:
            raise self.lost() from None
        finally:
            self.future.release()
