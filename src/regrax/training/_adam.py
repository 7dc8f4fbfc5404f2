r"""The optimizer that models are trained with unless another is given: clipped Adam, warmed up and cooled down.

Of a gradient $g$, cut to length 1, in step $n = 1, 2, \dots$

$$ m \leftarrow 0.9\, m + 0.1\, g, \qquad s \leftarrow 0.99\, s + 0.01\, g^2, \qquad
\Delta = -\eta_n \frac{m / (1 - 0.9^n)}{\sqrt{s / (1 - 0.99^n)} + 10^{-8}} . $$

It has the `init` and `update` of optax, any of whose optimizers can be given instead, and no need of it: it is a value,
equal and printed by its numbers, and all parameters of a model are one array of it, however many arrays a model has.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PyTree

DECAY, SQUARE_DECAY, LEAST = 0.9, 0.99, 1e-8
MAX_NORM = 1.0


class AdamState(NamedTuple):
    """What Adam remembers.

    Attributes:
        taken: steps so far.
        mean: running mean of the gradients.
        square: running mean of their squares.
        rate: the highest rate; here, so that trainings that differ in it share a program.
    """

    taken: Int[Array, ""]
    mean: Float[Array, "p"]
    square: Float[Array, "p"]
    rate: Float[Array, ""]


@dataclass(frozen=True)
class Adam:
    r"""Adam with a rate $\eta_n$ that rises over the first twentieth of the steps and falls to zero as a cosine.

    >>> optimizer = Adam(rate=0.5, steps=10)
    >>> state = optimizer.init(jnp.zeros(2))
    >>> changes, state = optimizer.update(jnp.array([3.0, -0.1]), state)
    >>> changes.tolist()
    [-0.5, 0.5]
    """

    rate: float
    steps: int

    def init(self, model: PyTree) -> AdamState:
        """The state before the first step."""
        zeros = jnp.zeros_like(ravel_pytree(model)[0])
        return AdamState(jnp.zeros((), int), zeros, zeros, jnp.asarray(self.rate, float))

    def update(self, gradient: PyTree, state: AdamState, model: Any = None) -> tuple[PyTree, Any]:
        """What to add to the parameters, and the state after it."""
        flat, restored = ravel_pytree(gradient)
        flat = flat / jnp.maximum(jnp.linalg.norm(flat) / MAX_NORM, 1)
        mean = DECAY * state.mean + (1 - DECAY) * flat
        square = SQUARE_DECAY * state.square + (1 - SQUARE_DECAY) * flat**2
        number = (state.taken + 1).astype(float)
        corrected = mean / (1 - DECAY**number), square / (1 - SQUARE_DECAY**number)
        change = corrected[0] / (jnp.sqrt(corrected[1]) + LEAST)
        rate = state.rate * self._share(state.taken.astype(float))
        return restored(-rate * change), AdamState(state.taken + 1, mean, square, state.rate)

    def _share(self, done: Float[Array, ""]) -> Float[Array, ""]:
        """Of the highest rate, after so many steps."""
        rising = self.steps // 20
        falling = jnp.clip((done - rising) / max(self.steps - rising, 1), 0, 1)
        cosine = (1 + jnp.cos(jnp.pi * falling)) / 2
        return cosine if rising == 0 else jnp.where(done < rising, done / rising, cosine)
