r"""Linear self-attention, the single layer that regret training turns into smoothed fictitious play.

Full form, with the placeholder $1_d$ as the query, and reduced form:

    z_t = sum_{s<t} (V l_s + v_c) ((K l_s + k_c)^T (Q 1 + q_c))
    z_t = sum_{s<t} (V l_s + v_c) (1 + a^T l_s)

The policy is $\mathrm{softmax}(z_t)$; or, with the identity operator, $z_t$ in training and its projection onto the L2
ball in play. $V \to V + 1 c^\top$ and $v_c \to v_c + \alpha 1$ change no softmax policy.

Reference: Park, Ozdaglar, Training with (swap) regret loss in a single-layer self-attention model, section 2.1.
"""

from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention._layer import Layer, Operator, Projection, SingleLayer, check_operator
from regrax.learners import Scalar


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
    values: Float[Array, "d d"]  # V
    scores: Float[Array, "d"]  # a
    bias: Float[Array, "d"]  # v_c
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
        check_operator(operator, radius, projection)
        self.operator, self.radius, self.projection = operator, radius, projection
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

    def replaced(
        self, values: Float[Array, "d d"], scores: Float[Array, "d"], bias: Float[Array, "d"]
    ) -> "LinearAttention":
        """The same model with the parameters $V$, $a$ and $v_c$ given."""
        parameters = lambda model: (model.values, model.scores, model.bias)  # noqa: E731
        return eqx.tree_at(parameters, self, (values, scores, bias))

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
    values: Float[Array, "d d"]  # V
    keys: Float[Array, "d d"]  # K
    queries: Float[Array, "d d"]  # Q
    value_bias: Float[Array, "d"]  # v_c
    key_bias: Float[Array, "d"]  # k_c
    query_bias: Float[Array, "d"]  # q_c
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
        check_operator(operator, radius, projection)
        self.operator, self.radius, self.projection = operator, radius, projection
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
        blank = LinearAttention(
            self.actions,
            key=jax.random.key(0),
            operator=self.operator,
            radius=self.radius,
            projection=self.projection,
        )
        return blank.replaced(offset * values, slope / offset, offset * bias)


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
