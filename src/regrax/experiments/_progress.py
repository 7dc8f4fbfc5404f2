"""How far a piece of work is: what experiments tell, and what a bar shows."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """How far a piece of work is.

    Args:
        task: name of the piece of work.
        done: how much of it is done, in the unit of `total`.
        total: how much there is.
        note: how it goes.

    >>> Progress("train linear", 5, 20).done
    5
    """

    task: str
    done: float
    total: float
    note: str = ""


OnProgress = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """Tell nobody."""
