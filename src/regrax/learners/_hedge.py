"""Hedge: entropy-regularised follow-the-leader, the algorithm that regret-trained attention becomes."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax.learners._base import Learner
from regrax.learners._steps import Step, all_steps, check_step, step_at

SHORT = 32  # actions up to which many copies take their exponentials together


class Cumulative(NamedTuple):
    """State of learners that look at the sum of past losses only."""

    total: Float[Array, "d *n"]  # S_{t-1}, or what differs from it by a constant
    round: Int[Array, "*n"]  # t - 1

    @classmethod
    def start(cls, actions: int) -> "Cumulative":
        """No loss seen yet."""
        return cls(jnp.zeros(actions), jnp.zeros((), int))

    def add(self, loss: Float[Array, "d *n"]) -> "Cumulative":
        """One more round."""
        return Cumulative(self.total + loss, self.round + 1)


class Hedge(Learner):
    r"""$\pi_t = \mathrm{softmax}(-k_t S_{t-1})$, $S_{t-1} = \sum_{s<t} \ell_s$: smoothed fictitious play.

    `step` is a number, or a schedule: `InverseSqrt(c)`, the decreasing step that needs no horizon, or
    `PerRound(k_1, ..., k_T)`. With non-increasing steps and losses that span at most $w$ a round, regret
    $\le \ln d / k_T + \frac{w^2}{8} \sum_t k_t$: for `InverseSqrt(c)` at most $(\ln d / c + c w^2 / 4) \sqrt T$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Hedge(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]
    >>> from regrax.learners import InverseSqrt
    >>> rollout(Hedge(InverseSqrt(1.0)), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.330, 0.670]]

    Reference: Freund, Schapire (1997), A decision-theoretic generalization of on-line learning.
    """

    name: ClassVar[str] = "hedge"
    about: ClassVar[str] = "smoothed fictitious play: softmax of minus the step times past losses"
    examples: ClassVar[tuple[str, ...]] = (
        "hedge(0.4479)",
        "hedge(inverse_sqrt(1.0))",
        "hedge(per_round(0.5, 0.4, 0.3))",
    )
    step: Step

    def __check_init__(self) -> None:
        check_step(self.step)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Cumulative:
        return Cumulative.start(actions)

    @property
    def side_by_side(self) -> bool:
        return True

    def policy(self, state: Cumulative) -> Float[Array, "d *n"]:
        return jax.nn.softmax(self._exponents(state), axis=0)

    def policies_of(self, states: Cumulative) -> Float[Array, "m d *n"]:
        if states.total.ndim > 2:
            return super().policies_of(states)
        return _softmax_of_rows(jax.vmap(self._exponents)(states))

    def _exponents(self, state: Cumulative) -> Float[Array, "d *n"]:
        step = jnp.broadcast_to(step_at(self.step, state.round), state.round.shape)
        return -step[None] * state.total

    def update(self, state: Cumulative, feedback: Float[Array, "d *n"]) -> Cumulative:
        # relative to the first action's: the same policies, and a sum that rounding does not drown over long horizons
        return state.add(feedback - feedback[:1])

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if np.any(np.diff(steps) > 0):
            return None
        return float(np.log(actions) / steps[-1] + width**2 / 8 * steps.sum())


def _softmax_of_rows(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """As `jax.nn.softmax`; exponentials of short rows in one long loop, since a row would not fill the lanes."""
    if rows.shape[1] > SHORT:
        return jax.nn.softmax(rows)
    shifted = rows - lax.stop_gradient(rows.max(1, keepdims=True))
    weights = jnp.exp(lax.optimization_barrier(shifted.ravel())).reshape(rows.shape)
    return weights / weights.sum(1, keepdims=True)
