r"""Trained models on disk: one safetensors file each, whose metadata says what it is; never pickle.

    DIR/seed-0.safetensors    the parameters, named as in the model: "values", "blocks[0].queries", ...
                              metadata: {"format": ..., "model": ..., "settings": ..., "sha256": ..., ...} as JSON

Before anything is built the file's size and the sizes in its description are held against its header; a damaged or a
foreign file is refused with the reason.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jaxtyping import Array, Float, PyTree
from safetensors import SafetensorError
from safetensors.numpy import load, save

from regrax import _checks as checks
from regrax._files import checkpoint_file as file_of, write_whole
from regrax.attention import MODELS, SwapAttention, TrainableLearner
from regrax.domains import Domain
from regrax.learners import Key, Learner

__all__ = ["Checkpoint", "Saved", "load_model", "save_model"]

FORMAT = "regrax checkpoint 2"
MAX_HEADER_BYTES = 2**24
Tree = TypeVar("Tree")
Described = TypeVar("Described")


class Saved(NamedTuple):
    """What a checkpoint holds: the model, and the description it was saved with."""

    model: TrainableLearner
    about: dict[str, Any]


class Header(NamedTuple):
    """The beginning of a file: its description, the shape of every array, and where the arrays begin."""

    about: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    start: int


def save_model(path: str | Path, model: TrainableLearner, **about: Any) -> None:
    """Write `path.safetensors`; `about` goes into the description.

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
    checks.instance("model", model, TrainableLearner, "a trained model")
    what = {"model": model.name, "settings": model.settings}
    write_whole(file_of(path), pack(model, what | about))


def load_model(path: str | Path) -> Saved:
    """The model saved at `path` (with or without its suffix), in jax's default precision.

    >>> import tempfile
    >>> from regrax.attention import SwapAttention
    >>> path = Path(tempfile.mkdtemp()) / "heads"
    >>> save_model(path, SwapAttention.hedge(3, 0.4))
    >>> str(load_model(path).model)
    'swap_attention(3)'
    """
    file = file_of(path)
    return unpack_model(read_whole(file), file)


class Checkpoint(Learner):
    """A trained model read from `path.safetensors`, ready to play.

    `calibrated` scales the heads of the swap architecture for play, which training on Gaussian blocks asks for.

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
    model: TrainableLearner

    def __init__(self, path: str, calibrated: bool = False) -> None:
        if not isinstance(path, str) or not isinstance(calibrated, bool):
            raise ValueError(
                'checkpoint takes a path in quotes and calibrated=true or false, as in checkpoint("runs/seed-0")'
            )
        self.path, self.calibrated = path, calibrated
        self.model = model = load_model(path).model
        if isinstance(model, SwapAttention) and calibrated:
            self.model = model.calibrated()
        elif calibrated:
            raise ValueError(f"only the swap architecture is calibrated, but {path} holds {model}")

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
        scaled = ", calibrated=true" if self.calibrated else ""
        return f"checkpoint({json.dumps(self.path)}{scaled})"


def pack(tree: PyTree, about: dict[str, Any]) -> bytes:
    """The arrays of a tree as one safetensors file with a description, which holds their checksum."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named(tree).items()}
    plain = save(arrays)
    digest = hashlib.sha256(plain[8 + int.from_bytes(plain[:8], "little") :]).hexdigest()
    about = {"format": FORMAT, **about, "sha256": digest}
    return save(arrays, {"regrax": json.dumps(about, allow_nan=False)})


def read_whole(file: Path) -> bytes:
    """The bytes of a file, once its size is found to be what its header says."""
    with file.open("rb") as held:
        first = held.read(8)
        header = held.read(min(int.from_bytes(first, "little"), MAX_HEADER_BYTES))
        read_header(first + header, file, file.stat().st_size)
        return first + header + held.read()


def read_header(data: bytes, file: Path, size: int) -> Header:
    """The header of a file of `size` bytes that begins with `data`; raises ValueError unless it is one of ours."""
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        if start > 8 + MAX_HEADER_BYTES or len(data) < start:
            raise ValueError
        header = json.loads(data[8:start])
        about = json.loads(header.pop("__metadata__", {}).get("regrax", "null"))
        shapes = {name: tuple(one["shape"]) for name, one in header.items()}
        end = start + max((one["data_offsets"][1] for one in header.values()), default=0)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{file} is damaged, or no safetensors file") from None
    if about is None and file.with_suffix(".json").exists():
        raise ValueError(
            f"{file} and its .json are a pair of files as regrax once wrote, which it no longer reads: train it again"
        )
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        got = about.get("format") if isinstance(about, dict) else about
        raise ValueError(f"{file} must be of the format {FORMAT!r}, got {str(got)[:40]!r}")
    if size != end:
        raise ValueError(f"{file} is damaged: it must have {end} bytes, got {size}")
    return Header(about, shapes, start)


def described(file: Path, about: dict[str, Any], kind: type[Described]) -> Described:
    """The fields of `kind` in a description; raises ValueError unless each is there and what its type says."""
    try:
        found = msgspec.convert(about, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{file} is damaged: {error} of its description") from None
    for name, value in msgspec.to_builtins(found).items():
        if about.get(name, value) != value:  # a field of a field that nobody knows
            raise ValueError(f"{file} is damaged: {name} of its description has other fields")
    return found


def unpack_model(data: bytes, file: Path) -> Saved:
    """`load_model`, of what `file` held when it was read."""
    about, shapes, _ = read_header(data, file, len(data))
    name, settings = about.get("model"), about.get("settings")
    if name not in [*MODELS] or not isinstance(settings, dict):  # a list has no hash
        raise ValueError(f"{file} must describe one of {', '.join(MODELS)}, got {name!r}")
    largest = max((len(shapes), *(size for shape in shapes.values() for size in shape)))
    for setting, value in settings.items():
        if isinstance(value, int) and value > largest:
            raise ValueError(
                f"{file} does not fit its description: {setting} = {value}, but nothing in it is larger than {largest}"
            )
    try:
        template = eqx.filter_eval_shape(MODELS[name], **settings, key=jax.random.key(0))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file} has settings that do not make a {name}: {error}") from None
    return Saved(unpack(data, file, template), about)


def unpack(data: bytes, file: Path, template: Tree, *, exact: bool = False) -> Tree:
    """A tree of `template`'s structure with the arrays that `file` held; raises ValueError unless they fit it.

    Floating-point arrays come in jax's default precision, or with `exact` as they were written.
    """
    about, found, start = read_header(data, file, len(data))
    wanted = {name: tuple(leaf.shape) for name, leaf in _named(template).items()}
    if wanted != found:
        name = min(name for name in wanted | found if wanted.get(name) != found.get(name))
        raise ValueError(
            f"{file} does not fit its description: {name} must have shape {wanted.get(name)}, got {found.get(name)}"
        )
    if hashlib.sha256(memoryview(data)[start:]).hexdigest() != about.get("sha256"):
        raise ValueError(f"{file} is damaged: its checksum is not the one that it was written with")
    try:
        arrays = load(data)
    except SafetensorError as error:
        raise ValueError(f"{file} is no safetensors file: {error}") from None
    leaves = [_restored(arrays[name], exact) for name in wanted]
    return jax.tree.unflatten(jax.tree.structure(template), leaves)


def _restored(array: np.ndarray, exact: bool) -> Array:
    floating = np.issubdtype(array.dtype, np.floating)
    return jnp.asarray(array, float if floating and not exact else array.dtype)


def _named(tree: PyTree) -> dict[str, Any]:
    """The leaves of a tree by their paths."""
    return {
        jax.tree_util.keystr(path).lstrip("."): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }
