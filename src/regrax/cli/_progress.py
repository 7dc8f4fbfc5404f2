"""Progress bars on the terminal's error stream: what is done, how fast, and how long it will take."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import TaskID

    from regrax.experiments import Progress


class Bars:
    """One bar a task, made when it is first heard of, with the time left."""

    def __init__(self, *, hidden: bool = False) -> None:
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
        self.tasks: "dict[str, TaskID]" = {}

    def __enter__(self) -> "Bars":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.tasks:
            self.bars.stop()

    def show(self, at: "Progress") -> None:
        """Move the bar of a piece of work."""
        if not self.tasks:  # not before the input has been found good
            self.bars.start()
        if at.task not in self.tasks:
            self.tasks[at.task] = self.bars.add_task(at.task, total=at.total, note=at.note)
        moved = {"completed": at.done, "total": at.total, "note": at.note}
        self.bars.update(self.tasks[at.task], **moved)
