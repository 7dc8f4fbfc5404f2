"""Results on disk, stored with their settings and reused only if the settings match.

Files are written under a temporary name and then renamed, so a killed process leaves no partial results. A folder can
be locked by only one process at a time. Using a folder with files that regrax did not write raises an error.
"""

import contextlib
import hashlib
import json
import os
import reprlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from regrax._files import TEMPORARY, locked, naming, remove_unfinished, write_whole

R = TypeVar("R")
LOCK = ".regrax.lock"
"""Name of the lock file, which also marks a folder as written by regrax."""
OLD_LOCK = ".lock"
OLD_FILES = ("training.json", "sweep.json", "pieces", "*-" + "[0-9a-f]" * 12 + ".json")
"""Files next to `OLD_LOCK` that identify a folder from an earlier version."""


@dataclass(frozen=True)
class StoredResult(Generic[R]):
    """A result with its settings and the time it took to compute, in seconds."""

    config: Any
    result: R
    seconds: float


class Store:
    """A folder of results with their settings, or of one long run with its settings and metrics.

    Settings and results are dataclasses of plain values. A run has its settings in `training.json` and one line per
    report in `metrics.jsonl`.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.result("square", {"x": 3}, int, lambda: 9).result
    9
    >>> store.result("square", {"x": 3}, int, lambda: 1 / 0).result
    9
    >>> run = Store(tempfile.mkdtemp())
    >>> with run.locked({"steps": 3}):
    ...     run.log({"step": 1})
    ...     run.log({"step": 2})
    ...     run.cut("step", 1)
    >>> run.metrics.read_text()
    '{"step": 1}\\n'
    >>> with run.locked({"steps": 4}):
    ...     pass
    Traceback (most recent call last):
    ValueError: ... contains a run with steps = 3, got 4: choose another folder, or use the same settings
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.settings = self.folder / "training.json"
        self.metrics = self.folder / "metrics.jsonl"

    @contextlib.contextmanager
    def locked(
        self, settings: Mapping[str, Any] | None = None, resume: bool = True
    ) -> Iterator[None]:
        """Lock the folder for this process, and remove temporary files left by a killed process.

        Raises ValueError if another process holds the lock, if the folder has files that regrax did not write, or if it
        belongs to another run.

        Args:
            settings: Settings of a run.
            resume: Whether the folder may already contain the run.
        """
        self.check_folder()
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / LOCK) as is_free:
            if not is_free:
                raise ValueError(
                    f"another process is using {self.folder}: wait for it to finish, or choose another folder"
                )
            remove_unfinished(self.folder)
            if settings is not None:
                self._claim(json.loads(json.dumps(settings)), resume)
            yield

    def check_folder(self) -> None:
        """Raise ValueError if the folder contains files and was not created by regrax."""
        if not self.folder.is_dir() or (self.folder / LOCK).is_file():
            return
        is_old = (self.folder / OLD_LOCK).is_file()
        if is_old and any(any(self.folder.glob(pattern)) for pattern in OLD_FILES):
            return
        for file in sorted(self.folder.iterdir()):
            if file.name != OLD_LOCK and not file.match(TEMPORARY):
                raise ValueError(
                    f"{self.folder} has files that regrax did not write, such as {file.name}: "
                    "choose a new or empty folder"
                )

    def path(self, name: str, config: Any, suffix: str = "") -> Path:
        """Return the path of a result, made of its name and a hash of its settings."""
        return self.folder / f"{name}-{digest(config)}{suffix}"

    def result(
        self, name: str, config: Any, kind: Any, compute: Callable[[], R]
    ) -> StoredResult[R]:
        """Read the result for these settings, or compute and store it.

        Args:
            name: First part of the file name.
            config: Settings of the result.
            kind: Type of the result, such as `list[Measured]`.
            compute: Function to call if there is no valid result for these settings.
        """
        file = self.path(name, config, ".json")
        kind = StoredResult[kind]
        with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError, RecursionError):
            stored = msgspec.json.decode(file.read_bytes(), type=kind)
            if _encoded(stored.config) == _encoded(config):
                return replace(stored, config=config)
        began = time.perf_counter()
        result = compute()
        data = msgspec.json.encode(StoredResult(config, result, time.perf_counter() - began))
        stored = msgspec.json.decode(data, type=kind)  # raises for NaN, which JSON lacks
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, data)
        return replace(stored, config=config)

    def _claim(self, settings: dict[str, Any], resume: bool) -> None:
        if not self.settings.exists():
            write_whole(self.settings, json.dumps(settings, indent=1).encode())
            return
        if not resume:
            raise ValueError(
                f"{self.folder} already contains a run: add --resume to continue it, or choose another --out"
            )
        try:
            stored = msgspec.json.decode(self.settings.read_bytes(), type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            raise ValueError(
                f"{self.settings} is damaged: it must contain the settings of a run"
            ) from None
        for name in [*settings, *stored]:
            before = stored.get(name)
            now = settings.get(name)
            if before != now:
                raise ValueError(
                    f"{self.folder} contains a run with {name} = {reprlib.repr(before)}, got {reprlib.repr(now)}: "
                    "choose another folder, or use the same settings"
                )

    def log(self, line: Mapping[str, Any]) -> None:
        """Append a line to the metrics, and flush it to disk before any dependent state is saved."""
        with naming(self.metrics), self.metrics.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def cut(self, name: str, last: float) -> None:
        """Drop metrics lines that are damaged or have `name` above `last`; a resumed run writes them again."""
        if self.metrics.exists():
            lines = self.metrics.read_text().splitlines()
            earlier = [line + "\n" for line in lines if _number(line, name) <= last]
            write_whole(self.metrics, "".join(earlier).encode())

    held = locked  # earlier name


def digest(config: Any) -> str:
    """Return a short hash of settings."""
    return hashlib.sha256(_encoded(config)).hexdigest()[:12]


def _encoded(config: Any) -> bytes:
    return msgspec.json.encode(config, order="sorted")


def _number(line: str, name: str) -> float:
    try:
        return float(json.loads(line)[name])
    except (ValueError, KeyError, TypeError, RecursionError):
        return float("inf")
