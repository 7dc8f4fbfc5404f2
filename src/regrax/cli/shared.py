"""Helpers of commands: learners and keys from options, printed results, written files, and a progress bar."""

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regrax
from regrax._files import write_output
from regrax._text import listed, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regrax.learners import Learner

# only the command line accepts these names in a spec, because they run code or read files
OUTSIDE = {"agent": "outside_agent", "checkpoint": "Checkpoint", "llm": "llm.llm"}


def read_learner(spec: str) -> "Learner":
    """Build a learner, a checkpoint, an external agent or a language model from its spec."""
    from regrax.specs import parse_learner

    more = {name: attrgetter(path)(regrax) for name, path in OUTSIDE.items() if name in spec}
    return parse_learner(spec, more)


def read_key(seed: int | None) -> Any:
    """Return the random key of a seed, or None without a seed."""
    import jax

    from regrax import _checks as checks

    if seed is None:
        return None
    checks.at_least("seed", seed, 0)
    return jax.random.key(seed)


GREEN = ("learning", "no regret", "holds", "proved", "same", "better")
RED = ("not learning", "does not hold", "not proved", "refuted", "differs")


def print_result(result: Any, as_json: bool = False, summary: Any = None) -> None:
    """Print a result as text, or its summary as one JSON object without NaN, which JSON does not support.

    Control characters are escaped. Verdicts are coloured on a terminal unless NO_COLOR is set: those that fill the cell
    of a table or stand before a colon.
    """
    if as_json:
        print(json.dumps(summary, allow_nan=False), flush=True)
        return
    text = "\n".join(map(printable, str(result).split("\n")))
    wanted = sys.stdout.isatty() or os.environ.get("FORCE_COLOR")
    if wanted and not os.environ.get("NO_COLOR"):
        for color, verdicts in ((32, GREEN), (31, RED)):
            verdict = rf"(^|  )({'|'.join(verdicts)})(?=  |:|$)"
            text = re.sub(verdict, f"\\1\x1b[{color}m\\2\x1b[0m", text, flags=re.MULTILINE)
    print(text, flush=True)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure in the format of the file's suffix."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=160)
    write_output(path, drawn.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write text to a file, or to standard output if the path is `-`; lone surrogates become question marks."""
    write_output(path, text.encode("utf-8", "replace"))


@contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Callable[[Sequence[Any]], None]]:
    """Yield a function that shows the progress of tasks in one bar, on a terminal and until the command ends.

    Any thread may call it with a `Progress`, or its fields: the task, the amount done, the total, and perhaps a note.

    Args:
        hidden: Show nothing, for `--json` and for processes other than the first.
    """
    if hidden or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich import console, progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(20),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[note]}"),
    )
    bar = progress.Progress(*columns, console=console.Console(stderr=True), transient=True)
    row = bar.add_task("", note="")
    latest: dict[str, float] = {}

    def show(at: Sequence[Any]) -> None:
        task, done, total, *note = at
        latest[task] = done / total
        shares = dict(latest)  # other threads may add to it
        running = listed(name for name, share in shares.items() if share < 1)
        shown = {"description": running or task, "note": " ".join(note)}
        bar.update(row, completed=sum(shares.values()), total=len(shares), **shown)
        bar.start()

    try:
        yield show
    finally:
        bar.stop()
