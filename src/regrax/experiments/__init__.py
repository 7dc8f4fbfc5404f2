"""Experiments: training runs, sweeps and tournaments that are stored in folders and can be resumed."""

import warnings
from typing import Any

from . import runs as runs, sweep as sweep, tournament as tournament
from .pool import (
    Dask as Dask,
    OnProgress as OnProgress,
    Progress as Progress,
    Threads as Threads,
    ignore as ignore,
    run_all as run_all,
)
from .store import Store as Store, StoredResult as StoredResult


def __getattr__(name: str) -> Any:
    if name == "Kept":
        warnings.warn(
            "experiments.Kept is now experiments.StoredResult", DeprecationWarning, stacklevel=2
        )
        return StoredResult
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
