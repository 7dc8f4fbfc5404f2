"""Printing: text with coloured verdicts, one JSON object, figures, and a progress bar."""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from regrax._text import listed, paragraph, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regrax.experiments import Progress

COLORS = {
    **dict.fromkeys(("learning", "holds", "proved", "same", "better"), 32),  # green
    **dict.fromkeys(("not learning", "does not hold", "not proved", "refuted", "differs"), 31),
}
VERDICT = re.compile(rf"(^|  )({'|'.join(COLORS)})(?=  |:|$)", re.MULTILINE)
"""A verdict that fills the cell of a table, or that stands before a colon."""


def print_json(result: Any) -> None:
    """Print one JSON object; raise ValueError for NaN and infinity, which JSON does not support."""
    print(json.dumps(result, allow_nan=False))


def print_result(result: Any, as_json: bool, summary: Mapping[str, Any]) -> None:
    """Print a result as text, or its summary as one JSON object."""
    if as_json:
        print_json(summary)
    else:
        print_text(str(result))


def print_text(text: str) -> None:
    """Print text without control characters, with coloured verdicts on a terminal unless NO_COLOR is set."""
    text = "\n".join(printable(line) for line in text.split("\n"))
    wanted = sys.stdout.isatty() or os.environ.get("FORCE_COLOR")
    if wanted and not os.environ.get("NO_COLOR"):
        text = VERDICT.sub(
            lambda found: f"{found[1]}\x1b[{COLORS[found[2]]}m{found[2]}\x1b[0m", text
        )
    print(text)


def print_lines(*lines: str) -> None:
    """Print paragraphs wrapped at the width of the terminal."""
    for line in lines:
        print_text(paragraph(line))


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure in the format of the file's suffix."""
    import io

    from regrax._files import write_output

    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=160)
    write_output(path, drawn.getvalue())


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
            self.bar.add_task("", note="")

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
            self.bar.start()
            self.bar.update(
                self.bar.task_ids[0],
                completed=sum(self.shares.values()),
                total=len(self.shares),
                description=listed(running) or task,
                note=note,
            )
