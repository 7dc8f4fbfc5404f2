"""Sweeps: a grid of trainings from a file, run here or on a Dask cluster, kept cell by cell, as one tidy table."""

from regrax.experiments.sweep._grid import read_sweep
from regrax.experiments.sweep._grid_cell import Cell
from regrax.experiments.sweep._run import Finished, Progress, run_sweep
from regrax.experiments.sweep._store import Row, failures, table
from regrax.experiments.sweep._summary import Group, groups, percent_above, summary

__all__ = [
    "Cell",
    "Finished",
    "Group",
    "Progress",
    "Row",
    "failures",
    "groups",
    "percent_above",
    "read_sweep",
    "run_sweep",
    "summary",
    "table",
]
