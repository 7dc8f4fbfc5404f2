"""Text in, text out: specs and files as a person types them; one JSON object, or a table for people."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from regrax._registry import GAME_FILES, LEARNERS, Entry

if TYPE_CHECKING:
    from rich.progress import TaskID

    from regrax.experiments import Progress
    from regrax.games import Game
    from regrax.learners import Learner

AGENT = Entry("regrax.agents:outside_agent", "a chat endpoint or a Python function")
LANGUAGE_MODEL = Entry("regrax.llm:llm", "a local language model in a folder")


def read_learner(text: str) -> "Learner":
    """The learner, checkpoint, outside agent or language model that a spec names."""
    from regrax.specs import parse_learner

    known = {"agent": AGENT, "checkpoint": LEARNERS["checkpoint"], "llm": LANGUAGE_MODEL}
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


def read_starts(texts: tuple[str, ...], game: "Game", seed: int | None) -> list[Any]:
    """The policy of round 1 for each seat, or None where the learner chooses; one text alone is for every seat."""
    import numpy as np

    seats = len(game.sizes)
    texts = texts * seats if len(texts) == 1 else texts
    if len(texts) != seats:
        raise ValueError(
            f"--start must be one, or one for each of {seats} players, but are {len(texts)}"
        )
    rng = np.random.default_rng(seed)
    return [_start(text, labels, rng) for text, labels in zip(texts, game.actions, strict=True)]


def _start(text: str, labels: tuple[str, ...], rng: Any) -> Any:
    if text == "own":
        return None
    if text == "random":
        return rng.dirichlet([1.0] * len(labels))
    if text in labels:
        return [float(label == text) for label in labels]
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        known = ", ".join(labels)
        raise ValueError(
            f"--start must be {len(labels)} probabilities as in 0.2,0.8, random, own or one of {known}, but is {text!r}"
        ) from None


def _read(path: Path) -> "Game | None":
    if path.suffix.lower() in GAME_FILES:
        from regrax.games import FORMATS

        return FORMATS[path.suffix.lower()].read(path.read_bytes())
    if path.is_file():
        known, ends = ", ".join(GAME_FILES), path.suffix or "nothing"
        raise ValueError(f"a game file must end in {known}, but {path} ends in {ends}")
    return None


PIPED = 120  # columns where no terminal says how many there are
SHORT = 19  # characters that are kept on one line


def print_json(result: Any) -> None:
    """Print one JSON object; a number that is not finite is an error here, never an invalid token."""
    print(json.dumps(result, allow_nan=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table; columns of numbers line up on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in rows)
        short = all(len(row[index]) <= SHORT for row in rows)
        justify = "right" if numeric else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)
    if title:
        console.print(Text(title, "bold"))  # a table's own title is wrapped to the table's width
    console.print(table)


def number(value: float) -> str:
    """Five decimals, as tables show them; what rounds to zero has no sign."""
    return f"{round(value, 5) + 0.0:.5f}"


def _is_number(cell: str) -> bool:
    return bool(cell) and cell.lstrip("-+").replace(".", "", 1).replace("e-", "", 1).isdigit()


class Bars:
    """One bar a task, made when it is first heard of, with the time left."""

    def __init__(self, *, hidden: bool = False, after: float = 0.0) -> None:
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
        self.bars = RichProgress(*columns, console=Console(stderr=True), disable=hidden)
        self.begin = monotonic() + after  # seconds in which nothing is shown
        self.tasks: "dict[str, TaskID]" = {}

    def __enter__(self) -> "Bars":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.tasks:
            self.bars.stop()

    def show(self, at: "Progress") -> None:
        """Move the bar of a piece of work."""
        if monotonic() < self.begin:
            return
        if not self.tasks:  # not before the input has been found good
            self.bars.start()
        if at.task not in self.tasks:
            self.tasks[at.task] = self.bars.add_task(at.task, total=at.total, note=at.note)
        moved = {"completed": at.done, "total": at.total, "note": at.note}
        self.bars.update(self.tasks[at.task], **moved)
