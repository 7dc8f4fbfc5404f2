"""Results on disk: each is written at once, aside and renamed, under a name that its settings decide.

A kept result carries its settings; it is handed out only where they are those that are asked for, so a repeated run
does what is missing or has changed. A folder belongs to one process at a time; one that holds a run, to its settings.
"""

import contextlib
import hashlib
import json
import os
import reprlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from regrax._files import TEMPORARY, locked, naming, read_limited, remove_unfinished, write_whole

R = TypeVar("R")
LOCK = ".regrax.lock"
"""The file that marks a folder as one of regrax, and that a process locks while it works there."""
RESULTS = "*-" + "[0-9a-f]" * 12 + ".json"
CONFIGS = {
    "training.json": set(),
    "pieces/*/training.json": set(),
    "sweep.json": {"cells", "failed"},
    RESULTS: {"config", "result", "seconds"},
    f"pieces/{RESULTS}": {"config", "result", "seconds"},
}
"""Files by which folders of earlier versions, which have no marker, are recognised, and the keys that they have."""


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
        """Lock the folder for this process, and remove the files that a killed process left unfinished in it.

        A folder that holds files of others is not touched: it raises ValueError.
        """
        self.check_folder()
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / LOCK) as is_free:
            if not is_free:
                raise ValueError(
                    f"another process is at work in {self.folder}: wait for it, or choose another folder"
                )
            remove_unfinished(self.folder)
            yield

    def check_folder(self) -> None:
        """Raise ValueError if the folder holds files and regrax did not make it."""
        if not self.folder.is_dir() or (self.folder / LOCK).is_file():
            return
        for pattern, keys in CONFIGS.items():
            if any(_has_keys(file, keys) for file in self.folder.glob(pattern)):
                return
        for file in sorted(self.folder.iterdir()):
            if file.name != ".lock" and not file.match(TEMPORARY):  # an earlier version's lock
                raise ValueError(
                    f"{self.folder} holds files that are not of regrax, such as {file.name}: "
                    "choose a new or an empty folder"
                )

    def path(self, name: str, config: Any, suffix: str = "") -> Path:
        """Where the result with these settings is kept: readable, and another for other settings."""
        return self.folder / f"{name}-{digest(config)}{suffix}"

    def result(self, name: str, config: Any, kind: type[R], compute: Callable[[], R]) -> Kept[R]:
        """The result of these settings, of type `kind`: read, or computed and kept."""
        file = self.path(name, config, ".json")
        if (kept := _read(file, config, kind)) is not None:
            return kept
        start = time.perf_counter()
        result = msgspec.json.encode(compute())
        seconds = time.perf_counter() - start
        decoded = msgspec.json.decode(result, type=kind)  # NaN is not of its type
        written = _Written(msgspec.Raw(_encoded(config)), msgspec.Raw(result), seconds)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.encode(written))
        return Kept(config, decoded, seconds)


class RunFolder:
    """A folder that holds one run: in `training.json` its settings, in `metrics.jsonl` a line per report.

    Whatever else the run keeps, its state and its results, is its own.

    >>> import tempfile
    >>> folder = RunFolder(tempfile.mkdtemp())
    >>> with folder.held({"steps": 3}):
    ...     folder.log({"step": 1}), folder.log({"step": 2}), folder.cut("step", 1)
    ...     folder.metrics.read_text()
    (None, None, None)
    '{"step": 1}\\n'
    >>> with folder.held({"steps": 4}):
    ...     pass
    Traceback (most recent call last):
    ValueError: ... holds a training with steps = 3, but 4 was asked for: choose another folder, or the same settings
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.metrics = self.path / "metrics.jsonl"

    @contextlib.contextmanager
    def held(self, settings: Mapping[str, Any], resume: bool = True) -> Iterator[None]:
        """Hold the folder for a run with these settings; one that is another's is refused."""
        with Store(self.path).held():
            self._claim(json.loads(json.dumps(settings)), resume)
            yield

    def check_unused(self) -> None:
        """Raise if the folder holds a run, or files of others."""
        Store(self.path).check_folder()
        if (self.path / "training.json").exists():
            raise ValueError(
                f"{self.path} holds a training already: --resume goes on with it, or choose another --out"
            )

    def _claim(self, settings: dict[str, Any], resume: bool) -> None:
        file = self.path / "training.json"
        if not resume:
            self.check_unused()
        if not file.exists():
            return write_whole(file, json.dumps(settings, indent=1).encode())
        kept = _settings(file)
        for name in [*settings, *kept]:
            if kept.get(name) != settings.get(name):
                there, asked = (reprlib.repr(one.get(name)) for one in (kept, settings))
                raise ValueError(
                    f"{self.path} holds a training with {name} = {there}, but {asked} was asked for: "
                    "choose another folder, or the same settings"
                )

    def log(self, line: Mapping[str, Any]) -> None:
        """Add a line to the metrics, on disk before a state that counts on it."""
        with naming(self.metrics), self.metrics.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def cut(self, name: str, last: float) -> None:
        """Drop the lines of metrics whose `name` is above `last`: they will be written again."""
        if self.metrics.exists():
            lines = self.metrics.read_text().splitlines()
            kept = [line for line in lines if _value(line, name) <= last]
            write_whole(self.metrics, "".join(line + "\n" for line in kept).encode())


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
    except (FileNotFoundError, msgspec.MsgspecError, RecursionError):
        return None


def _settings(file: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError(f"{file} is damaged: it must hold the settings of a training") from None


def _has_keys(file: Path, keys: set[str]) -> bool:
    """Return True if the file is a JSON object with these keys."""
    try:
        return keys <= msgspec.json.decode(read_limited(file), type=dict[str, Any]).keys()
    except (OSError, ValueError, RecursionError):
        return False


def _value(line: str, name: str) -> float:
    """A number in a line; a half-written line counts as later than all."""
    try:
        return float(json.loads(line)[name])
    except (ValueError, KeyError, TypeError, RecursionError):
        return float("inf")
