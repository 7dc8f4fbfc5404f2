"""Sweeps: a grid of trainings from a file, run here or on a Dask cluster, kept cell by cell, as one tidy table."""

from regrax.experiments.sweep._cells import completed
from regrax.experiments.sweep._grid import read_sweep
from regrax.experiments.sweep._results import Row, listing_of, rows_of, table
from regrax.experiments.sweep._run import Finished, run_sweep
from regrax.experiments.sweep._summary import Group, groups, percent_above, summary

__all__ = [
    "Finished",
    "Group",
    "Row",
    "completed",
    "groups",
    "listing_of",
    "percent_above",
    "read_sweep",
    "rows_of",
    "run_sweep",
    "summary",
    "table",
]
