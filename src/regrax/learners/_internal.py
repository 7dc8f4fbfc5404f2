r"""Internal regret without a copy an action: learners that weigh the pairs $i \to j$ themselves.

Both keep the gains $R_{ij} = \sum_t \pi_{t,i} (\ell_{t,i} - \ell_{t,j})$ of playing $j$ wherever $i$ was played, turn
them into rates $A_{ij} \ge 0$, and play the distribution whose flow balances:
$\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from regrax.learners._base import Learner
from regrax.learners._steps import Step, all_steps, check_step, step_at
from regrax.simplex import stationary


class Pairs(NamedTuple):
    """State of the learners of pairs."""

    gains: Float[Array, "d d"]  # R_ij
    policy: Float[Array, "d"]
    round: Int[Array, ""]  # t - 1

    @classmethod
    def start(cls, actions: int) -> "Pairs":
        """Nothing gained yet, every action alike."""
        zero = jnp.zeros((actions, actions))
        return cls(zero, jnp.ones(actions) / actions, jnp.zeros((), int))

    def add(self, loss: Float[Array, "d"]) -> Float[Array, "d d"]:
        """The gains after one more round."""
        return self.gains + self.policy[:, None] * (loss[:, None] - loss[None, :])


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

    name: ClassVar[str] = "internal_regret_matching"
    about: ClassVar[str] = "from each action flow to others in proportion to positive regret"
    examples: ClassVar[tuple[str, ...]] = ("internal_regret_matching()",)
    regret: ClassVar = "internal"

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Pairs:
        return Pairs.start(actions)

    def policy(self, state: Pairs) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Pairs, feedback: Float[Array, "d"]) -> Pairs:
        gains = state.add(feedback)
        return Pairs(gains, balanced(jnp.maximum(gains, 0)), state.round + 1)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        return width * ((actions - 1) * rounds) ** 0.5


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

    name: ClassVar[str] = "stoltz_lugosi"
    about: ClassVar[str] = "Hedge over replacements of one action by another, and its fixed point"
    examples: ClassVar[tuple[str, ...]] = ("stoltz_lugosi(0.5)",)
    regret: ClassVar = "internal"
    step: Step

    def __check_init__(self) -> None:
        check_step(self.step)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Pairs:
        return Pairs.start(actions)

    def policy(self, state: Pairs) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Pairs, feedback: Float[Array, "d"]) -> Pairs:
        gains, round_ = state.add(feedback), state.round + 1
        pairs = jnp.where(_diagonal(gains), jnp.finfo(gains.dtype).min, gains)
        weights = jax.nn.softmax(step_at(self.step, round_) * pairs, axis=(0, 1))
        return Pairs(gains, balanced(weights), round_)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if np.any(np.diff(steps) > 0):
            return None
        pairs = max(actions * (actions - 1), 1)
        return float(np.log(pairs) / steps[-1] + width**2 / 8 * steps.sum())
