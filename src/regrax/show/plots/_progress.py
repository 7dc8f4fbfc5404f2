"""A progress bar for a notebook: HTML that is drawn anew as work goes on; outside of one, a line of text."""

import html
import sys
from collections.abc import Callable
from typing import Any


def progress_bar() -> Callable[..., None]:
    """A callback for `on_progress` of `play`, `round_robin`, `train` and the others, that shows a bar per task.

    >>> from regrax.experiments.tournament import round_robin
    >>> found = round_robin(["hedge(0.3)", "uniform()"], ["chicken"], 20, on_progress=progress_bar())
    games played: 100 %
    """
    shown: dict[str, Any] = {}

    def show(*at: Any) -> None:
        task, done, total, note = at[0] if len(at) == 1 else ("rounds", *at, "")
        if "ipykernel" in sys.modules:
            _show_html(shown, task, done, total, note)
        elif done >= total:
            print(f"{task}: 100 %")

    return show


def _show_html(shown: dict[str, Any], task: str, done: float, total: float, note: str) -> None:
    from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

    bar = f'<progress value="{done}" max="{total}"></progress>'
    picture = HTML(f"{bar} {html.escape(task)}: {done / total:.0%} {html.escape(note)}")
    if task in shown:
        shown[task].update(picture)
    else:
        shown[task] = display(picture, display_id=True)
