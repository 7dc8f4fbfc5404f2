"""Models from folders, and from the hub where there is one; never code of others, never pickled weights.

A folder is not trusted: weights are read from safetensors in it and from nowhere else, every parameter must be there,
and its tokenizer is tried first where it can use ten seconds and 1 GiB at most.
"""

import contextlib
import errno
import json
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
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer

from regrax import _checks as checks
from regrax._files import MAX_TEXT_BYTES, read_limited
from regrax.agents.llm._bounded import TOKENIZE, bounded
from regrax.agents.llm._config import one_of
from regrax.agents.llm._language import HELD_OUT
from regrax.agents.llm._scenarios import SCENARIOS, scenario
from regrax.agents.llm._task import Task

DTYPES = ("float32", "float64", "bfloat16", "float16")
PARTS = {"model": "config.json", "weights": "*.safetensors", "tokenizer": "tokenizer* or vocab*"}
"""What a folder must hold."""
TEXTS = (".jinja", ".json", ".model", ".txt")
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
MAX_REASON = 200  # characters of another library's error
MAX_SHOWN = 3  # parameters that an error names


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
    file = folder / "task.json"
    task = Task.load(file) if file.is_file() else None
    if folder.is_dir():
        _check_files(folder)
        _try_tokenizer(folder, task)
    here = {"local_files_only": folder.is_dir() or _hub_is_away(), "trust_remote_code": False}
    with quiet():
        tokenizer = _opened(path, "tokenizer", AutoTokenizer, **here)
        more = {"dtype": getattr(torch, dtype), "use_safetensors": True}
        more["output_loading_info"] = True
        model, info = _opened(path, "model", AutoModelForCausalLM, **more, **here)
    _check_parameters(path, info)
    return Loaded(_placed(model, device).eval(), tokenizer, task)


def _check_place(path: str, folder: Path) -> None:
    if folder.is_dir():
        for what, patterns in PARTS.items():
            if not any(any(folder.glob(pattern)) for pattern in patterns.split(" or ")):
                raise ValueError(f"{path} holds no {what}: it has no {patterns}")
    elif path.count("/") != 1 or path.startswith((".", "/")) or path.endswith("/"):
        raise ValueError(f"{path} is no folder, and no name on the hub, which is owner/name")


def _check_files(folder: Path) -> None:
    """Raise ValueError if the folder names weights that are not safetensors in it."""
    if (folder / "adapter_config.json").exists():
        raise ValueError(f"{folder} holds an adapter: merge it into its model, and save that")
    inside = folder.resolve()
    for file in folder.rglob("*"):
        if not file.is_file() and not file.is_dir():
            raise ValueError(f"{file} must be a regular file")
        if file.suffix in TEXTS and file.stat().st_size > MAX_TEXT_BYTES:
            raise ValueError(f"{file} must have at most {MAX_TEXT_BYTES:,} bytes, got more")
        if file.is_symlink() and not file.resolve().is_relative_to(inside):
            raise ValueError(
                f"{file} is a link out of the folder: copy the folder with what it links to (cp -rL)"
            )
    for index in folder.rglob("*.safetensors.index.json"):
        for name in _shards(index):
            is_name = isinstance(name, str) and Path(name).name == name
            if not is_name or not name.endswith(".safetensors"):
                raise ValueError(
                    f"{index} must name safetensors files in its folder, got {name!r:.100}"
                )
            if not (folder / name).is_file():
                raise ValueError(f"{index} names {name}, but it is not in the folder")


def _shards(index: Path) -> list[Any]:
    try:
        return list(json.loads(read_limited(index))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{index} is damaged: it must be JSON with a weight_map") from None


def _try_tokenizer(folder: Path, task: Task | None) -> None:
    """Raise ValueError if the tokenizer cannot read the words of a task within its limits."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        return
    texts = [HELD_OUT, *(scenario(name).opening_text() for name in SCENARIOS)]
    if task is not None:
        texts += [task.opening_text(), task.ask_text(0), task.tell_text(0, [0.5] * task.d, 0)]
        texts += map(task.answer_text, range(task.d))
    try:
        bounded(TOKENIZE, str(file), texts)
    except ValueError as error:
        raise ValueError(f"{folder} holds no tokenizer that can be read: {_short(error)}") from None


def _check_parameters(path: str | Path, info: dict[str, Any]) -> None:
    missing, others = (sorted(info.get(f"{kind}_keys", ())) for kind in ("missing", "unexpected"))
    if missing:
        unknown = f", and holds {_listed(others)}, which it does not know" if others else ""
        raise ValueError(f"{path} lacks parameters of its model: {_listed(missing)}{unknown}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def _short(error: Exception) -> str:
    return textwrap.shorten(str(error), MAX_REASON, placeholder=" ...")


def _opened(path: str | Path, what: str, kind: Any, **options: Any) -> Any:
    """What a folder, the cache or the hub has; `transformers` and its helpers raise anything, in several lines."""
    try:
        return kind.from_pretrained(str(path), **options)
    except Exception as error:
        if not Path(path).is_dir():
            raise ValueError(
                f"{path} is no folder here, and the hub did not give its {what}: without a network, name a folder"
            ) from error
        raise ValueError(f"{path} holds no {what} that can be read: {_short(error)}") from error


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
    checks.instance("folder", folder, str | Path, "a path")
    checks.instance("task", task, Task, "a Task")
    for name, part in (("model", model), ("tokenizer", tokenizer)):
        if not hasattr(part, "save_pretrained"):
            raise ValueError(f"{name} must have save_pretrained, got {type(part).__name__}")
    with quiet():
        try:
            model.save_pretrained(str(folder))
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error), str(folder)) from None
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
