r"""Linear self-attention: the single layer that regret training turns into smoothed fictitious play.

The full form, with the all-ones vector as the query, and the reduced form are

    z_t = sum_{s<t} (V l_s + v_c) ((K l_s + k_c)^T (Q 1 + q_c))
    z_t = sum_{s<t} (V l_s + v_c) (1 + a^T l_s)

The policy is $\mathrm{softmax}(z_t)$. With the identity operator it is $z_t$ in training and the projection of $z_t$
onto the L2 ball in play. $V \to V + 1 c^\top$ and $v_c \to v_c + \alpha 1$ leave softmax policies unchanged.

Reference: Park, Ozdaglar, Training with (swap) regret loss in a single-layer self-attention model, section 2.1.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention.base import Batch, TrainableLearner
from regrax.domains import Ball, Domain, Simplex
from regrax.learners import Count, Key, Scalar, Sum
from regrax.simplex import Matrix, Vector

Operator = Literal["softmax", "ball"]
Projection = Callable[[Vector], Vector]


class Layer(NamedTuple):
    r"""One attention head on features $x$: each round adds $(V x + v_c)(c + b^\top x)$ to its logits."""

    values: Float[Array, "d m"]  # V
    bias: Vector  # v_c
    slope: Float[Array, "m"]  # b
    offset: Scalar = 1.0  # c

    def increment(self, feature: Float[Array, "m *n"]) -> Float[Array, "d *n"]:
        """Compute what one round adds to the logits, for one feature vector or a batch (batch axis last)."""
        bias = self.bias.reshape(-1, *(1,) * (feature.ndim - 1))
        return (self.values @ feature + bias) * (self.offset + self.slope[None] @ feature)

    def logits(self, features: Float[Array, "T m n"]) -> Float[Array, "T d n"]:
        """Sum the increments of all earlier rounds, for every round."""

        def add(logits: Float[Array, "d n"], feature: Float[Array, "m n"]) -> tuple:
            return logits + self.increment(feature), logits

        start = jnp.zeros((self.values.shape[0], features.shape[2]), features.dtype)
        return lax.scan(add, start, features)[1]


class SingleLayer(TrainableLearner):
    r"""$\pi_t = \mathrm{Operator}(z_t)$, where $z_t$ are the logits of one `Layer` on the losses.

    The state in play is $z_t$. With the operator `"ball"` training uses $z_t$ itself, which keeps the objective
    quadratic in $V$ and $v_c$, and play uses its projection.
    """

    values: eqx.AbstractVar[Matrix]
    operator: Operator = eqx.field(static=True)
    radius: Scalar = eqx.field(static=True)
    projection: Projection | None = eqx.field(static=True)

    def __init__(
        self,
        actions: int,
        *,
        key: PRNGKeyArray,
        operator: Operator = "softmax",
        radius: Scalar = 1.0,
        projection: Projection | None = None,
        scale: float = 0.1,
    ) -> None:
        checks.at_least("actions", actions, 1)
        checks.positive("radius", radius)
        checks.one_of("operator", operator, ("softmax", "ball"))
        if operator == "softmax" and projection is not None:
            raise ValueError('projection requires operator="ball", got operator="softmax"')
        self.operator = operator
        self.radius = radius
        self.projection = projection
        self._draw_parameters(key, scale, actions)

    @abstractmethod
    def _draw_parameters(self, key: PRNGKeyArray, scale: float, actions: int) -> None: ...

    @property
    @abstractmethod
    def layer(self) -> Layer:
        """The layer that computes the logits."""

    @property
    def actions(self) -> int:
        return self.values.shape[-1]

    @property
    def settings(self) -> dict[str, Any]:
        if self.projection is not None:
            raise ValueError(f"{self} cannot be saved: its projection is a Python function")
        return {"actions": self.actions, "operator": self.operator, "radius": float(self.radius)}

    @property
    def domain(self) -> Domain:
        if self.operator == "softmax":
            return Simplex()
        return Ball(self.radius)

    def policies(self, losses: Batch) -> Batch:
        checks.plays(self, losses.shape[1])
        logits = self.layer.logits(losses)
        if self.operator == "softmax":
            return jax.nn.softmax(logits, axis=1)
        return logits

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Sum:
        checks.plays(self, actions)
        return Sum.zeros(actions)

    def policy(self, state: Sum) -> Vector:
        return self._operate(state.value)

    def update(self, state: Sum, feedback: Vector) -> Sum:
        return state.add(self.layer.increment(feedback))

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        r"""Compute the policy after `round` rounds of losses that sum to `sums`; raise ValueError unless $a = 0$."""
        layer = self.layer
        if checks.is_concrete(layer.slope) and np.asarray(layer.slope).any():
            raise ValueError(
                f"{self} can play from sums of losses only if a = 0, got {layer.slope}"
            )
        logits = layer.values @ sums + jnp.asarray(round, sums.dtype) * layer.bias
        return self._operate(layer.offset * logits)

    def _operate(self, logits: Vector) -> Vector:
        if self.operator == "softmax":
            return jax.nn.softmax(logits)
        project = self.projection or self.domain.project
        return project(logits)


class LinearAttention(SingleLayer):
    r"""$\pi_t = \mathrm{Operator}\left(\sum_{s<t} (V \ell_s + v_c)(1 + a^\top \ell_s)\right)$, the reduced form.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: random key for the initial parameters, which are Gaussian.
        operator: `"softmax"` for policies on the simplex; `"ball"` for the identity in training and the projection onto
            the L2 ball in play. A ball model cannot play in a game.
        radius: radius of the ball.
        projection: function that replaces the projection onto the ball.
        scale: standard deviation of the initial parameters.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> LinearAttention(3, key=jax.random.key(0)).values.shape
    (3, 3)
    >>> rollout(LinearAttention.hedge(2, 1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]
    """

    name: ClassVar[str] = "linear_attention"
    values: Matrix  # V
    scores: Vector  # a
    bias: Vector  # v_c
    __init__ = SingleLayer.__init__  # for type checkers, which expect a dataclass

    def _draw_parameters(self, key: PRNGKeyArray, scale: float, actions: int) -> None:
        drawn = scale * jax.random.normal(key, (actions + 2, actions))
        self.values = drawn[:-2]
        self.scores = drawn[-2]
        self.bias = drawn[-1]

    @classmethod
    def hedge(
        cls, actions: int, step: Scalar, *, operator: Operator = "softmax"
    ) -> "LinearAttention":
        r"""Return the stationary model $V = -k I$, $a = v_c = 0$; it plays `Hedge(k)`, on the ball `EuclideanFTRL(k)`.

        >>> LinearAttention.hedge(2, 0.5).values.tolist()
        [[-0.5, -0.0], [-0.0, -0.5]]
        """
        checks.positive("step", step)
        zeros = jnp.zeros(actions)
        model = cls(actions, key=jax.random.key(0), operator=operator)
        return model.replaced(-step * jnp.eye(actions), zeros, zeros)

    def replaced(self, values: Matrix, scores: Vector, bias: Vector) -> "LinearAttention":
        """Return a copy with new parameters $V$, $a$ and $v_c$."""
        return eqx.tree_at(lambda m: (m.values, m.scores, m.bias), self, (values, scores, bias))

    @property
    def layer(self) -> Layer:
        return Layer(self.values, self.bias, self.scores)


class FullLinearAttention(SingleLayer):
    r"""$\pi_t = \mathrm{Operator}\left(\sum_{s<t} (V \ell_s + v_c)\,(K \ell_s + k_c)^\top (Q 1 + q_c)\right)$.

    `reduced()` returns the equivalent `LinearAttention`. The initial $k_c$ and $q_c$ have mean $1/\sqrt d$, which puts
    the bias score $k_c^\top (Q 1 + q_c)$ near 1.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: random key for the initial parameters, which are Gaussian.
        operator: `"softmax"` for policies on the simplex; `"ball"` for the identity in training and the projection onto
            the L2 ball in play. A ball model cannot play in a game.
        radius: radius of the ball.
        projection: function that replaces the projection onto the ball.
        scale: standard deviation of the initial parameters.

    >>> import jax
    >>> str(FullLinearAttention(3, key=jax.random.key(0)).reduced())
    'linear_attention(3)'
    """

    name: ClassVar[str] = "full_linear_attention"
    values: Matrix  # V
    keys: Matrix  # K
    queries: Matrix  # Q
    value_bias: Vector  # v_c
    key_bias: Vector  # k_c
    query_bias: Vector  # q_c
    __init__ = SingleLayer.__init__

    def _draw_parameters(self, key: PRNGKeyArray, scale: float, actions: int) -> None:
        drawn = scale * jax.random.normal(key, (3, actions + 1, actions))
        self.values, self.keys, self.queries = drawn[:, :-1]
        self.value_bias = drawn[0, -1]
        self.key_bias = drawn[1, -1] + actions**-0.5
        self.query_bias = drawn[2, -1] + actions**-0.5

    @property
    def layer(self) -> Layer:
        query = self.queries.sum(1) + self.query_bias
        return Layer(self.values, self.value_bias, query @ self.keys, query @ self.key_bias)

    def reduced(self) -> LinearAttention:
        r"""Return the reduced form that plays the same policies.

        With the bias score $\kappa = k_c^\top (Q1 + q_c)$ it is $V' = \kappa V$, $v_c' = \kappa v_c$,
        $a = K^\top (Q1 + q_c) / \kappa$. If $\kappa = 0$ there is no reduced form, and a ValueError is raised.
        """
        values, bias, slope, offset = self.layer
        if checks.is_concrete(offset) and not offset:
            raise ValueError("the bias score k_c^T (Q 1 + q_c) must not be 0")
        model = LinearAttention(
            self.actions,
            key=jax.random.key(0),
            operator=self.operator,
            radius=self.radius,
            projection=self.projection,
        )
        return model.replaced(offset * values, slope / offset, offset * bias)
