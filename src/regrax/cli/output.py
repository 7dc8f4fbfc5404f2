"""Printing: text with coloured verdicts, one JSON object, figures, and a progress bar."""

import io
import json
import os
import re
import sys
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from regrax._files import write_output
from regrax._text import listed, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regrax.experiments import Progress

GREEN = ("learning", "no regret", "holds", "proved", "same", "better")
RED = ("not learning", "does not hold", "not proved", "refuted", "differs")
VERDICT = re.compile(rf"(^|  )({'|'.join(GREEN + RED)})(?=  |:|$)", re.MULTILINE)
"""A verdict that fills the cell of a table, or that stands before a colon."""


def print_json(summary: Any) -> None:
    """Print one JSON object; raise ValueError for NaN and infinity, which JSON does not support."""
    print(json.dumps(summary, allow_nan=False))


def print_result(result: Any, as_json: bool, summary: Any) -> None:
    """Print a result as text, or its summary as one JSON object."""
    if as_json:
        print_json(summary)
    else:
        print_text(str(result))


def print_text(text: str) -> None:
    """Print text without control characters, with coloured verdicts on a terminal unless NO_COLOR is set."""
    text = "\n".join(map(printable, text.split("\n")))
    wanted = sys.stdout.isatty() or os.environ.get("FORCE_COLOR")
    if wanted and not os.environ.get("NO_COLOR"):
        text = VERDICT.sub(_coloured, text)
    print(text)


def _coloured(found: re.Match[str]) -> str:
    color = 32 if found[2] in GREEN else 31
    return f"{found[1]}\x1b[{color}m{found[2]}\x1b[0m"


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure in the format of the file's suffix."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=160)
    write_output(path, drawn.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write text to a file, or to standard output if the path is `-`; lone surrogates become question marks."""
    write_output(path, text.encode("utf-8", "replace"))


class Bar:
    """A progress bar for all tasks of a command, shown only on a terminal and removed at the end.

    Args:
        hidden: Show nothing, for `--json` and for processes other than the first.
    """

    def __init__(self, *, hidden: bool = False) -> None:
        self.lock = RLock()
        self.shares: dict[str, float] = {}
        self.bar: Any = None
        if not hidden and sys.stderr.isatty():
            from rich import console, progress

            self.bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(20),
                progress.TimeElapsedColumn(),
                progress.TimeRemainingColumn(),
                progress.TextColumn("{task.fields[note]}"),
                console=console.Console(stderr=True),
                transient=True,
            )
            self.task = self.bar.add_task("", note="")

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, at: "Progress") -> None:
        """Show the progress of a task."""
        self.move(*at)

    def move(self, task: str, done: float, total: float, note: str = "") -> None:
        """Update the progress of a task; safe to call from several threads."""
        if self.bar is None:
            return
        with self.lock:
            self.shares[task] = done / total
            running = [name for name, share in self.shares.items() if share < 1]
            shown = {"description": listed(running) or task, "note": note}
            self.bar.start()
            self.bar.update(
                self.task, completed=sum(self.shares.values()), total=len(self.shares), **shown
            )
