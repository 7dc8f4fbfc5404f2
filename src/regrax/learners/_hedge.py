"""Hedge: entropy-regularised follow-the-leader, the algorithm that regret-trained attention becomes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from regrax import _fast_paths as fast_paths
from regrax.learners._base import (
    Bound,
    Learner,
    Prior,
    Rounds,
    State,
    SumLearner,
    as_prior,
    prior_bits,
    with_prior,
)
from regrax.learners._steps import Step, as_step, check_step, ftrl_bound, step_at
from regrax.learners._sums import Cumulative


class Hedge(SumLearner):
    r"""$\pi_t = \mathrm{softmax}(-k_t S_{t-1})$, $S_{t-1} = \sum_{s<t} \ell_s$: smoothed fictitious play.

    `step_size` is a number, or a schedule: `InverseSqrt(c)`, the decreasing step that needs no horizon, or
    `PerRound(k_1, ..., k_T)`. With non-increasing steps and losses that span at most $w$ a round, regret
    $\le \ln d / k_T + \frac{w^2}{8} \sum_t k_t$: for `InverseSqrt(c)` at most $(\ln d / c + c w^2 / 4) \sqrt T$. From a
    `prior` $\pi_1$ it plays $\pi_t \propto \pi_1 e^{-k_t S_{t-1}}$, and $\max_j \ln(1/\pi_{1,j})$ takes the place of
    $\ln d$; an action whose prior is 0 is never played.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Hedge(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]
    >>> from regrax.learners import InverseSqrt
    >>> rollout(Hedge(InverseSqrt(1.0)), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.330, 0.670]]

    Reference: Freund, Schapire (1997), A decision-theoretic generalization of on-line learning.
    """

    step_size: Step = eqx.field(converter=as_step)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        check_step(self.step_size)

    def policy(self, state: Cumulative) -> Float[Array, "d *n"]:
        return jax.nn.softmax(self.logits(state), axis=0)

    def logits(self, state: Cumulative) -> Float[Array, "d *n"]:
        r"""$\ln \pi_1 - k_t S_{t-1}$."""
        step = jnp.broadcast_to(step_at(self.step_size, state.round), state.round.shape)
        return with_prior(self.prior, -step[None] * state.total)

    def update(self, state: Cumulative, feedback: Float[Array, "d *n"]) -> Cumulative:
        # relative to the first action's: the same policies, and a sum that rounding does not drown over long horizons
        return state.add(feedback - feedback[:1])

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        return ftrl_bound(self.step_size, rounds, prior_bits(self.prior, actions), width**2 / 8)


def stacked_policies(learner: Learner, states: State) -> Float[Array, "m d *n"]:
    """`learner.policy` of many states, stacked."""
    if isinstance(learner, Hedge) and states.total.ndim == 2:
        return _softmax_of_rows(jax.vmap(learner.logits)(states))
    return jax.vmap(learner.policy)(states)


def _softmax_of_rows(rows: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """As `jax.nn.softmax`; exponentials of short rows in one long loop, since a row would not fill the lanes."""
    if rows.shape[1] > fast_paths.MAX_JOINED_ACTIONS:
        return jax.nn.softmax(rows)
    shifted = rows - lax.stop_gradient(rows.max(1, keepdims=True))
    weights = jnp.exp(lax.optimization_barrier(shifted.ravel())).reshape(rows.shape)
    return weights / weights.sum(1, keepdims=True)
