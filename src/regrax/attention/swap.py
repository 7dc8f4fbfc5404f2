r"""The swap architecture: $d$ linear-attention heads give the columns of a matrix whose fixed point is the policy.

In round $t$ every head sees the block features $X_t = (x_{1,t}, \dots, x_{d,t})$, $x_{i,t} = \pi_{t,i} \ell_t$, that is
$X_t = \mathrm{kron}(\pi_t, \ell_t)$. Head $j$ gives column $j$ of a column-stochastic matrix:

    p_{j,t} = softmax( sum_{s<t} (V_j X_s + v_j) (1 + a_j^T X_s) ),     pi_t = (p_{1,t} | ... | p_{d,t}) pi_t

Reference: Park, Ozdaglar, Training with (swap) regret loss in a single-layer self-attention model, section 4.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention.base import TrainableLearner
from regrax.attention.linear import Layer
from regrax.learners import Key, Scalar, Sum
from regrax.simplex import Matrix, Vector, stationary


class Columns(NamedTuple):
    """State in play: the logits of every head and the fixed point of their columns."""

    logits: Sum  # one row per head
    policy: Vector


class SwapAttention(TrainableLearner):
    r"""$\pi_t = P_t \pi_t$; column $j$ of $P_t$ is the softmax of head $j$ on $\mathrm{kron}(\pi_s, \ell_s)$, $s < t$.

    `columns` is the training form: it maps block features to the heads' columns. `policies` runs the recurrence on a
    batch of loss sequences. Heads trained on Gaussian blocks need `calibrated()` before they play.

    Args:
        actions: number of actions $d$, an integer >= 1.
        key: random key for the initial parameters, which are Gaussian.
        scale: standard deviation of the initial parameters.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> SwapAttention(3, key=jax.random.key(0)).values.shape
    (3, 3, 9)
    >>> rollout(SwapAttention.hedge(2, 1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.378, 0.622]]
    """

    name: ClassVar[str] = "swap_attention"
    values: Float[Array, "d d dd"]  # V_j
    scores: Float[Array, "d dd"]  # a_j
    bias: Matrix  # v_j

    def __init__(self, actions: int, *, key: PRNGKeyArray, scale: float = 0.1) -> None:
        checks.at_least("actions", actions, 1)
        values, scores, bias = jax.random.split(key, 3)
        self.values = scale * jax.random.normal(values, (actions, actions, actions**2))
        self.scores = scale * jax.random.normal(scores, (actions, actions**2))
        self.bias = scale * jax.random.normal(bias, (actions, actions))

    @classmethod
    def hedge(cls, actions: int, step: Scalar) -> "SwapAttention":
        r"""Return the stationary model, which plays `BlumMansour(Hedge(k))`.

        $V_j$ has $-k I$ at block $j$ and 0 elsewhere, $a_j = v_j = 0$.
        """
        checks.positive("step", step)
        identity = jnp.eye(actions)
        blocks = -step * jnp.einsum("jr,ic->jirc", identity, identity)
        zero = jax.tree.map(jnp.zeros_like, cls(actions, key=jax.random.key(0)))
        return eqx.tree_at(lambda model: model.values, zero, blocks.reshape(zero.values.shape))

    @property
    def actions(self) -> int:
        return self.bias.shape[-1]

    @property
    def settings(self) -> dict[str, Any]:
        return {"actions": self.actions}

    @property
    def heads(self) -> Layer:
        """The $d$ heads, stacked along the first axis."""
        return Layer(self.values, self.bias, self.scores, jnp.ones(self.actions))

    def calibrated(self) -> "SwapAttention":
        r"""Return a copy for play, with features scaled by $d$: $V_j \to d V_j$, $a_j \to d a_j$, $v_j$ unchanged.

        Training uses full-scale blocks, but in play $x_{i,t} = \pi_{t,i} \ell_t$ has scale about $1/d$.
        """
        scaled = (self.actions * self.values, self.actions * self.scores)
        return eqx.tree_at(lambda model: (model.values, model.scores), self, scaled)

    def columns(self, blocks: Float[Array, "T d d n"]) -> Float[Array, "T d d n"]:
        """Compute the heads' columns: entry `[t, j, :, n]` is $p_{j,t}$, given `blocks[s, i, :, n]` $= x_{i,s}$."""
        rounds, actions, _, count = blocks.shape
        checks.plays(self, actions)
        features = blocks.reshape(rounds, actions**2, count)
        logits = jax.vmap(lambda head: head.logits(features), out_axes=1)(self.heads)
        return jax.nn.softmax(logits, axis=2)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Columns:
        checks.plays(self, actions)
        return Columns(Sum.zeros(actions, actions), jnp.full(actions, 1 / actions, float))

    def update(self, state: Columns, feedback: Vector) -> Columns:
        features = jnp.kron(state.policy, feedback)
        logits = state.logits.add(jax.vmap(lambda head: head.increment(features))(self.heads))
        return Columns(logits, stationary(jax.nn.softmax(logits.value).T, state.policy))
