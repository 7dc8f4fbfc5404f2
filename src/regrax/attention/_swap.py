r"""The swap architecture: $d$ linear-attention heads whose softmax columns have the policy as their fixed point.

Round $t$ feeds every head the block features $X_t = (x_{1,t}, \dots, x_{d,t})$, $x_{i,t} = \pi_{t,i} \ell_t$, that is
$X_t = \mathrm{kron}(\pi_t, \ell_t)$. Head $j$ gives column $j$ of a column-stochastic matrix:

    p_{j,t} = softmax( sum_{s<t} (V_j X_s + v_j) (1 + a_j^T X_s) ),     pi_t = (p_{1,t} | ... | p_{d,t}) pi_t

Reference: Park, Ozdaglar, Training with (swap) regret loss in a single-layer self-attention model, section 4.
"""

from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention._base import Batch, TrainableLearner
from regrax.attention._linear import Layer
from regrax.learners import Key, Scalar, Sum, rollout
from regrax.simplex import stationary


class Columns(NamedTuple):
    """State of the swap architecture: the logits of every head, and the policy their columns fix."""

    logits: Sum  # a row per head
    policy: Float[Array, "d"]


class SwapAttention(TrainableLearner):
    r"""$\pi_t = P_t \pi_t$, column $j$ of $P_t$ the softmax of head $j$ on $\mathrm{kron}(\pi_s, \ell_s)$, $s < t$.

    `columns` is the training form: what the heads answer to given block features. `policies` plays the recurrence
    on a batch of loss sequences. Heads trained on Gaussian blocks of full scale are `calibrated()` before they play.

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
    bias: Float[Array, "d d"]  # v_j

    def __init__(self, actions: int, *, key: PRNGKeyArray, scale: float = 0.1) -> None:
        checks.at_least("actions", actions, 1)
        self.values, self.scores, self.bias = _draw(key, scale, actions)

    @classmethod
    def hedge(cls, actions: int, step: Scalar) -> "SwapAttention":
        r"""The stationary parameters: $V_j$ has $-k I$ at block $j$ and 0 elsewhere, $a_j = v_j = 0$.

        It plays `BlumMansour(Hedge(k))`.
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
        """The $d$ heads, stacked."""
        return Layer(self.values, self.bias, self.scores, jnp.ones(self.actions))

    def calibrated(self) -> "SwapAttention":
        r"""Features scaled by $d$: $V_j \to d V_j$, $a_j \to d a_j$, $v_j$ kept.

        Training feeds blocks of full scale, play feeds $x_{i,t} = \pi_{t,i} \ell_t$ of scale about $1/d$.
        """
        scaled = self.actions * self.values, self.actions * self.scores
        return eqx.tree_at(lambda model: (model.values, model.scores), self, scaled)

    def columns(self, blocks: Float[Array, "T d d n"]) -> Float[Array, "T d d n"]:
        """Entry `[t, j, :, n]` is $p_{j,t}$, what head $j$ answers to `blocks[s, i, :, n]` $= x_{i,s}$ for $s < t$."""
        rounds, d, _, count = blocks.shape
        checks.plays(self, d)
        features = blocks.reshape(rounds, d * d, count)
        logits = jax.vmap(lambda head: head.logits(features), out_axes=1)(self.heads)
        return jax.nn.softmax(logits, axis=2)

    def policies(self, losses: Batch) -> Batch:
        return jnp.asarray(jax.vmap(lambda sequence: rollout(self, sequence), -1, -1)(losses))

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Columns:
        checks.plays(self, actions)
        return Columns(Sum.zeros(actions, actions), jnp.full(actions, 1 / actions))

    def policy(self, state: Columns) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Columns, feedback: Float[Array, "d"]) -> Columns:
        features = jnp.kron(state.policy, feedback)
        logits = state.logits.add(jax.vmap(lambda head: head.increment(features))(self.heads))
        return Columns(logits, stationary(jax.nn.softmax(logits.value).T, state.policy))


@partial(jax.jit, static_argnames="actions")
def _draw(key: PRNGKeyArray, scale: Scalar, actions: int) -> tuple[Array, ...]:
    r"""$V_j$, $a_j$ and $v_j$ at the start, as one program."""
    shapes = (actions, actions, actions**2), (actions, actions**2), (actions, actions)
    keys = jax.random.split(key, 3)
    return tuple(scale * jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True))
