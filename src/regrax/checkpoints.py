r"""Save and load models and learners: one safetensors file each, with a JSON header and no pickle.

    DIR/seed-0.safetensors    the parameters, named as in the model: "values", "blocks[0].queries", ...
                              metadata "regrax": {"format": ..., "model": ..., "settings": ..., "sha256": ..., ...}

A learner without trained parameters is stored as its spec. A damaged file, or one that is not a checkpoint, raises a
ValueError with the reason before any model is built. A file can name a model or learner of your own only after you have
imported the module that defines it, or passed its name.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jaxtyping import Array, Float, PyTree
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from regrax import _checks as checks
from regrax._files import write_whole
from regrax.attention import MODELS, SwapAttention, TrainableLearner
from regrax.domains import Domain
from regrax.learners import BanditLearner, Key, Learner
from regrax.specs import import_own, parse_learner

__all__ = ["Checkpoint", "Saved", "load_model", "save_model"]

FORMAT = "regrax checkpoint 2"
MAX_SETTING = 10_000
LEARNER = "learner"  # in place of a model's name
Tree = TypeVar("Tree")
Header = TypeVar("Header")


class Contents(NamedTuple):
    """Header and arrays of a checkpoint file."""

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Saved(NamedTuple):
    """A loaded model and the header it was saved with."""

    model: Any  # a `Learner`, trained or not
    about: dict[str, Any]


def save_model(path: str | Path, model: Learner, **about: Any) -> None:
    """Write a model or a learner to `path.safetensors`, with `about` in its header.

    >>> import jax, tempfile
    >>> from regrax.attention import LinearAttention
    >>> path = Path(tempfile.mkdtemp()) / "layer"
    >>> save_model(path, LinearAttention.hedge(2, 0.5), note="by hand")
    >>> load_model(path).model.values.tolist()
    [[-0.5, -0.0], [-0.0, -0.5]]
    >>> load_model(path).about["note"]
    'by hand'
    """
    checks.instance("path", path, str | Path, "a path")
    checks.instance("model", model, Learner, "a trained model or a learner")
    if isinstance(model, TrainableLearner):
        header = {"model": model.name, "settings": model.settings}
        write_whole(file_of(path), pack(model, header | about))
        return
    try:
        if not eqx.tree_equal(parse_learner(str(model)), model):
            raise ValueError("its spec describes another learner")
    except ValueError as error:
        raise ValueError(
            f"{model} cannot be saved: {error} (specs.register lets specs name your own learners)"
        ) from None
    header = {"model": LEARNER, "settings": {"spec": str(model)}}
    write_whole(file_of(path), pack({}, header | about))


def load_model(path: str | Path, module: str | None = None) -> Saved:
    """Load the model or learner saved at `path`, given with or without its suffix, in jax's default precision.

    Args:
        path: path of the file.
        module: a module of your own to import first, which defines the model or registers the learner.

    >>> import tempfile
    >>> from regrax.attention import SwapAttention
    >>> path = Path(tempfile.mkdtemp()) / "heads"
    >>> save_model(path, SwapAttention.hedge(3, 0.4))
    >>> str(load_model(path).model)
    'swap_attention(3)'
    """
    import_own(module)
    file = file_of(path)
    return unpack_model(read_whole(file), file)


class Checkpoint(Learner):
    """A learner that plays a model or learner read from `path.safetensors`.

    Args:
        path: path of the file, with or without the suffix.
        calibrated: scale the heads of a `SwapAttention` for play, as models trained on Gaussian blocks require.
        module: a module of your own that defines the model; see `load_model`.

    >>> import jax, tempfile
    >>> import jax.numpy as jnp
    >>> from regrax.attention import LinearAttention
    >>> from regrax.learners import rollout
    >>> path = Path(tempfile.mkdtemp()) / "layer"
    >>> save_model(path, LinearAttention.hedge(2, 1.0))
    >>> rollout(Checkpoint(str(path)), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]
    """

    path: str = eqx.field(static=True)
    calibrated: bool = eqx.field(static=True)
    module: str | None = eqx.field(static=True)
    model: Learner

    def __init__(self, path: str, calibrated: bool = False, module: str | None = None) -> None:
        if not isinstance(path, str) or not isinstance(calibrated, bool):
            raise ValueError(
                'checkpoint takes a path in quotes and calibrated=true or false, as in checkpoint("runs/seed-0")'
            )
        model = load_model(path, module).model
        if isinstance(model, BanditLearner):
            raise ValueError(f"{path} is {model}: write its spec instead, so that it can draw")
        if calibrated:
            if not isinstance(model, SwapAttention):
                raise ValueError(
                    f"calibrated requires a swap_attention model, but {path} is {model}"
                )
            model = model.calibrated()
        self.path = path
        self.calibrated = calibrated
        self.module = module
        self.model = model

    @property
    def domain(self) -> Domain:
        return self.model.domain

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> PyTree:
        return self.model.init(actions, rounds, key=key)

    def policy(self, state: PyTree) -> Float[Array, "d"]:
        return self.model.policy(state)

    def update(self, state: PyTree, feedback: Float[Array, "d"]) -> PyTree:
        return self.model.update(state, feedback)

    def __str__(self) -> str:
        options = ", calibrated=true" if self.calibrated else ""
        if self.module is not None:
            options += f", module={json.dumps(self.module)}"
        return f"checkpoint({json.dumps(self.path)}{options})"


def file_of(path: str | Path) -> Path:
    """Return the path of a checkpoint file, adding the suffix if it is missing."""
    path = Path(path)
    if not path.name:
        raise ValueError(f"a checkpoint path must name a file, got {str(path)!r}")
    return path if path.suffix == ".safetensors" else path.with_name(f"{path.name}.safetensors")


def pack(tree: PyTree, about: dict[str, Any]) -> bytes:
    """Serialise a tree's arrays as a safetensors file whose header contains `about` and a checksum."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named_leaves(tree).items()}
    header = {"format": FORMAT, **about, "sha256": _checksum(save(arrays))}
    return save(arrays, {"regrax": json.dumps(header, allow_nan=False)})


