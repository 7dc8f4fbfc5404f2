"""Experiments: trainings, sweeps of them, tournaments, and the paper; each kept in a folder and continued."""

from . import runs as runs, sweep as sweep, tournament as tournament
from ._pool import Dask as Dask, Threads as Threads, run_all as run_all
from ._progress import OnProgress as OnProgress, Progress as Progress, ignore as ignore
from ._store import Kept as Kept, RunFolder as RunFolder, Store as Store
