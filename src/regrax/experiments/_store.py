"""Results on disk: each is written at once, aside and renamed, under a name that its settings decide.

A kept result carries its settings; it is handed out only where they are those that are asked for, so a repeated run
does what is missing or has changed. A folder belongs to one process at a time.
"""

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from regrax._files import locked, write_whole

R = TypeVar("R")


@dataclass(frozen=True)
class Kept(Generic[R]):
    """A result, the settings it belongs to, and the seconds it took."""

    config: Any
    result: R
    seconds: float


class _Written(msgspec.Struct):
    config: msgspec.Raw
    result: msgspec.Raw
    seconds: float


class Store:
    """A folder of results, found by their settings: dataclasses of plain values, as results are.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.result("square", {"x": 3}, int, lambda: 9).result
    9
    >>> store.result("square", {"x": 3}, int, lambda: 1 / 0).result
    9
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder; what a killed process left half written is removed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock") as is_free:
            if not is_free:
                raise ValueError(
                    f"another process is at work in {self.folder}: wait for it, or choose another folder"
                )
            for file in self.folder.rglob(".*.tmp"):
                file.unlink(missing_ok=True)
            yield

    def path(self, name: str, config: Any, suffix: str = "") -> Path:
        """Where the result with these settings is kept: readable, and another for other settings."""
        return self.folder / f"{name}-{digest(config)}{suffix}"

    def result(self, name: str, config: Any, kind: type[R], compute: Callable[[], R]) -> Kept[R]:
        """The result of these settings, of type `kind`: read, or computed and kept."""
        file = self.path(name, config, ".json")
        kept = _read(file, config, kind)
        if kept is None:
            start = time.perf_counter()
            result = msgspec.json.encode(compute())
            seconds = time.perf_counter() - start
            msgspec.json.decode(result, type=kind)  # NaN is not of its type
            written = _Written(msgspec.Raw(_encoded(config)), msgspec.Raw(result), seconds)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(written))
            kept = _read(file, config, kind)
        assert kept is not None
        return kept


def digest(config: Any) -> str:
    """A short name for settings."""
    return hashlib.sha256(_encoded(config)).hexdigest()[:12]


def _encoded(config: Any) -> bytes:
    return msgspec.json.encode(config, order="sorted")


def _read(file: Path, config: Any, kind: type[R]) -> Kept[R] | None:
    """The result in a file, or None where there is none of these settings that is whole."""
    try:
        written = msgspec.json.decode(file.read_bytes(), type=_Written)
        if bytes(written.config) != _encoded(config):
            return None
        return Kept(config, msgspec.json.decode(written.result, type=kind), written.seconds)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
