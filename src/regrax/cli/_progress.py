"""Progress bars on the terminal's error stream: what is done, how fast, and how long it will take."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import TaskID


class Bars:
    """One bar a task, made when it is first heard of, with the time left."""

    def __init__(self, *, hidden: bool = False) -> None:
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
            BarColumn(20),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self.progress = Progress(*columns, console=Console(stderr=True), disable=hidden)
        self.tasks: "dict[str, TaskID]" = {}

    def __enter__(self) -> "Bars":
        self.progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.progress.stop()

    def show(self, name: str, done: float, total: float, note: str = "") -> None:
        """Move the bar of the task of this name."""
        if name not in self.tasks:
            self.tasks[name] = self.progress.add_task(name, total=total, note=note)
        self.progress.update(self.tasks[name], completed=done, total=total, note=note)
