r"""Joint play $\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$, summed so that many rounds hold."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners import Sum

ROUNDS_PER_SUM = 240
"""Rounds whose joint play is held and summed at once, a divisor of the engine's segments."""
MIN_ROUNDS_PER_SUM = 32
"""If no such divisor of the rounds is larger, rounds of zeros are added."""
SUMS_AT_ONCE = 16
"""Such sums that are held at once outside of `jit`."""


def joint_play(played: Sequence[Any]) -> Float[Array, "*d"] | Float[np.ndarray, "*d"]:
    r"""$\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$, a distribution over joint actions.

    >>> import numpy as np
    >>> joint_play([np.eye(2), np.eye(2)]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    rounds = len(played[0])
    if checks.are_concrete(played):
        rows = [np.asarray(part) for part in played]
        chunks = range(0, rounds, SUMS_AT_ONCE * ROUNDS_PER_SUM)
        sums = sum(_double_sum([p[c : c + chunks.step] for p in rows]) for c in chunks)
        return (sums / rounds).astype(rows[0].dtype)
    return _traced_sum(played) / rounds


def joint_sum(rows: Sequence[Any]) -> Any:
    """The sum over rounds of the product of what the players play; several sums if there are axes before."""
    *before, _, _ = rows[0].shape
    if len(rows) == 1:
        return rows[0].sum(-2)
    products = reduce(_products, rows[:-1]).swapaxes(-1, -2)
    return (products @ rows[-1]).reshape(*before, *(part.shape[-1] for part in rows))


def _products(x: Any, y: Any) -> Any:
    return (x[..., None] * y[..., None, :]).reshape(*x.shape[:-1], x.shape[-1] * y.shape[-1])


def _double_sum(rows: Sequence[np.ndarray]) -> Float[np.ndarray, "*d"]:
    """Sums of `ROUNDS_PER_SUM` rounds, added in double precision."""
    count = len(rows[0]) // ROUNDS_PER_SUM
    rest = joint_sum([part[count * ROUNDS_PER_SUM :] for part in rows])
    if not count:
        return rest.astype(float)
    parts = [
        part[: count * ROUNDS_PER_SUM].reshape(count, ROUNDS_PER_SUM, part.shape[1])
        for part in rows
    ]
    return joint_sum(parts).sum(0, dtype=float) + rest


def _traced_sum(played: Sequence[Float[Array, "T _"]]) -> Float[Array, "*d"]:
    rounds = len(played[0])
    size = max(n for n in range(1, min(ROUNDS_PER_SUM, rounds) + 1) if rounds % n == 0)
    if size < MIN_ROUNDS_PER_SUM < rounds:
        size = ROUNDS_PER_SUM
        played = [jnp.pad(rows, ((0, -rounds % size), (0, 0))) for rows in played]
    sums = joint_sum([rows.reshape(-1, size, rows.shape[1]) for rows in played])

    def add(total: Sum, part: Float[Array, "*d"]) -> tuple[Sum, None]:
        return total.add(part).settle(), None

    return lax.scan(add, Sum.zeros(*sums.shape[1:], dtype=sums.dtype), sums)[0].value
