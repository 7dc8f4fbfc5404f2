"""Progress reports of long computations, as progress bars take them."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """State of a task.

    Args:
        task: Name of the task.
        done: Amount of work done, in the unit of `total`.
        total: Amount of work in all.
        note: Short remark to print after the bar.

    >>> Progress("train linear", 5, 20).done
    5
    """

    task: str
    done: float
    total: float
    note: str = ""


OnProgress = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """Do nothing: the default of every `on_progress` argument."""
