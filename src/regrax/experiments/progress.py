"""Progress reports of long computations, for progress bars."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """State of a task.

    Args:
        task: Name of the task.
        done: Amount of work done, in the unit of `total`.
        total: Total amount of work.
        note: Short note to print after the bar.

    >>> Progress("train linear", 5, 20).done
    5
    """

    task: str
    done: float
    total: float
    note: str = ""


OnProgress = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """Do nothing; the default for every `on_progress` argument."""
