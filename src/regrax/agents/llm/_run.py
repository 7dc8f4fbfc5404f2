"""What the trainings of language models keep in their folders, besides what every run keeps there.

FOLDER/training.json    the settings, the task, and which model it began with
FOLDER/model            the trained model, read by plain `transformers`, and its task: written last

and one that goes in iterations, each a function from a model to a better one

FOLDER/iteration-I      the model after I iterations: the newest one
FOLDER/metrics.jsonl    a line per iteration
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from regrax.agents.llm._load import load_model, save_model
from regrax.agents.llm._losses import draw_losses
from regrax.agents.llm._task import Task
from regrax.agents.llm._transcript import check_told
from regrax.experiments import OnProgress, Progress, RunFolder

Improve = Callable[[Any, int], tuple[Any, dict[str, float]]]
"""From a model and the number of the iteration to the model after it, and what was measured."""
SAMPLED_NUMBERS = 4096  # numbers of each parameter that tell models apart


@dataclass(frozen=True)
class Run:
    """A training of a language model in a folder.

    Args:
        method: its name.
        model: what to begin with.
        tokenizer: its tokenizer.
        task: what it plays.
        config: how.
        folder: one process's at a time, and of one training of one model.
        on_progress: called at the start, and as it goes on.
        resume: whether a training that the folder holds is continued; without it, it is refused.
    """

    method: str
    model: Any
    tokenizer: Any
    task: Task
    config: Any
    folder: str | Path
    on_progress: OnProgress
    resume: bool

    def finish(self, work: Callable[[RunFolder], Any], passing: Sequence[str]) -> Any:
        """Return the trained model in the folder, or train it with `work` and save it there.

        `passing` names the files and folders that `work` resumes from; they are removed at the end.
        """
        check_told(self.model, self.tokenizer, self.task, draw_losses(self.task, 1, seed=0))
        kept = RunFolder(self.folder)
        whole = kept.path / "model"
        with kept.held(self._settings(), self.resume):
            trained = load_like(whole, self.model) if is_whole(whole) else work(kept)
            if not is_whole(whole):
                save_model(whole, trained, self.tokenizer, self.task)
            for name in passing:
                path = kept.path / name
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        return trained

    def iterate(self, improve: Improve) -> Any:
        """Improve the model `config.iterations` times, from where the folder has got to."""
        total = self.config.iterations
        names = [f"iteration-{number}" for number in range(1, total + 1)]

        def work(folder: RunFolder) -> Any:
            places = [folder.path / name for name in names]
            done = max((n for n, place in enumerate(places, 1) if is_whole(place)), default=0)
            model = load_like(places[done - 1], self.model) if done else self.model
            folder.cut("iteration", done)
            self.on_progress(Progress(self.method, done, total))
            for number in range(done, total):
                began = time.monotonic()
                model, measured = improve(model, number)
                seconds = round(time.monotonic() - began, 3)
                folder.log({"iteration": number + 1, **measured, "seconds": seconds})
                save_model(places[number], model, self.tokenizer, self.task)
                if number:
                    shutil.rmtree(places[number - 1], ignore_errors=True)
                note = f"regret {measured['regret']:.3f}"
                self.on_progress(Progress(self.method, number + 1, total, note))
            return model

        return self.finish(work, names)

    def _settings(self) -> dict[str, Any]:
        """The settings that a folder belongs to."""
        count = sum(parameter.numel() for parameter in self.model.parameters())
        base = f"{self.model.config.model_type} {count} {fingerprint(self.model)}"
        told = json.loads(self.task.to_json())
        return {"method": self.method, **asdict(self.config), **told, "base_model": base}


def fingerprint(model: Any) -> str:
    """A short name of a model's numbers, from evenly spaced ones of every parameter.

    >>> one = torch.nn.Linear(2, 2)
    >>> before = fingerprint(one)
    >>> _ = one.weight.data.add_(1)
    >>> before == fingerprint(one)
    False
    """
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        numbers = parameter.detach().flatten()
        sample = numbers[:: -(-len(numbers) // SAMPLED_NUMBERS)].contiguous().cpu()
        digest.update(name.encode() + sample.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]


def is_whole(folder: Path) -> bool:
    """Whether a folder holds a saved model, which its task, written last, tells."""
    return (folder / "task.json").exists()


def load_like(folder: Path, model: Any) -> Any:
    """The model in a folder, with the numbers and on the device of another."""
    dtype = str(model.dtype).removeprefix("torch.")
    return load_model(folder, dtype=dtype, device=str(model.device)).model
