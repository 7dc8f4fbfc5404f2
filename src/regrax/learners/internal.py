r"""Internal-regret learners that weight the pairs $i \to j$ directly, instead of running a copy per action.

Both track the gains $R_{ij} = \sum_t \pi_{t,i} (\ell_{t,i} - \ell_{t,j})$ of playing $j$ wherever $i$ was played, turn
them into rates $A_{ij} \ge 0$, and play the distribution whose flow balances:
$\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from regrax.learners.base import Bound, Key, Learner, Prior, Rounds, prior_or_uniform
from regrax.learners.ftrl import BoundTerms, StepLearner, Sum, prior_field
from regrax.simplex import stationary
from regrax.specs import register


class Pairs(NamedTuple):
    """State of a `PairLearner`."""

    gains: Sum  # R_ij
    policy: Float[Array, "d"]
    round: Int[Array, ""]  # t - 1


def balanced(rates: Float[Array, "d d"]) -> Float[Array, "d"]:
    r"""Return the distribution with $\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$ for every $i$.

    Rates of relative size $\epsilon$ (one rounding error) are added between all actions: if several distributions
    balance the flow, this picks one that favours no action, and changes the flow by no more than rounding.
    """
    d = rates.shape[0]
    off = jnp.where(jnp.eye(d, dtype=bool), 0, rates)
    largest = off.sum(1).max()
    scaled = off / jnp.where(largest > 0, largest, 1)
    trickle = jnp.finfo(rates.dtype).eps / d
    leave = (1 - trickle) * scaled + trickle
    # elimination reads only the rates, but its derivative reads the whole matrix
    stay = jnp.diag(1 - leave.sum(1))
    return stationary((leave + stay).T)


class PairLearner(Learner):
    """An internal-regret learner, which turns gains into rates and plays the distribution that balances them."""

    regret: ClassVar = "internal"
    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Pairs:
        policy = prior_or_uniform(self.prior, actions)
        return Pairs(Sum.zeros(actions, actions), policy, jnp.zeros((), int))

    def policy(self, state: Pairs) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Pairs, feedback: Float[Array, "d"]) -> Pairs:
        gained = state.policy[:, None] * (feedback[:, None] - feedback[None, :])
        gains = state.gains.add(gained)
        round_ = state.round + 1
        return Pairs(gains, balanced(self.rates(gains.value, round_)), round_)

    @abstractmethod
    def rates(self, gains: Float[Array, "d d"], round_: Int[Array, ""]) -> Float[Array, "d d"]:
        """Return $A_{ij}$ after `round_` rounds."""


@register("learner", "internal_regret_matching()")
class InternalRegretMatching(PairLearner):
    r"""Regret matching for internal regret: balanced flows, proportional to positive regret.

    $\sum_j \pi_{t,i} R^+_{ij} = \sum_j \pi_{t,j} R^+_{ji}$.

    $R_{ij} = \sum_{s<t} \pi_{s,i} (\ell_{s,i} - \ell_{s,j})$ and $R^+ = \max(R, 0)$. Internal regret
    $\le w \sqrt{(d-1) T}$, so joint play converges to the set of correlated equilibria.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> rollout(InternalRegretMatching(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.8, 0.2]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium; (2001), A
    general class of adaptive strategies.
    """

    def rates(self, gains: Float[Array, "d d"], round_: Int[Array, ""]) -> Float[Array, "d d"]:
        return jnp.maximum(gains, 0)

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        return width * ((actions - 1) * np.asarray(rounds)) ** 0.5


@register("learner", "stoltz_lugosi(0.5)")
class StoltzLugosi(PairLearner, StepLearner):
    r"""Hedge over pairs of actions, for internal regret.

    $\pi_t = \sum_{i \ne j} \Delta_{ij} \pi_t^{i \to j}$, $\Delta_{ij} \propto e^{k_t R_{ij}}$.

    $\pi^{i \to j}$ is $\pi$ with the weight of $i$ moved to $j$. If the step size never grows, internal regret
    $\le \ln(d(d-1)) / k_T + \frac{w^2}{8} \sum_t k_t$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(StoltzLugosi(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]

    Reference: Stoltz, Lugosi (2005), Internal regret in on-line portfolio selection.
    """

    def rates(self, gains: Float[Array, "d d"], round_: Int[Array, ""]) -> Float[Array, "d d"]:
        pairs = jnp.where(jnp.eye(len(gains), dtype=bool), jnp.finfo(gains.dtype).min, gains)
        return jax.nn.softmax(self.step_at(round_) * pairs, axis=(0, 1))

    def bound_terms(self, actions: int, rounds: Rounds, width: float) -> BoundTerms:
        spread = float(np.log(max(actions * (actions - 1), 1)))
        # round 1 from a prior is not a fixed point and can cost one width
        return spread, width**2 / 8, 0.0 if self.prior is None else width
