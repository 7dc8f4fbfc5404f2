"""Training in iterations, each a function from a model to a better one, kept in a folder and continued after a kill.

FOLDER/iteration-I      the model after I iterations: the newest one
FOLDER/metrics.jsonl    a line per iteration

and what every training of a language model keeps there.
"""

import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regrax.experiments import OnProgress, Progress, RunFolder
from regrax.llm._context import check_task
from regrax.llm._load import save_model
from regrax.llm._losses import favours_no_action
from regrax.llm._run import is_whole, load_like, run_settings
from regrax.llm._task import Task

Improve = Callable[[Any, int], tuple[Any, dict[str, float]]]
"""From a model and the number of the iteration to the model after it, and what was measured."""


def iterate(
    method: str,
    model: Any,
    tokenizer: Any,
    task: Task,
    config: Any,
    folder: str | Path,
    improve: Improve,
    on_progress: OnProgress,
    resume: bool,
) -> Any:
    """Improve a model `config.iterations` times, from where the folder has got to.

    Args:
        method: its name, which the folder is for.
        model: what to begin with.
        tokenizer: its tokenizer.
        task: what it plays.
        config: how; it has `iterations`.
        folder: where everything is kept.
        improve: one iteration.
        on_progress: called at the start and after every iteration.
        resume: whether a training that the folder holds is continued; without it, it is refused.
    """
    check_task(model, tokenizer, task)
    kept = RunFolder(folder)
    with kept.held(run_settings(method, model, task, config), resume):
        if is_whole(kept.path / "model"):
            return load_like(kept.path / "model", model)
        done = _newest(kept.path)
        model = load_like(kept.path / f"iteration-{done}", model) if done else model
        kept.cut("iteration", done)
        on_progress(Progress(method, done, config.iterations))
        for number in range(done, config.iterations):
            model, note = _iteration(model, number, improve, kept, (tokenizer, task))
            on_progress(Progress(method, number + 1, config.iterations, note))
        save_model(kept.path / "model", model, tokenizer, task)
        shutil.rmtree(kept.path / f"iteration-{config.iterations}", ignore_errors=True)
        return model


def _iteration(
    model: Any, number: int, improve: Improve, folder: RunFolder, prompted: tuple[Any, Task]
) -> tuple[Any, str]:
    """One iteration: its line of metrics, then its model, in the place of the one before."""
    began = time.monotonic()
    model, measured = improve(model, number)
    seconds = round(time.monotonic() - began, 3)
    folder.log({"iteration": number + 1, **measured, "seconds": seconds})
    save_model(folder.path / f"iteration-{number + 1}", model, *prompted)
    shutil.rmtree(folder.path / f"iteration-{number}", ignore_errors=True)
    return model, f"regret {measured['regret']:.3f}"


def _newest(folder: Path) -> int:
    """How many iterations are done: those whose folder is whole."""
    whole = [path for path in folder.glob("iteration-*") if is_whole(path)]
    return max((int(path.name.removeprefix("iteration-")) for path in whole), default=0)


def warn_no_signal(task: Task, by: str) -> None:
    """Warn where low expected regret cannot be learnt, because every policy has the same."""
    if by != "squared" and favours_no_action(task):
        warnings.warn(
            f"these losses ({task.losses}) favour no action: every policy has the same expected regret, so choosing "
            "by regret carries no signal. What does: squared regret, biased or structured losses, opponents that react",
            stacklevel=3,
        )
