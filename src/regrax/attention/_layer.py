r"""A sum over time: the head that linear attention and the swap architecture are made of."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention._base import TrainableLearner
from regrax.domains import Ball, Domain, Simplex
from regrax.learners import Scalar, Sum

Operator = Literal["softmax", "ball"]
Projection = Callable[[Float[Array, "d"]], Float[Array, "d"]]


class Layer(NamedTuple):
    r"""One head on features $x$: each round adds $(V x + v_c)(c + b^\top x)$ to its logits."""

    values: Float[Array, "d m"]  # V
    bias: Float[Array, "d"]  # v_c
    slope: Float[Array, "m"]  # b
    offset: Scalar = 1.0  # c

    def increment(self, feature: Float[Array, "m *n"]) -> Float[Array, "d *n"]:
        """What one round adds, for one feature vector or for a batch of them, batch last."""
        bias = self.bias.reshape(-1, *(1,) * (feature.ndim - 1))
        return (self.values @ feature + bias) * (self.offset + self.slope[None] @ feature)

    def logits(self, features: Float[Array, "T m n"]) -> Float[Array, "T d n"]:
        """Before each round, the sum of the increments of the rounds before it."""

        def add(logits: Float[Array, "d n"], feature: Float[Array, "m n"]) -> tuple:
            return logits + self.increment(feature), logits

        start = jnp.zeros((self.values.shape[0], features.shape[2]), features.dtype)
        return lax.scan(add, start, features)[1]


class SingleLayer(TrainableLearner):
    r"""$\pi_t = \mathrm{Operator}(z_t)$ with $z_t$ the logits of one `Layer` on the losses themselves.

    The recurrence has $z_t$ as its state. With the operator `"ball"` training sees $z_t$ itself and play sees its
    projection, so that the objective stays quadratic in the parameters that matter.
    """

    values: eqx.AbstractVar[Float[Array, "d d"]]
    operator: eqx.AbstractVar[Operator]
    radius: eqx.AbstractVar[Scalar]
    projection: eqx.AbstractVar[Projection | None]

    @property
    @abstractmethod
    def layer(self) -> Layer:
        """The sum over time that gives the logits."""

    @property
    def actions(self) -> int:
        return self.values.shape[-1]

    @property
    def settings(self) -> dict[str, Any]:
        if self.projection is not None:
            raise ValueError(
                f"{self} plays by a projection of its own, a function, which cannot be written down"
            )
        return {"actions": self.actions, "operator": self.operator, "radius": float(self.radius)}

    @property
    def domain(self) -> Domain:
        return Simplex() if self.operator == "softmax" else Ball(self.radius)

    def policies(self, losses: Float[Array, "T d n"]) -> Float[Array, "T d n"]:
        self.check_actions(losses.shape[1])
        logits = self.layer.logits(losses)
        return jax.nn.softmax(logits, axis=1) if self.operator == "softmax" else logits

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Sum:
        self.check_actions(actions)
        return Sum.zeros(actions)

    def policy(self, state: Sum) -> Float[Array, "d"]:
        if self.operator == "softmax":
            return jax.nn.softmax(state.value)
        project = self.projection or self.domain.project
        return project(state.value)

    def update(self, state: Sum, feedback: Float[Array, "d"]) -> Sum:
        return state.add(self.layer.increment(feedback))


def check_operator(operator: str, radius: Scalar, projection: Projection | None) -> None:
    """Raise unless the operator is known and what comes with it fits."""
    if operator not in ("softmax", "ball"):
        raise ValueError(f'operator must be "softmax" or "ball", got {operator!r}')
    if operator == "softmax" and projection is not None:
        raise ValueError('a projection belongs to operator "ball", got operator "softmax"')
    checks.positive("radius", radius)
