"""Sweeps: a grid of trainings from a file, run here or on a Dask cluster, kept cell by cell, as one tidy table."""

from regrax.sweep.cells import Cell
from regrax.sweep.grid import read_sweep
from regrax.sweep.kept import failures, table
from regrax.sweep.run import Finished, Progress, run_sweep

__all__ = ["Cell", "Finished", "Progress", "failures", "read_sweep", "run_sweep", "table"]
