"""Running sums that hold: what rounding drops from a sum is carried along and added to the next term."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Sum(NamedTuple):
    r"""$\sum_t x_t$ with the part that rounding has dropped: ten million float32 terms keep six digits.

    >>> import jax.numpy as jnp
    >>> total = Sum(jnp.array([1e8]), jnp.zeros(1))
    >>> for _ in range(3):
    ...     total = total.add(jnp.array([3.0]))
    >>> (total.value - 1e8).tolist()
    [8.0]

    Reference: Kahan (1965), Pracniques: further remarks on reducing truncation errors.
    """

    value: Float[Array, "*d"]
    dropped: Float[Array, "*d"]

    @classmethod
    def zeros(cls, *shape: int) -> "Sum":
        """Nothing added yet."""
        return cls(jnp.zeros(shape), jnp.zeros(shape))

    def add(self, term: Float[Array, "*d"]) -> "Sum":
        """One more term."""
        term = term + self.dropped
        value = self.value + term
        return Sum(value, term - (value - self.value))

    def clipped(self) -> "Sum":
        r"""$\max(\cdot, 0)$, which forgets what was dropped from what is clipped."""
        return Sum(jnp.maximum(self.value, 0), jnp.where(self.value > 0, self.dropped, 0))

    def scaled(self, factor: Float[Array, "*d"]) -> "Sum":
        """The sum times a factor."""
        return Sum(self.value * factor, self.dropped * factor)


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
