r"""`train`: gradient descent on the differentiable regret of a language model, in a folder, continued bit by bit.

    FOLDER/training.json        the settings, the task, and which model it began with
    FOLDER/state.safetensors    the newest state: trained parameters, moments of Adam, the step; gone at the end
    FOLDER/metrics.jsonl        a line per step: step, loss, KL, seconds
    FOLDER/model                the trained model, read by plain `transformers` (LoRA merged into it)
    FOLDER/adapter              of LoRA, its own parameters

A run that was killed and continued ends with the same bits as one that was not. Nothing is pickled.
"""

import math
import time
import warnings
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from regrax._files import write_whole
from regrax.experiments import OnProgress, Progress, RunFolder, ignore
from regrax.llm._config import TrainConfig
from regrax.llm._context import check_task
from regrax.llm._descent import Descent, Step
from regrax.llm._load import save_model
from regrax.llm._lora import merged
from regrax.llm._losses import distribution_of
from regrax.llm._run import is_whole, load_like, run_settings
from regrax.llm._task import Task
from regrax.training import Gaussian

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
    check_task(model, tokenizer, task)
    _warn_hindsight(config, task)
    kept = RunFolder(folder)
    with kept.held(run_settings(config.objective, model, task, config), resume):
        if is_whole(kept.path / "model"):
            (kept.path / STATE).unlink(missing_ok=True)  # of a process killed when all was done
            return load_like(kept.path / "model", model)
        return _Run(Descent(model, tokenizer, task, config), kept, save_every).finish(on_progress)


def _warn_hindsight(config: TrainConfig, task: Task) -> None:
    source = distribution_of(task)
    plain = isinstance(source, Gaussian) and source.covariance is None
    if config.objective == "hindsight" and not plain:
        warnings.warn(
            "the hindsight loss is squared regret on average for standard Gaussian losses only: "
            "on others it trains to forecast the best action",
            stacklevel=3,
        )


class _Run:
    """A descent and its files."""

    def __init__(self, descent: Descent, folder: RunFolder, save_every: float) -> None:
        self.descent, self.kept, self.save_every = descent, folder, save_every
        self.state, self.seconds, self.saved = folder.path / STATE, 0.0, time.monotonic()

    def finish(self, on_progress: OnProgress) -> Any:
        """Train to the end, from where the folder has got to, and save the model."""
        descent, steps = self.descent, self.descent.config.steps
        self._resume()
        on_progress(Progress("train", descent.done, steps))
        while descent.done < steps:
            step = self._advance()
            on_progress(Progress("train", descent.done, steps, f"loss {step.loss:.3f}"))
        return self._save_model()

    def _resume(self) -> None:
        """Read the newest state, if there is one; metrics after it are dropped."""
        if self.state.exists():
            arrays, about = _read_state(self.state)
            self.seconds = float(about["seconds"])
            self.descent.restore(arrays, int(about["step"]))
        self.kept.cut("step", self.descent.done)

    def _advance(self) -> Step:
        began = time.monotonic()
        step = self.descent.step()
        if not math.isfinite(step.loss):
            raise ValueError(
                f"the loss became {step.loss} at step {self.descent.done}: try a smaller rate"
            )
        self.seconds += time.monotonic() - began
        line = {"step": self.descent.done, **step._asdict(), "seconds": round(self.seconds, 3)}
        self.kept.log(line)
        if time.monotonic() - self.saved >= self.save_every:
            self._save()
        return step

    def _save(self) -> None:
        """Write the state whole or not at all."""
        about = {"step": str(self.descent.done), "seconds": str(self.seconds)}
        write_whole(self.state, safetensors.torch.save(self.descent.state(), about))
        self.saved = time.monotonic()

    def _save_model(self) -> Any:
        """Write the trained model; the state is no longer needed."""
        descent, rank = self.descent, self.descent.config.lora
        if rank:
            descent.model.save_pretrained(str(self.kept.path / "adapter"))
        trained = merged(descent.model, rank)
        save_model(self.kept.path / "model", trained, descent.tokenizer, descent.task)
        self.state.unlink(missing_ok=True)
        return trained


def _read_state(file: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safetensors.safe_open(file, "pt") as opened:
            return {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata()  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise ValueError(f"{file} is damaged: {error}") from None
