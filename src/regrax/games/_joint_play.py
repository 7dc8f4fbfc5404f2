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

ROUNDS_PER_SUM = 256
"""Rounds whose joint play is held and summed at once."""


def joint_play(played: Sequence[Any]) -> Float[Array, "*d"] | Float[np.ndarray, "*d"]:
    r"""$\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$, a distribution over joint actions.

    >>> import numpy as np
    >>> joint_play([np.eye(2), np.eye(2)]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    rounds = len(played[0])
    if checks.are_concrete(played):
        rows = [np.asarray(part) for part in played]
        sums = np.zeros([part.shape[1] for part in rows])
        for first in range(0, rounds, ROUNDS_PER_SUM):
            sums += joint_sum([part[first : first + ROUNDS_PER_SUM] for part in rows])
        return (sums / rounds).astype(rows[0].dtype)
    return _traced_sum(played) / rounds


def joint_sum(rows: Sequence[Any]) -> Any:
    """The sum over rounds of the product of what the players play."""
    if len(rows) == 1:
        return rows[0].sum(0)
    products = reduce(lambda x, y: (x[:, :, None] * y[:, None]).reshape(len(x), -1), rows[:-1])
    return (products.T @ rows[-1]).reshape([part.shape[1] for part in rows])


def _traced_sum(played: Sequence[Float[Array, "T _"]]) -> Float[Array, "*d"]:
    rounds = len(played[0])
    size = min(ROUNDS_PER_SUM, rounds)
    whole = rounds - rounds % size
    parts = [rows[:whole].reshape(-1, size, rows.shape[1]) for rows in played]

    def add(total: Sum, rows: list) -> tuple[Sum, None]:
        return total.add(joint_sum(rows)), None

    zero = jnp.zeros([rows.shape[1] for rows in played], played[0].dtype)
    total, _ = lax.scan(add, Sum(zero, zero), parts)
    if whole < rounds:
        total = total.add(joint_sum([rows[whole:] for rows in played]))
    return total.value
