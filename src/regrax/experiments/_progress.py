"""How far a piece of work is: what experiments tell, and what a bar shows."""

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """A piece of work by its name, how much of it is done, and a note on how it goes.

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
