"""Optimistic Hedge: Hedge that expects the last loss to come again."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax.learners._base import Learner
from regrax.learners._steps import Step, all_steps, check_step, step_at


class Predicted(NamedTuple):
    """State of optimistic Hedge."""

    total: Float[Array, "d"]  # S_{t-1}
    last: Float[Array, "d"]  # the loss of round t - 1, the forecast of round t's
    round: Int[Array, ""]  # t - 1


class OptimisticHedge(Learner):
    r"""$\pi_t = \mathrm{softmax}(-k_t (S_{t-1} + \ell_{t-1}))$, $\ell_0 = 0$: the last loss counts twice.

    With non-increasing steps regret is at most
    $\ln d / k_T + \frac18 \sum_t k_t\, \mathrm{span}(\ell_t - \ell_{t-1})^2 \le \ln d / k_T + \frac{w^2}{2} \sum_t k_t$
    (Hedge's bound with $\ell_t - \ell_{t-1}$ in the place of $\ell_t$): small where losses change slowly, as they do
    when every player of a game is optimistic.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(OptimisticHedge(0.5), jnp.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731], [0.378, 0.622]]

    Reference: Rakhlin, Sridharan (2013), Online learning with predictable sequences; Syrgkanis, Agarwal, Luo,
    Schapire (2015), Fast convergence of regularized learning in games.
    """

    name: ClassVar[str] = "optimistic_hedge"
    about: ClassVar[str] = "Hedge that counts the last loss twice, as a forecast of the next"
    examples: ClassVar[tuple[str, ...]] = ("optimistic_hedge(0.3)",)
    step: Step

    def __check_init__(self) -> None:
        check_step(self.step)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Predicted:
        return Predicted(jnp.zeros(actions), jnp.zeros(actions), jnp.zeros((), int))

    def policy(self, state: Predicted) -> Float[Array, "d"]:
        return jax.nn.softmax(-step_at(self.step, state.round) * (state.total + state.last))

    def update(self, state: Predicted, feedback: Float[Array, "d"]) -> Predicted:
        return Predicted(state.total + feedback, feedback, state.round + 1)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if np.any(np.diff(steps) > 0):
            return None
        return float(np.log(actions) / steps[-1] + width**2 / 2 * steps.sum())
