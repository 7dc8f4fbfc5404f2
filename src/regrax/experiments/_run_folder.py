"""A folder that holds one run, which is continued after any interruption.

    FOLDER/training.json    its settings: a run with others is refused
    FOLDER/metrics.jsonl    a line per report

Whatever else the run keeps, its state and its results, is its own.
"""

import contextlib
import json
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from regrax._atomic_write import write_whole
from regrax.experiments._store import Store


class RunFolder:
    """The settings and the metrics of one run.

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

    def _claim(self, settings: dict[str, Any], resume: bool) -> None:
        file = self.path / "training.json"
        if not file.exists():
            return write_whole(file, json.dumps(settings, indent=1).encode())
        if not resume:
            raise ValueError(
                f"{self.path} holds a training already: --resume goes on with it, or choose another --out"
            )
        kept = _read_settings(file)
        for name in [*settings, *kept]:
            if kept.get(name) != settings.get(name):
                there, asked = (reprlib.repr(one.get(name)) for one in (kept, settings))
                raise ValueError(
                    f"{self.path} holds a training with {name} = {there}, but {asked} was asked for: "
                    "choose another folder, or the same settings"
                )
        return None

    def log(self, line: Mapping[str, Any]) -> None:
        """Add a line to the metrics."""
        with self.metrics.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def cut(self, name: str, last: float) -> None:
        """Drop the lines of metrics whose `name` is above `last`: they will be written again."""
        if self.metrics.exists():
            lines = self.metrics.read_text().splitlines()
            kept = [line for line in lines if _value(line, name) <= last]
            write_whole(self.metrics, "".join(line + "\n" for line in kept).encode())


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except msgspec.MsgspecError:
        raise ValueError(f"{file} is damaged: it must hold the settings of a training") from None


def _value(line: str, name: str) -> float:
    """A number in a line; a half-written line counts as later than all."""
    try:
        return float(json.loads(line)[name])
    except (ValueError, KeyError, TypeError):
        return float("inf")
