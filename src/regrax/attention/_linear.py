r"""Linear self-attention, the single layer that regret training turns into smoothed fictitious play.

Full form, with the placeholder $1_d$ as the query, and reduced form:

    z_t = sum_{s<t} (V l_s + v_c) ((K l_s + k_c)^T (Q 1 + q_c))
    z_t = sum_{s<t} (V l_s + v_c) (1 + a^T l_s)

The policy is $\mathrm{softmax}(z_t)$; or, with the identity operator, $z_t$ in training and its projection onto the L2
ball in play. $V \to V + 1 c^\top$ and $v_c \to v_c + \alpha 1$ change no softmax policy.

Reference: Park, Ozdaglar, Training with (swap) regret loss in a single-layer self-attention model, section 2.1.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention._base import Batch, TrainableLearner
from regrax.domains import Ball, Domain, Simplex
from regrax.learners import Count, Key, Scalar, Sum

Vector = Float[Array, "d"]
Matrix = Float[Array, "d d"]
Operator = Literal["softmax", "ball"]
Projection = Callable[[Vector], Vector]


class Layer(NamedTuple):
    r"""One head on features $x$: each round adds $(V x + v_c)(c + b^\top x)$ to its logits."""

    values: Float[Array, "d m"]  # V
    bias: Vector  # v_c
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
        check_operator(operator, projection)
        checks.positive("radius", radius)
        self.operator, self.radius, self.projection = operator, radius, projection
        self._start(key, scale, actions)

    @abstractmethod
    def _start(self, key: PRNGKeyArray, scale: float, actions: int) -> None:
        """Draw the parameters that it starts with."""

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

    def policies(self, losses: Batch) -> Batch:
        checks.plays(self, losses.shape[1])
        logits = self.layer.logits(losses)
        return jax.nn.softmax(logits, axis=1) if self.operator == "softmax" else logits

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Sum:
        checks.plays(self, actions)
        return Sum.zeros(actions)

    def policy(self, state: Sum) -> Vector:
        return self._operate(state.value)

    def _operate(self, logits: Vector) -> Vector:
        if self.operator == "softmax":
            return jax.nn.softmax(logits)
        return (self.projection or self.domain.project)(logits)

    def update(self, state: Sum, feedback: Vector) -> Sum:
        return state.add(self.layer.increment(feedback))

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        r"""The policy after `round` rounds of losses that sum to `sums`, if $a = 0$; otherwise a ValueError."""
        layer = self.layer
        if checks.is_concrete(layer.slope) and np.asarray(layer.slope).any():
            raise ValueError(f"the policies of {self} follow from sums if a = 0, got {layer.slope}")
        logits = layer.values @ sums + jnp.asarray(round, sums.dtype) * layer.bias
        return self._operate(layer.offset * logits)


class LinearAttention(SingleLayer):
    r"""$\pi_t = \mathrm{Operator}\left(\sum_{s<t} (V \ell_s + v_c)(1 + a^\top \ell_s)\right)$, the reduced form.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: of the Gaussian parameters that it starts with.
        operator: `"softmax"` onto the simplex, or `"ball"`: the identity in training, projected onto the L2 ball when
            playing; a ball model takes no seat in a game.
        radius: of the ball.
        projection: in place of that onto the ball, a function; by default none.
        scale: standard deviation of the parameters before training.

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
    __init__ = SingleLayer.__init__  # that of a dataclass would take the fields

    def _start(self, key: PRNGKeyArray, scale: float, actions: int) -> None:
        self.values, self.scores, self.bias = _draw(key, scale, actions)

    @classmethod
    def hedge(
        cls, actions: int, step: Scalar, *, operator: Operator = "softmax"
    ) -> "LinearAttention":
        r"""The stationary parameters $V = -k I$, $a = v_c = 0$: `Hedge(k)`, or on the ball `EuclideanFTRL(k)`.

        >>> LinearAttention.hedge(2, 0.5).values.tolist()
        [[-0.5, -0.0], [-0.0, -0.5]]
        """
        checks.positive("step", step)
        zeros = jnp.zeros(actions)
        blank = cls(actions, key=jax.random.key(0), operator=operator)
        return blank.replaced(-step * jnp.eye(actions), zeros, zeros)

    def replaced(self, values: Matrix, scores: Vector, bias: Vector) -> "LinearAttention":
        """The same model with the parameters $V$, $a$ and $v_c$ given."""
        return eqx.tree_at(lambda m: (m.values, m.scores, m.bias), self, (values, scores, bias))

    @property
    def layer(self) -> Layer:
        return Layer(self.values, self.bias, self.scores)


