"""Models from folders, and from the hub where there is one; never code of others, never pickled weights."""

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from regrax.llm._task import Task

DTYPES = ("float32", "float64", "bfloat16", "float16")


class Loaded(NamedTuple):
    """A model, its tokenizer, and the task it was trained on, if its folder has one."""

    model: Any
    tokenizer: Any
    task: Task | None


def load_model(path: str | Path, *, device: str = "cpu", dtype: str = "float32") -> Loaded:
    """The model in a folder, or of this name on the hub, ready to play (dropout off)."""
    folder = Path(path)
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    _check_place(str(path), folder)
    here = {"local_files_only": folder.is_dir(), "trust_remote_code": False}
    with quiet():
        tokenizer = _opened(path, "tokenizer", AutoTokenizer, **here)
        model = _opened(
            path,
            "model",
            AutoModelForCausalLM,
            dtype=getattr(torch, dtype),
            use_safetensors=True,
            **here,
        )
    task = folder / "task.json"
    return Loaded(
        _placed(model, device).eval(), tokenizer, Task.load(task) if task.is_file() else None
    )


def _check_place(path: str, folder: Path) -> None:
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ValueError(f"{path} holds no model: it has no config.json")
    elif path.count("/") != 1 or path.startswith((".", "/")) or path.endswith("/"):
        raise ValueError(f"{path} is no folder, and no name on the hub, which is owner/name")


def _opened(path: str | Path, what: str, kind: Any, **options: Any) -> Any:
    try:
        return kind.from_pretrained(str(path), **options)
    except (
        Exception
    ) as error:  # transformers and its helpers raise anything here, network errors among it
        first = str(error).strip().split("\n")[0].rstrip(".")
        if not Path(path).is_dir():
            raise ValueError(
                f"{path} is no folder here, and the hub did not give its {what}: without a network, name a folder"
            ) from error
        raise ValueError(f"{path} holds no {what} that can be read: {first}") from error


def _placed(model: Any, device: str) -> Any:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {device!r} is not there: {str(error).splitlines()[0]}") from None


def save_model(folder: str | Path, model: Any, tokenizer: Any, task: Task) -> None:
    """Write a folder that plain `transformers` reads, and the task beside it."""
    with quiet():
        model.save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))
    task.save(Path(folder) / "task.json")


@contextlib.contextmanager
def quiet() -> Any:
    """Without the progress bars and reports of `transformers`."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
