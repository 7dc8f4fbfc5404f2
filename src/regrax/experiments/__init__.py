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

RENAMED = {"Kept": StoredResult, "RunFolder": Store}


def __getattr__(name: str) -> Any:
    if name not in RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    current = RENAMED[name]
    warnings.warn(
        f"experiments.{name} is now experiments.{current.__name__}",
        DeprecationWarning,
        stacklevel=2,
    )
    return current