def read_whole(file: Path) -> bytes:
    """Read a file after checking its size against its header."""
    with _errors_of(file), safe_open(file, "np"):  # reads the header only
        return file.read_bytes()


def read_contents(data: bytes, file: Path) -> Contents:
    """Parse a file's bytes; raise ValueError unless they are a complete regrax checkpoint."""
    with _errors_of(file):
        arrays = load(data)
        header = json.loads(data[8 : _arrays_start(data)])
        about = json.loads(header["__metadata__"]["regrax"])
        form = about["format"]
        checksum = about["sha256"]
    if form != FORMAT:
        raise ValueError(f"{file} must have the format {FORMAT!r}, got {str(form)[:40]!r}")
    if checksum != _checksum(data):
        raise ValueError(f"{file} is damaged: its checksum does not match")
    return Contents(about, arrays)


def parse_about(file: Path, about: dict[str, Any], kind: type[Header]) -> Header:
    """Convert a header to the fields of `kind`; raise ValueError if one is missing or has the wrong type."""
    try:
        fields = msgspec.convert(about, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{file} is damaged: {error} in its header") from None
    for name, value in msgspec.to_builtins(fields).items():
        if about.get(name, value) != value:
            raise ValueError(f"{file} is damaged: {name} in its header has unknown fields")
    return fields


def unpack_model(data: bytes, file: Path) -> Saved:
    """Build the model from the bytes of `file`."""
    about, arrays = read_contents(data, file)
    name = about.get("model")
    settings = about.get("settings")
    if name == LEARNER and isinstance(settings, dict):
        return Saved(parse_learner(settings.get("spec", "")), about)
    if not isinstance(name, str) or name not in MODELS or not isinstance(settings, dict):
        raise ValueError(f"{file} must contain one of {', '.join(MODELS)}, got {name!r}")
    largest = max([len(arrays), *(max(array.shape, default=1) for array in arrays.values())])
    if not MODELS[name].__module__.startswith("regrax."):
        largest = max(largest, MAX_SETTING)  # its settings may be unrelated to its arrays
    for setting, value in settings.items():
        if isinstance(value, int) and value > largest:  # building it could take forever
            raise ValueError(
                f"{file} does not match its header: {setting} = {value}, but its largest array axis is {largest}"
            )
    try:
        template = eqx.filter_eval_shape(MODELS[name], **settings, key=jax.random.key(0))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} has invalid settings for a {name}: {error}") from None
    return Saved(fill(template, arrays, file), about)


def fill(template: Tree, arrays: dict[str, np.ndarray], file: Path) -> Tree:
    """Fill `template` with a file's arrays, in the template's precision; raise ValueError if names or shapes differ."""
    leaves = _named_leaves(template)
    expected = {name: leaf.shape for name, leaf in leaves.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    for name in sorted(expected | shapes):
        if expected.get(name) != shapes.get(name):
            raise ValueError(
                f"{file} does not match its header: {name} must have shape {expected.get(name)}, got {shapes.get(name)}"
            )
    filled = [jnp.asarray(arrays[name], leaf.dtype) for name, leaf in leaves.items()]
    return jax.tree.unflatten(jax.tree.structure(template), filled)


@contextlib.contextmanager
def _errors_of(file: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{file} is damaged or is not a regrax checkpoint") from error


def _arrays_start(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")


def _checksum(data: bytes) -> str:
    return hashlib.sha256(memoryview(data)[_arrays_start(data) :]).hexdigest()


def _named_leaves(tree: PyTree) -> dict[str, Any]:
    """Return the leaves keyed by path, as in `blocks[0].queries`."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves}
