"""Sweeps: run a grid of training runs from a file, in this process or on a Dask cluster, and collect one table."""

from .grid import (
    batches as batches,
    completed as completed,
    name_of as name_of,
    read_sweep as read_sweep,
)
from .results import (
    COLUMNS as COLUMNS,
    CellResult as CellResult,
    Group as Group,
    groups as groups,
    listing_of as listing_of,
    percent_above as percent_above,
    rows_of as rows_of,
    summary as summary,
    table as table,
)
from .run import Finished as Finished, operations as operations, run_sweep as run_sweep
