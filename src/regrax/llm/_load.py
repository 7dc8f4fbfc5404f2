"""Models from folders, and from the hub where there is one; never code of others, never pickled weights."""

import contextlib
import os
import socket
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

import huggingface_hub
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from regrax.llm._config import one_of
from regrax.llm._task import Task

DTYPES = ("float32", "float64", "bfloat16", "float16")
PARTS = {"model": "config.json", "weights": "*.safetensors", "tokenizer": "tokenizer* or vocab*"}
"""What a folder must hold."""
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
MAX_REASON = 200  # characters of another library's error


class Loaded(NamedTuple):
    """A model, its tokenizer, and the task it was trained on, if its folder has one."""

    model: Any
    tokenizer: Any
    task: Task | None


def load_model(path: str | Path, *, device: str = "cpu", dtype: str = "float32") -> Loaded:
    """The model in a folder, or of this name on the hub, ready to play (dropout off)."""
    folder = Path(path)
    one_of("dtype", dtype, DTYPES)
    _check_place(str(path), folder)
    here = {"local_files_only": folder.is_dir() or _hub_is_away(), "trust_remote_code": False}
    with quiet():
        tokenizer = _opened(path, "tokenizer", AutoTokenizer, **here)
        numbers = {"dtype": getattr(torch, dtype), "use_safetensors": True}
        model = _opened(path, "model", AutoModelForCausalLM, **numbers, **here)
    file = folder / "task.json"
    task = Task.load(file) if file.is_file() else None
    return Loaded(_placed(model, device).eval(), tokenizer, task)


def _check_place(path: str, folder: Path) -> None:
    if folder.is_dir():
        for what, patterns in PARTS.items():
            if not any(any(folder.glob(pattern)) for pattern in patterns.split(" or ")):
                raise ValueError(f"{path} holds no {what}: it has no {patterns}")
    elif path.count("/") != 1 or path.startswith((".", "/")) or path.endswith("/"):
        raise ValueError(f"{path} is no folder, and no name on the hub, which is owner/name")


def _opened(path: str | Path, what: str, kind: Any, **options: Any) -> Any:
    """What a folder, the cache or the hub has; `transformers` and its helpers raise anything, in several lines."""
    try:
        return kind.from_pretrained(str(path), **options)
    except Exception as error:
        if not Path(path).is_dir():
            raise ValueError(
                f"{path} is no folder here, and the hub did not give its {what}: without a network, name a folder"
            ) from error
        said = textwrap.shorten(str(error), MAX_REASON, placeholder=" ...")
        raise ValueError(f"{path} holds no {what} that can be read: {said}") from error


def _hub_is_away() -> bool:
    """Whether the hub has no address here, so that nobody waits for what cannot come."""
    if set(PROXIES) & set(os.environ):
        return False
    try:
        return not socket.getaddrinfo(urlparse(huggingface_hub.constants.ENDPOINT).hostname, 443)
    except OSError:
        return True


def _placed(model: Any, device: str) -> Any:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {device!r} is not there: {str(error).splitlines()[0]}") from None


def save_model(folder: str | Path, model: Any, tokenizer: Any, task: Task) -> None:
    """Write a folder that plain `transformers` reads, and the task beside it.

    Args:
        folder: to write.
        model: with `save_pretrained`.
        tokenizer: with `save_pretrained`.
        task: written beside it as `task.json`.
    """
    with quiet():
        model.save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))
    task.save(Path(folder) / "task.json")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and reports of `transformers` and of the hub."""
    loggers = transformers.utils.logging, huggingface_hub.utils.logging
    with contextlib.ExitStack() as after:
        for one in loggers:
            after.callback(one.set_verbosity, one.get_verbosity())
            one.set_verbosity_error()
        if loggers[0].is_progress_bar_enabled():
            after.callback(loggers[0].enable_progress_bar)
            loggers[0].disable_progress_bar()
        yield
