r"""`train`: gradient descent on the differentiable regret of a language model, in a folder, continued bit by bit.

    FOLDER/training.json        the settings, the task, and which model it began with
    FOLDER/state.safetensors    the newest state: trained parameters, moments of Adam, the step; gone at the end
    FOLDER/metrics.jsonl        a line per step: step, loss, KL, seconds
    FOLDER/model                the trained model, read by plain `transformers` (LoRA merged into it)
    FOLDER/adapter              of LoRA, its own parameters

A run that was killed and continued ends with the same bits as one that was not. Nothing is pickled.
"""

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from regrax._files import write_whole
from regrax.agents.llm._config import TrainConfig
from regrax.agents.llm._descent import Descent
from regrax.agents.llm._losses import is_standard_gaussian
from regrax.agents.llm._run import Run
from regrax.agents.llm._task import Task
from regrax.agents.llm._trainers import merged
from regrax.experiments import OnProgress, Progress, RunFolder, ignore

STATE = "state.safetensors"


def train(
    model: Any,
    tokenizer: Any,
    task: Task,
    config: TrainConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    save_every: float = 30.0,
    resume: bool = True,
) -> Any:
    """The trained model, from `folder` if it is finished there, else trained there, from where a run before stopped.

    Args:
        model: a causal language model; training changes it in place, so load it anew to go on with a folder.
        tokenizer: its tokenizer.
        task: what it is trained on; with full feedback and without answers, which one pass can read.
        config: how.
        folder: where settings, state, metrics and the trained model go; one process's at a time.
        on_progress: called after every step.
        save_every: seconds from one saved state to the next, at least.
        resume: whether a training that the folder holds is continued; without it, it is refused.
    """
    if task.answers:
        raise ValueError(
            "the differentiable losses need transcripts of losses only: feedback full, answers false; use rmft or grpo"
        )
    _warn_hindsight(config, task)
    run = Run(config.objective, model, tokenizer, task, config, folder, on_progress, resume)
    return run.finish(partial(_descend, run, save_every), [STATE])


def _warn_hindsight(config: TrainConfig, task: Task) -> None:
    if config.objective == "hindsight" and not is_standard_gaussian(task):
        warnings.warn(
            "the hindsight loss is squared regret on average for standard Gaussian losses only: "
            "on others it trains to forecast the best action",
            stacklevel=3,
        )


def _descend(run: Run, save_every: float, folder: RunFolder) -> Any:
    """Train to the end, from where the folder has got to; metrics after its state are dropped."""
    descent = Descent(run.model, run.tokenizer, run.task, run.config)
    state, config, seconds = folder.path / STATE, run.config, 0.0
    if state.exists():
        arrays, step, seconds = _read_state(state)
        descent.restore(arrays, step)
    folder.cut("step", descent.done)
    run.on_progress(Progress("train", descent.done, config.steps))
    saved = time.monotonic()
    while descent.done < config.steps:
        began = time.monotonic()
        step = descent.step()
        seconds += time.monotonic() - began
        folder.log({"step": descent.done, **step._asdict(), "seconds": round(seconds, 3)})
        if time.monotonic() - saved >= save_every:
            about = {"step": str(descent.done), "seconds": str(seconds)}
            write_whole(state, safetensors.torch.save(descent.state(), about))
            saved = time.monotonic()
        run.on_progress(Progress("train", descent.done, config.steps, f"loss {step.loss:.3f}"))
    if config.lora:
        descent.model.save_pretrained(str(folder.path / "adapter"))
    return merged(descent.model, config.lora)


def _read_state(file: Path) -> tuple[dict[str, Tensor], int, float]:
    """The arrays of a state, the steps it is after, and the seconds they took."""
    try:
        with safetensors.safe_open(file, "pt") as opened:
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
            about = opened.metadata() or {}
        return arrays, int(about["step"]), float(about["seconds"])
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{file} is damaged: {error}") from None
