"""Values as they come, numpy's or jax's, traced or not; and errors that teach.

Each check says what was expected and what it got, in one sentence. Only concrete values are checked. Inside `jit`,
`vmap` or `grad` an array has no values yet, so a check passes it; shapes are always known and are always checked.

Nothing here imports jax: a game is solved and measured in numpy in less time than that takes. A class with `@pytree` is
registered with jax at once if jax is there, or else as the last step of jax's own import, so that no `jit` or `vmap`
ever meets it before.
"""

import math
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

Class = TypeVar("Class", bound=type)
_WAITING = list[Callable[[], None]]()

TOLERANCE = 1e-4
"""How far from 1 a distribution's sum may be: float32 rounding over a thousand actions stays well inside."""
MAX_INTEGER = 2**63 - 1
MEMORY_SHARE = 0.7
"""Of the machine's memory that one result may take."""


def is_concrete(value: Any) -> bool:
    """Whether `value` has values to look at (it is not a tracer: before jax is imported, nothing is)."""
    core = sys.modules.get("jax.core")
    return core is None or not isinstance(value, core.Tracer)


def is_jax(value: Any) -> bool:
    """Whether `value` is an array of jax's, traced or not."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def are_concrete(*values: Any) -> bool:
    """Whether every array in these pytrees has values to look at."""
    if "jax" not in sys.modules:
        return True
    import jax

    return all(is_concrete(leaf) for leaf in jax.tree.leaves(values))


def as_numpy(tree: Any) -> Any:
    """The arrays of a pytree as numpy's, without a copy where they are on the CPU; tracers stay what they are."""
    import jax

    return jax.tree.map(lambda x: np.asarray(x) if is_concrete(x) else x, tree)


def as_floats(value: Any) -> Any:
    """An array to compute with: numpy's doubles where there are values, jax's default float where they are traced."""
    if is_concrete(value):
        return np.asarray(value, float)
    import jax.numpy as jnp

    return jnp.asarray(value, float)


