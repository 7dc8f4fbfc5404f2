"""Argument checks with one-sentence errors that state what was expected and what was passed.

Only concrete values are checked. Inside `jit`, `vmap` or `grad` an array has no values yet, so value checks are
skipped; shapes are always known and always checked.
"""

import math
import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

Class = TypeVar("Class", bound=type)

TOLERANCE = 1e-4
"""Largest accepted error in a distribution's sum, well above float32 rounding over a thousand actions."""
MAX_INTEGER = 2**63 - 1
MEMORY_SHARE = 0.7
"""Largest fraction of the machine's memory that a single result may take."""


def is_concrete(value: Any) -> bool:
    """Return True unless `value` is a JAX tracer."""
    return not isinstance(value, Tracer)


def is_jax(value: Any) -> bool:
    """Return True for a JAX array, traced or not."""
    return isinstance(value, jax.Array)


def are_concrete(*values: Any) -> bool:
    """Return True if no array in these pytrees is traced."""
    return all(is_concrete(leaf) for leaf in jax.tree.leaves(values))


def as_floats(value: Any) -> Any:
    """Convert to a NumPy array of doubles, or, if the value is traced, to JAX's default float."""
    if is_concrete(value):
        return np.asarray(value, float)
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
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{name} must be real numbers, got {_short(value)}")
    if kind not in "iuf":
        raise ValueError(f"{name} must be numbers, got {_short(value)}")
    is_finite = np.isfinite(array)
    if not is_finite.all():
        where = tuple(int(i) for i in np.argwhere(~is_finite)[0])
        place = f" at index {where}" if where else ""
        raise ValueError(f"{name} must be finite numbers, got {array[where]}{place}")


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
    """Raise unless `value` is an integer between `least` and `most`.

    >>> at_least("rounds", 0, 1)
    Traceback (most recent call last):
    ValueError: rounds must be an integer >= 1, got 0
    """
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {_short(value)}")
    if value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {_short(value)}")


def instance(name: str, value: Any, kind: Any, expected: str) -> None:
    """Raise unless `value` is an instance of `kind`; `expected` describes the kind in the error.

    >>> instance("path", 3, str, "a path")
    Traceback (most recent call last):
    ValueError: path must be a path, got 3
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {expected}, got {_short(value)}")


def one_of(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise unless `value` is one of the options.

    >>> one_of("objective", "regrets", ("regret", "swap"))
    Traceback (most recent call last):
    ValueError: objective must be one of regret, swap, got 'regrets'
    """
    options = list(options)
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(options)}, got {_short(value)}")


def random_key(key: Any) -> None:
    """Raise unless `key` looks like a JAX random key.

    >>> random_key(7)
    Traceback (most recent call last):
    ValueError: key must be a JAX random key, as in jax.random.key(0), got 7
    """
    if not hasattr(key, "ndim"):
        raise ValueError(
            f"key must be a JAX random key, as in jax.random.key(0), got {_short(key)}"
        )


def fits_in_memory(what: str, needed: float, hint: str) -> None:
    """Raise if `needed` bytes are too many for this machine; `hint` suggests how to need fewer.

    >>> fits_in_memory("a table", 1e18, "have fewer rows")
    Traceback (most recent call last):
    ValueError: a table takes 1,000,000,000 GB of memory, more than 70 % of this machine's ... GB: have fewer rows
    """
    if needed > MEMORY_SHARE * memory_bytes():
        have = f"{memory_bytes() / 1e9:.0f}"
        raise ValueError(
            f"{what} takes {needed / 1e9:,.0f} GB of memory, "
            f"more than {100 * MEMORY_SHARE:.0f} % of this machine's {have} GB: {hint}"
        )


@cache
def memory_bytes() -> float:
    """Return the size of the machine's memory, or infinity if the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def plays(model: Any, actions: int) -> None:
    """Raise unless the model was built for this number of actions."""
    if actions != model.actions:
        raise ValueError(f"{model} is for {model.actions} actions, got {actions}")


def shape(name: str, value: Any, expected: str, fits: bool) -> None:
    """Raise a shape error unless `fits` is true; `expected` describes the shape that `value` must have."""
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
    if array.dtype.kind not in "iuf":
        finite(name, value)
    least = array.min()
    sums = array.sum(-1)
    errors = np.abs(sums - 1)
    if least >= -TOLERANCE and errors.max() <= TOLERANCE:  # False for nan
        return
    finite(name, value)
    if least < -TOLERANCE:
        raise ValueError(f"{name} must have no negative entries, got {least:.6g}")
    worst = sums.flat[np.argmax(errors)]
    raise ValueError(f"{name} must sum to 1 along its last axis, got {worst:.6g}")


def as_float(value: Any) -> Any:
    """Convert an integer to a float, so that both share a compiled program; return anything else unchanged."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def pytree(*leaves: str) -> Callable[[Class], Class]:
    """Register a class as a pytree of these attributes; transformations reset all others to the class's defaults."""

    def decorate(kind: Class) -> Class:
        def flatten(tree: Any) -> tuple[tuple[Any, ...], None]:
            return tuple(getattr(tree, name) for name in leaves), None

        def unflatten(_: None, children: tuple[Any, ...]) -> Any:
            tree = object.__new__(kind)  # skip `__init__`: the arrays may be traced
            tree.__dict__.update(zip(leaves, children, strict=True))
            return tree

        jax.tree_util.register_pytree_node(kind, flatten, unflatten)
        return kind

    return decorate


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
