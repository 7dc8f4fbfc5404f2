"""Text in, text out: specs and files as a person types them; one JSON object, or a table for people."""

import io
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.progress import Progress as RichProgress, TaskID

    from regrax.experiments import Progress
    from regrax.games import Game
    from regrax.learners import Learner

MAX_NAME = 256  # characters, of a file


GAME_FILES = (".json", ".nfg", ".npz")


def learner_maker(text: str) -> "Callable[[], Learner]":
    """Return a function that builds the learner, checkpoint, agent or language model that a spec names."""
    learner = read_learner(text)
    return lambda: learner


def read_learner(text: str) -> "Learner":
    """Build the learner, checkpoint, agent or language model that a spec names."""
    from regrax.agents import outside_agent
    from regrax.checkpoints import Checkpoint
    from regrax.specs import parse_learner

    def language_model(*arguments: Any, **keywords: Any) -> "Learner":
        from regrax.agents.llm import llm

        return llm(*arguments, **keywords)

    known = {"agent": outside_agent, "checkpoint": Checkpoint, "llm": language_model}
    try:
        return parse_learner(text, known)
    except ModuleNotFoundError as error:  # an extra that a learner needs
        raise ValueError(str(error)) from None


def read_game(text: str) -> "Game":
    """The game in the file at this path if the path ends as one does, else the game that the spec names."""
    from regrax.specs import parse_game

    return _read(Path(text)) or parse_game(text)


def read_games(text: str, seeds: int) -> list["Game"]:
    """The game in the file, or the games that the spec stands for, one per seed if they are random."""
    from regrax.specs import draw_games

    game = _read(Path(text))
    return [game] if game else draw_games(text, seeds)


def _read(path: Path) -> "Game | None":
    if path.suffix.lower() in GAME_FILES:
        from regrax.games import load

        return load(path)
    if len(path.name) < MAX_NAME and path.is_file():
        known = ", ".join(GAME_FILES)
        raise ValueError(f"a game file must end in {known}, got {path}")
    return None


PIPED_COLUMNS = 120  # columns where no terminal says how many there are
MAX_INLINE_CHARACTERS = 19  # characters that are kept on one line


def print_json(result: Any) -> None:
    """Print one JSON object; a number that is not finite is an error here, never an invalid token."""
    print(json.dumps(result, allow_nan=False))


def save_figure(figure: "Figure", path: Path) -> None:
    """Draw into an output file."""
    from regrax._files import write_output

    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=160)
    write_output(path, drawn.getvalue())


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table; columns of numbers line up on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in rows)
        short = all(len(row[index]) <= MAX_INLINE_CHARACTERS for row in rows)
        justify = "right" if numeric else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*(Text("\n".join(map(printable, cell.split("\n")))) for cell in row))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_COLUMNS)
    if title:
        console.print(
            Text(printable(title), "bold")
        )  # a table's own title is wrapped to the table's width
    console.print(table)


def printable(text: str) -> str:
    """What a file says can move no cursor: control characters as they are written in Python.

    >>> printable("\x1b[31mred")
    '\\\\x1b[31mred'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def say(text: str, *, error: bool = False) -> None:
    """Print lines for people, to standard output or error, in which nothing moves the cursor."""
    lines = [printable(line) for line in text.split("\n")]
    print("\n".join(lines), file=sys.stderr if error else sys.stdout)


def number(value: float) -> str:
    """Five decimals, as tables show them; what rounds to zero has no sign."""
    return f"{round(value, 5) + 0.0:.5f}"


def _is_number(cell: str) -> bool:
    return bool(cell) and cell.lstrip("-+").replace(".", "", 1).replace("e-", "", 1).isdigit()


class Bars:
    """One bar per task, made at its first report, with the time left; where no terminal is, none."""

    def __init__(self, *, hidden: bool = False, after: float = 0.0) -> None:
        self.visible = not hidden and sys.stderr.isatty()
        self.begin = monotonic() + after if self.visible else math.inf  # nothing is shown before
        self.bars: "RichProgress | None" = None
        self.tasks: "dict[str, TaskID]" = {}

    def __enter__(self) -> "Bars":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bars is not None:
            self.bars.stop()

    def show(self, at: "Progress") -> None:
        """Move the bar of a piece of work."""
        if monotonic() < self.begin or (self.bars is None and at.done >= at.total):
            return
        if self.bars is None:  # not before the input has been found good
            self.bars = _begun()
        if at.task not in self.tasks:
            self.tasks[at.task] = self.bars.add_task(at.task, total=at.total, note=at.note)
        moved = {"completed": at.done, "total": at.total, "note": at.note}
        self.bars.update(self.tasks[at.task], **moved)


def _begun() -> "RichProgress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress as RichProgress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:26}"),
        BarColumn(20),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    bars = RichProgress(*columns, console=Console(stderr=True))
    bars.start()
    return bars
