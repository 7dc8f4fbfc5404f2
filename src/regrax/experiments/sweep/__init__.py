"""Sweeps: a grid of trainings from a file, run here or on a Dask cluster, kept cell by cell, as one tidy table."""

from ._cells import completed as completed
from ._grid import read_sweep as read_sweep
from ._results import Row as Row, listing_of as listing_of, rows_of as rows_of, table as table
from ._run import Finished as Finished, run_sweep as run_sweep
from ._summary import (
    Group as Group,
    groups as groups,
    percent_above as percent_above,
    summary as summary,
)
