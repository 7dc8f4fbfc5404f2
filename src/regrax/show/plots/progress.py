"""Progress bar for notebooks; a line of text elsewhere."""

import html
import sys
from collections.abc import Callable
from typing import Any


def progress_bar() -> Callable[..., None]:
    """Return an `on_progress` callback for `play`, `round_robin`, `train` and others that shows one bar per task.

    >>> from regrax.experiments.tournament import round_robin
    >>> results = round_robin(["hedge(0.3)", "uniform()"], ["chicken"], 20, on_progress=progress_bar())
    games played: 100%
    """
    shown: dict[str, Any] = {}

    def show(*report: Any) -> None:
        task, done, total, note = report[0] if len(report) == 1 else ("rounds", *report, "")
        if "ipykernel" not in sys.modules:
            if done >= total:
                print(f"{task}: 100%")
            return
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        bar = f'<progress value="{done}" max="{total}"></progress>'
        picture = HTML(f"{bar} {html.escape(task)}: {done / total:.0%} {html.escape(note)}")
        if task in shown:
            shown[task].update(picture)
        else:
            shown[task] = display(picture, display_id=True)

    return show
