"""Running sums that hold: short sums of recent terms, added to a long one that carries along what rounding drops."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree


class Sum(NamedTuple):
    r"""$\sum_t x_t$ in two levels: `add` adds to a short sum, which `settle` adds to the long one, compensated.

    The engine settles the sums of every state after each block of rounds, so that ten million float32 terms keep six
    digits; a sum that is never settled is an ordinary one.

    >>> import jax.numpy as jnp
    >>> total = Sum.zeros(1).add(jnp.array([1e8])).settle()
    >>> for _ in range(3):
    ...     total = total.add(jnp.array([3.0])).settle()
    >>> (total.value - 1e8).tolist()
    [8.0]

    Reference: Kahan (1965), Pracniques: further remarks on reducing truncation errors.
    """

    settled: Float[Array, "*d"]
    dropped: Float[Array, "*d"]  # what rounding has dropped from it
    recent: Float[Array, "*d"]

    @classmethod
    def zeros(cls, *shape: int, dtype: Any = float) -> "Sum":
        """Nothing added yet."""
        return cls(*[jnp.zeros(shape, dtype)] * 3)

    @property
    def value(self) -> Float[Array, "*d"]:
        """The sum."""
        return self.settled + self.recent

    def add(self, term: Float[Array, "*d"]) -> "Sum":
        """One more term."""
        return self._replace(recent=self.recent + term)

    def settle(self) -> "Sum":
        """The same sum with nothing recent."""
        term = self.recent + self.dropped
        settled = self.settled + term
        return Sum(settled, term - (settled - self.settled), jnp.zeros_like(self.recent))

    def clipped(self) -> "Sum":
        r"""$\max(\cdot, 0)$."""
        return self._replace(recent=jnp.maximum(self.recent, -self.settled))

    def scaled(self, factor: Float[Array, "*d"]) -> "Sum":
        """The sum times a factor."""
        return Sum(*(part * factor for part in self))


def settle(states: PyTree) -> PyTree:
    """Settle every sum in the states."""
    return jax.tree.map(
        lambda node: node.settle() if isinstance(node, Sum) else node,
        states,
        is_leaf=lambda node: isinstance(node, Sum),
    )


class Cumulative(NamedTuple):
    """State of learners that look at the sum of past losses only."""

    losses: Sum  # S_{t-1}, or what differs from it by a constant
    round: Int[Array, "*n"]  # t - 1

    @classmethod
    def start(cls, actions: int) -> "Cumulative":
        """No loss seen yet."""
        return cls(Sum.zeros(actions), jnp.zeros((), int))

    @property
    def total(self) -> Float[Array, "d *n"]:
        """$S_{t-1}$."""
        return self.losses.value

    def add(self, loss: Float[Array, "d *n"]) -> "Cumulative":
        """One more round."""
        return Cumulative(self.losses.add(loss), self.round + 1)