def finite(name: str, value: Any) -> None:
    """Raise unless every entry of `value` is a finite number.

    >>> finite("losses", [0.0, float("nan")])
    Traceback (most recent call last):
    ValueError: losses must be finite numbers, got nan at index (1,)
    """
    if not is_concrete(value):
        return
    array = np.asarray(value)
    if not np.issubdtype(array.dtype, np.number):
        raise ValueError(f"{name} must be numbers, got {_short(value)}")
    if np.issubdtype(array.dtype, np.complexfloating):
        raise ValueError(f"{name} must be real numbers, got {_short(value)}")
    good = np.isfinite(array)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        place = f" at index {where}" if where else ""
        raise ValueError(f"{name} must be finite numbers, got {array[where]}{place}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def positive(name: str, value: Any) -> None:
    """Raise unless every entry of `value` is a finite number above zero.

    >>> positive("step", -1.0)
    Traceback (most recent call last):
    ValueError: step must be above 0, got -1.0
    """
    if not is_concrete(value):
        return
    finite(name, value)
    if not np.all(np.asarray(value) > 0):
        raise ValueError(f"{name} must be above 0, got {value}")


def at_least(name: str, value: Any, least: int, most: int = MAX_INTEGER) -> None:
    """Raise unless `value` is an integer >= `least`, and at most `most`.

    >>> at_least("rounds", 0, 1)
    Traceback (most recent call last):
    ValueError: rounds must be an integer >= 1, got 0
    """
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {_short(value)}")
    if value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {_short(value)}")


def instance(name: str, value: Any, kind: Any, expected: str) -> None:
    """Raise unless `value` is of this type, or one of these; `expected` describes it in words.

    >>> instance("path", 3, str, "a path")
    Traceback (most recent call last):
    ValueError: path must be a path, got 3
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {expected}, got {_short(value)}")


def random_key(key: Any) -> None:
    """Raise unless `key` looks like a key of `jax.random`.

    >>> random_key(7)
    Traceback (most recent call last):
    ValueError: key must be a key, as in jax.random.key(0), got 7
    """
    if not hasattr(key, "ndim"):
        raise ValueError(f"key must be a key, as in jax.random.key(0), got {_short(key)}")


def fits_in_memory(what: str, needed: float, hint: str) -> None:
    """Raise unless there is room for so many bytes of `what`; `hint` says what would need fewer.

    >>> fits_in_memory("a table", 1e18, "have fewer rows")
    Traceback (most recent call last):
    ValueError: a table takes 1,000,000,000 GB of memory, and there are ...: have fewer rows
    """
    if needed > MEMORY_SHARE * memory_bytes():
        have = f"{memory_bytes() / 1e9:.0f}"
        raise ValueError(
            f"{what} takes {needed / 1e9:,.0f} GB of memory, and there are {have}: {hint}"
        )


@cache
def memory_bytes() -> float:
    """Of this machine; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def plays(model: Any, actions: int) -> None:
    """Raise unless the parameters of a model are for this number of actions."""
    if actions != model.actions:
        raise ValueError(f"{model} plays {model.actions} actions, got {actions}")


def shape(name: str, value: Any, expected: str, fits: bool) -> None:
    """Raise unless `fits`; `expected` says in words which shape was wanted."""
    if not fits:
        raise ValueError(f"{name} must have shape {expected}, got {np.shape(value)}")


def distributions(name: str, value: Any) -> None:
    """Raise unless the last axis of `value` holds probability distributions.

    >>> distributions("policy", [0.5, 0.7])
    Traceback (most recent call last):
    ValueError: policy must sum to 1 along its last axis, got 1.2
    """
    if not is_concrete(value):
        return
    array = np.asarray(value)
    is_positive = (
        array.dtype.kind == "f" and array.min() >= -TOLERANCE
    )  # which it is not with a nan
    if is_positive and np.abs(array.sum(-1) - 1).max() <= TOLERANCE:
        return
    finite(name, value)
    if array.min() < -TOLERANCE:
        raise ValueError(f"{name} must have no negative entry, got {array.min():.6g}")
    sums = array.sum(-1)
    worst = sums.flat[np.argmax(np.abs(sums - 1))]
    if abs(worst - 1) > TOLERANCE:
        raise ValueError(f"{name} must sum to 1 along its last axis, got {worst:.6g}")


def as_float(value: Any) -> Any:
    """An integer as a float, so that both share a compiled program; anything else as it is."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def pytree(*leaves: str) -> Callable[[Class], Class]:
    """Make a class a pytree of these attributes; what a transformation gives back has the class's own of all others."""

    def decorate(kind: Class) -> Class:
        register = partial(_register, kind, leaves)
        register() if "jax" in sys.modules else _WAITING.append(register)
        return kind

    return decorate


def _register(kind: type, leaves: tuple[str, ...]) -> None:
    from jax.tree_util import register_pytree_node

    def flatten(tree: Any) -> tuple[tuple[Any, ...], None]:
        return tuple(getattr(tree, name) for name in leaves), None

    def unflatten(_: None, children: tuple[Any, ...]) -> Any:
        tree = object.__new__(kind)  # whatever stands for its arrays is taken as it is
        tree.__dict__.update(zip(leaves, children, strict=True))
        return tree

    register_pytree_node(kind, flatten, unflatten)


class _WhenImported(MetaPathFinder):
    """Finds jax where the others find it, and has its import end with what waits for it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "jax":
            return None
        finders = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(name, path, target) for finder in finders)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = partial(self._execute, spec.loader.exec_module)
        return spec

    def _execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        if self in sys.meta_path:  # not before: jax may be looked for and not imported, or fail
            sys.meta_path.remove(self)
        while _WAITING:
            _WAITING.pop()()


if "jax" not in sys.modules:
    sys.meta_path.insert(0, _WhenImported())
