"""Locks on files: the system releases them when their process ends, so what a killed one left is nobody's."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(file: Path) -> Iterator[bool]:
    """Hold the lock of a file, made if it is not there; gives whether it was free.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / ".lock"
    >>> with locked(file) as first, locked(file) as second:
    ...     first, second
    (True, False)
    """
    with file.open("a") as held:
        try:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (
            ImportError
        ):  # a system without it: one process in a folder is then the user's to see to
            pass
        except BlockingIOError:
            yield False
            return
        yield True
