"""Training in iterations, each a function from a model to a better one, kept in a folder and continued after a kill.

FOLDER/training.json    the settings and the task
FOLDER/iteration-I      the model after I iterations: the newest one
FOLDER/metrics.jsonl    a line per iteration
FOLDER/model            the trained model
"""

import json
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regrax._files import write_whole
from regrax.llm._load import load_model, save_model
from regrax.llm._losses import favours_no_action
from regrax.llm._task import Task

Improve = Callable[[Any, int], tuple[Any, dict[str, float]]]
"""From a model and the number of the iteration to the model after it, and what was measured."""


def iterate(
    model: Any,
    tokenizer: Any,
    task: Task,
    config: Any,
    folder: Path,
    improve: Improve,
    on_progress: Callable[[dict[str, float]], None],
) -> Any:
    """Improve a model `config.iterations` times, from where the folder has got to."""
    folder.mkdir(parents=True, exist_ok=True)
    _claim(folder, {"task": json.loads(task.to_json()), "config": asdict(config)})
    kind = str(model.dtype).removeprefix("torch."), str(model.device)
    if (folder / "model" / "task.json").exists():
        return load_model(folder / "model", dtype=kind[0], device=kind[1]).model
    done = _newest(folder)
    if done:
        model = load_model(folder / f"iteration-{done}", dtype=kind[0], device=kind[1]).model
    for number in range(done, config.iterations):
        began = time.monotonic()
        model, measured = improve(model, number)
        save_model(folder / f"iteration-{number + 1}", model, tokenizer, task)
        line = {"iteration": number + 1, **measured, "seconds": round(time.monotonic() - began, 3)}
        _write_line(folder / "metrics.jsonl", line)
        shutil.rmtree(folder / f"iteration-{number}", ignore_errors=True)
        on_progress(line)
    save_model(folder / "model", model, tokenizer, task)
    shutil.rmtree(folder / f"iteration-{config.iterations}", ignore_errors=True)
    return model


def _claim(folder: Path, settings: dict[str, Any]) -> None:
    file = folder / "training.json"
    if not file.exists():
        return write_whole(file, json.dumps(settings, indent=1).encode())
    if json.loads(file.read_bytes()) != settings:
        raise ValueError(
            f"{folder} holds a training with other settings: choose another folder, or the same settings"
        )
    return None


def _newest(folder: Path) -> int:
    """How many iterations are done: those whose folder is whole, which its task, written last, tells."""
    whole = [p.parent.name.removeprefix("iteration-") for p in folder.glob("iteration-*/task.json")]
    return max(map(int, whole), default=0)


def _write_line(file: Path, line: dict[str, float]) -> None:
    before = file.read_text().splitlines() if file.exists() else []
    kept = [one for one in before if json.loads(one)["iteration"] < line["iteration"]]
    write_whole(file, "".join(one + "\n" for one in [*kept, json.dumps(line)]).encode())


def warn_no_signal(task: Task, by: str) -> None:
    """Warn where low expected regret cannot be learnt, because every policy has the same."""
    if by != "squared" and favours_no_action(task):
        warnings.warn(
            f"these losses ({task.losses}) favour no action: every policy has the same expected regret, so choosing "
            "by regret carries no signal. What does: squared regret, biased or structured losses, opponents that react",
            stacklevel=3,
        )
