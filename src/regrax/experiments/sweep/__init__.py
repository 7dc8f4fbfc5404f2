"""Sweeps: run a grid of training runs from a file, in this process or on a Dask cluster, and collect one table."""

from .grid import (
    batches as batches,
    completed as completed,
    name_of as name_of,
    read_sweep as read_sweep,
)
from .operations import operations as operations
from .results import Row as Row, listing_of as listing_of, rows_of as rows_of, table as table
from .run import Finished as Finished, run_sweep as run_sweep
from .summary import (
    COLUMNS as COLUMNS,
    Group as Group,
    groups as groups,
    percent_above as percent_above,
    summary as summary,
)
