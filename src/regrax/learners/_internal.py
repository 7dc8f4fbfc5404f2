r"""Internal regret without a copy per action: learners that weigh the pairs $i \to j$ themselves.

Both keep the gains $R_{ij} = \sum_t \pi_{t,i} (\ell_{t,i} - \ell_{t,j})$ of playing $j$ wherever $i$ was played, turn
them into rates $A_{ij} \ge 0$, and play the distribution whose flow balances:
$\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from regrax.learners._base import Bound, Key, Learner, Prior, Rounds, as_prior, prior_or_uniform
from regrax.learners._ftrl import Step, Sum, as_step, check_step, ftrl_bound, step_at
from regrax.simplex import stationary


class Pairs(NamedTuple):
    """State of the learners of pairs."""

    gains: Sum  # R_ij
    policy: Float[Array, "d"]
    round: Int[Array, ""]  # t - 1

    @classmethod
    def start(cls, actions: int, prior: Prior) -> "Pairs":
        """Nothing gained yet."""
        return cls(
            Sum.zeros(actions, actions), prior_or_uniform(prior, actions), jnp.zeros((), int)
        )

    def add(self, loss: Float[Array, "d"]) -> Sum:
        """The gains after one more round."""
        return self.gains.add(self.policy[:, None] * (loss[:, None] - loss[None, :]))


def balanced(rates: Float[Array, "d d"]) -> Float[Array, "d"]:
    r"""The distribution with $\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$ for every $i$.

    A trickle of relative size $\epsilon$, the rounding of one number, runs between all actions: where the rates leave
    several answers it picks one that favours no action, and it unbalances the flow by no more than rounding.
    """
    d = rates.shape[0]
    off = jnp.where(_diagonal(rates), 0, rates)
    most = off.sum(1).max()
    scaled = off / jnp.where(most > 0, most, 1)
    trickle = jnp.finfo(rates.dtype).eps / d
    leave = (1 - trickle) * scaled + trickle
    stay = jnp.diag(
        1 - leave.sum(1)
    )  # the elimination reads rates only, its derivative the whole matrix
    return stationary((leave + stay).T)


def _diagonal(matrix: Float[Array, "d d"]) -> Bool[Array, "d d"]:
    return jnp.eye(matrix.shape[0], dtype=bool)


class InternalRegretMatching(Learner):
    r"""$\sum_j \pi_{t,i} R^+_{ij} = \sum_j \pi_{t,j} R^+_{ji}$: flow in proportion to positive gains, balanced.

    $R_{ij} = \sum_{s<t} \pi_{s,i} (\ell_{s,i} - \ell_{s,j})$ and $R^+ = \max(R, 0)$. Internal regret
    $\le w \sqrt{(d-1) T}$, so joint play tends to the correlated equilibria.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> rollout(InternalRegretMatching(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.8, 0.2]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium; (2001), A
    general class of adaptive strategies.
    """

    regret: ClassVar = "internal"
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Pairs:
        return Pairs.start(actions, self.prior)

    def policy(self, state: Pairs) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Pairs, feedback: Float[Array, "d"]) -> Pairs:
        gains = state.add(feedback)
        return Pairs(gains, balanced(jnp.maximum(gains.value, 0)), state.round + 1)

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        return width * ((actions - 1) * np.asarray(rounds)) ** 0.5


class StoltzLugosi(Learner):
    r"""$\pi_t = \sum_{i \ne j} \Delta_{ij} \pi_t^{i \to j}$, $\Delta_{ij} \propto e^{k_t R_{ij}}$.

    Hedge over the pairs; $\pi^{i \to j}$ is $\pi$ with the weight of $i$ moved to $j$. With non-increasing steps
    internal regret $\le \ln(d(d-1)) / k_T + \frac{w^2}{8} \sum_t k_t$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(StoltzLugosi(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]

    Reference: Stoltz, Lugosi (2005), Internal regret in on-line portfolio selection.
    """

    regret: ClassVar = "internal"
    step_size: Step = eqx.field(converter=as_step)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        check_step(self.step_size)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Pairs:
        return Pairs.start(actions, self.prior)

    def policy(self, state: Pairs) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Pairs, feedback: Float[Array, "d"]) -> Pairs:
        gains, round_ = state.add(feedback), state.round + 1
        pairs = jnp.where(_diagonal(gains.value), jnp.finfo(feedback.dtype).min, gains.value)
        weights = jax.nn.softmax(step_at(self.step_size, round_) * pairs, axis=(0, 1))
        return Pairs(gains, balanced(weights), round_)

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        spread = float(np.log(max(actions * (actions - 1), 1)))
        known = ftrl_bound(self.step_size, rounds, spread, width**2 / 8)
        # round 1 played from a prior is no fixed point: it costs what one round can
        return known if self.prior is None or known is None else known + width
