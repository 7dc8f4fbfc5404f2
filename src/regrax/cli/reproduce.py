"""`regrax reproduce`: every experiment of the paper, beside what it reported and what is exact."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regrax.cli.output import print_json, print_table

if TYPE_CHECKING:
    from rich.progress import TaskID

    from regrax.paper import Task


@dataclass(frozen=True)
class Reproduce:
    """Reproduce the paper: train, measure, compare with the reported and the exact numbers, write a report.

    An interrupted run goes on where it stopped; only what is missing or has other settings is done again.
    """

    quick: bool = False
    """All of it, smaller: two minutes instead of half an hour."""
    only: tuple[str, ...] = ()
    """Only these: step-size, matching, depth, cce, ce, table-one, beyond."""
    out: Path = Path("out/reproduction")
    """Where results.json, report.html and the finished pieces go."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Reproduce with bars on the terminal, then print the comparison."""
        from regrax.paper import reproduce

        with _Bars(hidden=self.json) as bars:
            rows = reproduce(self.out, quick=self.quick, only=self.only, heard=bars.show)
        if self.json:
            files = {
                "results": str(self.out / "results.json"),
                "report": str(self.out / "report.html"),
            }
            print_json({"rows": [row._asdict() for row in rows], **files})
        else:
            print_table(
                ("quantity", "paper", "here", "exact", "verdict"), [list(row) for row in rows]
            )
            print(
                f"{self.out / 'report.html'} tells the story; {self.out / 'results.json'} has every number"
            )


class _Bars:
    """One bar a task, made when it is first heard of, with the time left."""

    def __init__(self, hidden: bool) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description:26}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=Console(stderr=True), disable=hidden)
        self.tasks: "dict[str, TaskID]" = {}

    def __enter__(self) -> "_Bars":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def show(self, task: "Task") -> None:
        """Move the bar of this task."""
        if task.name not in self.tasks:
            self.tasks[task.name] = self.progress.add_task(task.name, total=task.total)
        self.progress.update(self.tasks[task.name], completed=task.done, total=task.total)
