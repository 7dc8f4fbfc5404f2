"""Files written whole or not at all, to a temporary name and then renamed; and files that one process holds."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`; a reader sees the old file or the new one, never a part.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers.json"
    >>> write_whole(target, b"{}")
    >>> target.read_bytes()
    b'{}'
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(file: Path) -> Iterator[bool]:
    """Hold the lock of a file, made if it is not there; gives whether it was free.

    The system releases it when its process ends, so what a killed one left is nobody's.

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
