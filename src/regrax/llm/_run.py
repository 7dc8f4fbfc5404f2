"""What the trainings of language models keep in their folders, besides what every run keeps there.

FOLDER/training.json    the settings, the task, and which model it began with
FOLDER/model            the trained model, read by plain `transformers`, and its task: written last
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from regrax.llm._load import load_model
from regrax.llm._task import Task

SAMPLED_NUMBERS = 4096  # numbers of each parameter that tell models apart


def run_settings(method: str, model: Any, task: Task, config: Any) -> dict[str, Any]:
    """The settings that a folder belongs to."""
    told = json.loads(task.to_json())
    count = sum(parameter.numel() for parameter in model.parameters())
    base = f"{model.config.model_type} {count} {fingerprint(model)}"
    return {"method": method, **asdict(config), **told, "base_model": base}


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
