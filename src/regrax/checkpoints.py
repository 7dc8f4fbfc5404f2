r"""Trained models on disk: parameters as safetensors, everything else as JSON beside them; never pickle.

    DIR/seed-0.safetensors    the parameters, named as in the model: "values", "blocks[0].queries", ...
    DIR/seed-0.json           what they are: {"format": ..., "model": ..., "settings": ..., "sha256": ..., ...}

The description is written last and holds the parameters' checksum: a pair that does not belong together, a damaged or
a foreign file is refused with the reason.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree
from safetensors import SafetensorError
from safetensors.numpy import load, save

from regrax._atomic_write import write_whole
from regrax.attention import MODELS, Model, SwapAttention
from regrax.domains import Domain
from regrax.learners import Learner

__all__ = ["Checkpoint", "Saved", "load_model", "save_model"]

FORMAT = "regrax checkpoint 1"
Tree = TypeVar("Tree")


class Saved(NamedTuple):
    """What a checkpoint holds: the model, and the description it was saved with."""

    model: Model
    about: dict[str, Any]


def save_model(path: str | Path, model: Model, **about: Any) -> None:
    """Write `path.safetensors` and `path.json`; `about` goes into the description.

    >>> import jax, tempfile
    >>> from regrax.attention import LinearAttention
    >>> path = Path(tempfile.mkdtemp()) / "layer"
    >>> save_model(path, LinearAttention.hedge(2, 0.5), note="by hand")
    >>> load_model(path).model.values.tolist()
    [[-0.5, -0.0], [-0.0, -0.5]]
    >>> load_model(path).about["note"]
    'by hand'
    """
    what = {"model": model.name, "settings": model.settings}
    write_arrays(_beside(path, ".safetensors"), _beside(path, ".json"), model, what | about)


def load_model(path: str | Path) -> Saved:
    """The model saved at `path` (with or without its suffix), in jax's default precision.

    >>> import tempfile
    >>> from regrax.attention import SwapAttention
    >>> path = Path(tempfile.mkdtemp()) / "heads"
    >>> save_model(path, SwapAttention.hedge(3, 0.4))
    >>> load_model(path).model
    swap_attention(3)
    """
    stem = _stem(path)
    about = read_description(_beside(stem, ".json"))
    name, settings = about.get("model"), about.get("settings")
    if name not in MODELS or not isinstance(settings, dict):
        raise ValueError(
            f"{_beside(stem, '.json')} must describe one of {', '.join(MODELS)}, but names {name!r}"
        )
    try:
        template = eqx.filter_eval_shape(MODELS[name], **settings, key=jax.random.key(0))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{_beside(stem, '.json')} has settings that do not make a {name}: {error}"
        ) from None
    return Saved(read_arrays(_beside(stem, ".safetensors"), about, template), about)


class Checkpoint(Learner):
    """A trained model read from `path.safetensors` and `path.json`, ready to play.

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

    name: ClassVar[str] = "checkpoint"
    path: str = eqx.field(static=True)
    calibrated: bool = eqx.field(static=True)
    model: Model

    def __init__(self, path: str, calibrated: bool = False) -> None:
        if not isinstance(path, str) or not isinstance(calibrated, bool):
            raise ValueError(
                'checkpoint takes a path in quotes and calibrated=true or false, as in checkpoint("runs/seed-0")'
            )
        self.path, self.calibrated = path, calibrated
        self.model = _calibrated(path) if calibrated else load_model(path).model

    @property
    def domain(self) -> Domain:
        return self.model.domain

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> PyTree:
        return self.model.init(actions, rounds, key=key)

    def policy(self, state: PyTree) -> Float[Array, "d"]:
        return self.model.policy(state)

    def update(self, state: PyTree, feedback: Float[Array, "d"]) -> PyTree:
        return self.model.update(state, feedback)

    def __str__(self) -> str:
        scaled = ", calibrated=true" if self.calibrated else ""
        return f"{self.name}({json.dumps(self.path)}{scaled})"


def _calibrated(path: str) -> SwapAttention:
    model = load_model(path).model
    if not isinstance(model, SwapAttention):
        raise ValueError(f"only the swap architecture is calibrated, but {path} holds {model}")
    return model.calibrated()


def write_arrays(arrays: Path, description: Path, tree: PyTree, about: dict[str, Any]) -> None:
    """Write the arrays of a tree, then a description that holds their checksum."""
    data, checked = pack(tree)
    write_whole(arrays, data)
    about = {"format": FORMAT, **about, **checked}
    write_whole(description, json.dumps(about, indent=1, allow_nan=False).encode())


def pack(tree: PyTree) -> tuple[bytes, dict[str, str]]:
    """The arrays of a tree as one safetensors file, and its checksum."""
    data = save({name: np.asarray(leaf) for name, leaf in _named(tree).items()})
    return data, {"sha256": hashlib.sha256(data).hexdigest()}


def read_description(file: Path) -> dict[str, Any]:
    """The JSON description of arrays; raises ValueError unless it is one of ours."""
    try:
        about = json.loads(file.read_bytes())
    except ValueError:
        raise ValueError(
            f"{file} is damaged or no checkpoint: it must hold a JSON object"
        ) from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        came = about.get("format") if isinstance(about, dict) else about
        raise ValueError(
            f"{file} must be of the format {FORMAT!r}, but its format is {str(came)[:40]!r}"
        )
    return about


def read_arrays(file: Path, about: dict[str, Any], template: Tree, *, exact: bool = False) -> Tree:
    """A tree of `template`'s structure with the arrays of `file`; raises ValueError unless they fit `about` and it.

    Floating-point arrays come in jax's default precision, or with `exact` as they were written.
    """
    return unpack(file.read_bytes(), file, about, template, exact=exact)


def unpack(
    data: bytes, file: Path, about: dict[str, Any], template: Tree, *, exact: bool = False
) -> Tree:
    """`read_arrays`, of what `file` held when it was read."""
    if hashlib.sha256(data).hexdigest() != about.get("sha256"):
        raise ValueError(
            f"{file} is damaged: its checksum is not the one that its description holds"
        )
    try:
        arrays = load(data)
    except SafetensorError as error:
        raise ValueError(f"{file} is no safetensors file: {error}") from None
    wanted = {name: tuple(leaf.shape) for name, leaf in _named(template).items()}
    found = {name: array.shape for name, array in arrays.items()}
    if wanted != found:
        differ = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
        raise ValueError(
            f"{file} does not fit its description: {differ[0]} must have shape {wanted.get(differ[0])}, "
            f"but has {found.get(differ[0])}"
        )
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


def _stem(path: str | Path) -> Path:
    path = Path(path)
    return path.with_suffix("") if path.suffix in (".safetensors", ".json") else path


def _beside(path: str | Path, suffix: str) -> Path:
    stem = _stem(path)
    return stem.with_name(stem.name + suffix)
