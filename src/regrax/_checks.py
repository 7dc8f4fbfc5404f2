"""Errors that teach: each check says what was expected and what it got, in one sentence.

Only concrete values are checked. Inside `jit`, `vmap` or `grad` an array has no values yet, so a check passes it;
shapes are always known and are always checked.
"""

import math
import os
import sys
from functools import cache
from typing import Any

import numpy as np

TOLERANCE = 1e-4
"""How far from 1 a distribution's sum may be: float32 rounding over a thousand actions stays well inside."""
MAX_INTEGER = 2**63 - 1
MEMORY_SHARE = 0.7
"""Of the machine's memory that one result may take."""


def is_concrete(value: Any) -> bool:
    """Whether `value` has values to look at (it is not a tracer: before jax is imported, nothing is)."""
    core = sys.modules.get("jax.core")
    return core is None or not isinstance(value, core.Tracer)


def are_concrete(*values: Any) -> bool:
    """Whether every array in these pytrees has values to look at."""
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
    finite(name, value)
    array = np.asarray(value)
    if array.min() < -TOLERANCE:
        raise ValueError(f"{name} must have no negative entry, got {array.min():.6g}")
    sums = array.sum(-1)
    worst = sums.flat[np.argmax(np.abs(sums - 1))]
    if abs(worst - 1) > TOLERANCE:
        raise ValueError(f"{name} must sum to 1 along its last axis, got {worst:.6g}")


def as_float(value: Any) -> Any:
    """An integer as a float, so that both share a compiled program; anything else as it is."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
