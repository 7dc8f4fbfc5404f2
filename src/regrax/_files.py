"""Files: bounded reads, atomic writes and locks."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

MAX_TEXT_BYTES = 2**26
"""Largest text file to read into memory; once parsed, it takes about thirty times as much."""


def read_limited(path: Path, most: int = MAX_TEXT_BYTES) -> bytes:
    """Read a file of at most `most` bytes; raise ValueError if it is longer, even if it never ends.

    >>> read_limited(Path("/dev/zero"), 1000)
    Traceback (most recent call last):
    ValueError: /dev/zero must have at most 1,000 bytes, but it has more
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path} must have at most {most:,} bytes, but it has more")
    return data


def write_output(path: Path, data: bytes) -> None:
    """Write an output to a file, following symlinks, or to standard output if the path is `-`.

    >>> write_output(Path("/dev/null"), b"")
    Traceback (most recent call last):
    ValueError: /dev/null must be a regular file or must not exist
    """
    if str(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        write_whole(output_file(path), data)


@contextlib.contextmanager
def open_log(path: Path, *, at_once: bool, again: bool = False) -> Iterator[IO[str]]:
    """Open a new text file, or standard output if the path is `-`.

    Args:
        path: a file that does not exist yet.
        at_once: write every line to the file immediately; otherwise the file appears when it is complete.
        again: replace the file if it exists.
    """
    if str(path) == "-":
        yield sys.stdout
        return
    file = output_file(path) if again else new_file(path)
    if at_once:
        with naming(path), file.open("w" if again else "x", encoding="utf-8") as lines:
            yield lines
    else:
        with _replacing(file) as aside, aside.open("w", encoding="utf-8") as lines:
            yield lines


def new_file(path: Path) -> Path:
    """Resolve the path of a new output file; raise ValueError if it already exists.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     new_file(Path(file.name))
    Traceback (most recent call last):
    ValueError: ... already exists: choose another file, or remove this one first
    """
    file = output_file(path)
    if file.exists():
        raise ValueError(f"{path} already exists: choose another file, or remove this one first")
    return file


def output_file(path: Path) -> Path:
    """Resolve the path of an output file; raise ValueError for a folder, a device or a pipe."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a regular file or must not exist")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path} must be in an existing folder")
    try:
        return path.resolve()
    except RuntimeError:
        raise ValueError(f"{path} must be a file, but it is a symlink loop") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: readers see the old file or the new one, never a partial one.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers.json"
    >>> write_whole(target, b"{}")
    >>> target.read_bytes()
    b'{}'
    """
    with _replacing(path) as aside, aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


TEMPORARY = ".*.[0-9]*.regrax.tmp"
"""Glob pattern for the names of unfinished files."""


def remove_unfinished(folder: Path) -> None:
    """Remove unfinished files that a killed process left in `folder`, but not in its subfolders."""
    for file in folder.glob(TEMPORARY):
        if file.is_file() and not file.is_symlink():
            file.unlink(missing_ok=True)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` once it is complete."""
    aside = path.with_name(f".{path.name[:100]}.{os.getpid()}.regrax.tmp")
    try:
        with naming(path):
            yield aside
            os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Add the file's name to system errors that lack one, such as a full disk.

    >>> with naming("log.jsonl"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'log.jsonl'
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextlib.contextmanager
def locked(file: Path) -> Iterator[bool]:
    """Lock a file, creating it if needed; yield False if another process holds the lock.

    The system releases the lock when the process ends, even if it is killed.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(file) as first, locked(file) as second:
    ...     first, second
    (True, False)
    """
    with file.open("a") as held:
        try:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass  # no file locks on this system
        except BlockingIOError:
            yield False
            return
        yield True