class FullLinearAttention(SingleLayer):
    r"""$\pi_t = \mathrm{Operator}\left(\sum_{s<t} (V \ell_s + v_c)\,(K \ell_s + k_c)^\top (Q 1 + q_c)\right)$.

    `reduced()` gives the `LinearAttention` that plays the same. Of the Gaussian parameters it starts with,
    $k_c$ and $q_c$ are around $1/\sqrt d$, so that the bias score $k_c^\top (Q 1 + q_c)$ starts near 1.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: of the Gaussian parameters that it starts with.
        operator: `"softmax"` onto the simplex, or `"ball"`: the identity in training, projected onto the L2 ball when
            playing; a ball model takes no seat in a game.
        radius: of the ball.
        projection: in place of that onto the ball, a function; by default none.
        scale: standard deviation of the parameters before training.

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

    def _start(self, key: PRNGKeyArray, scale: float, actions: int) -> None:
        matrices, biases = _draw_full(key, scale, actions)
        self.values, self.keys, self.queries = matrices
        self.value_bias, self.key_bias, self.query_bias = biases

    @property
    def layer(self) -> Layer:
        query = self.queries.sum(1) + self.query_bias
        return Layer(self.values, self.value_bias, query @ self.keys, query @ self.key_bias)

    def reduced(self) -> LinearAttention:
        r"""$V' = \kappa V$, $v_c' = \kappa v_c$, $a = K^\top (Q1 + q_c) / \kappa$ with $\kappa = k_c^\top (Q1 + q_c)$.

        The bias score $\kappa$ must not be 0; otherwise no reduced parameters play the same.
        """
        values, bias, slope, offset = self.layer
        if checks.is_concrete(offset) and not offset:
            raise ValueError("the bias score k_c^T (Q 1 + q_c) must not be 0")
        own: Any = {"operator": self.operator, "radius": self.radius, "projection": self.projection}
        blank = LinearAttention(self.actions, key=jax.random.key(0), **own)
        return blank.replaced(offset * values, slope / offset, offset * bias)


def check_operator(operator: str, projection: Projection | None) -> None:
    """Raise unless the operator is known and takes the projection."""
    if operator not in ("softmax", "ball"):
        raise ValueError(f'operator must be "softmax" or "ball", got {operator!r}')
    if operator == "softmax" and projection is not None:
        raise ValueError('a projection belongs to operator "ball", got operator "softmax"')


@partial(jax.jit, static_argnames="actions")
def _draw(key: PRNGKeyArray, scale: Scalar, actions: int) -> tuple[Array, Array, Array]:
    """$V$, $a$ and $v_c$ at the start, as one program."""
    drawn = scale * jax.random.normal(key, (actions + 2, actions))
    return drawn[:-2], drawn[-2], drawn[-1]


@partial(jax.jit, static_argnames="actions")
def _draw_full(key: PRNGKeyArray, scale: Scalar, actions: int) -> tuple[tuple, tuple]:
    """$V, K, Q$ and $v_c, k_c, q_c$ at the start, as one program."""
    drawn = scale * jax.random.normal(key, (3, actions + 1, actions))
    shift = actions**-0.5
    return tuple(drawn[:, :-1]), (drawn[0, -1], drawn[1, -1] + shift, drawn[2, -1] + shift)
