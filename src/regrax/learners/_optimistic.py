"""Optimistic Hedge: Hedge that expects the last loss to come again."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from regrax.learners._base import (
    Bound,
    Key,
    Learner,
    Prior,
    Rounds,
    as_prior,
    check_prior,
    prior_bits,
    with_prior,
)
from regrax.learners._ftrl import Step, Sum, as_step, check_step, ftrl_bound, step_at


class Predicted(NamedTuple):
    """State of optimistic Hedge."""

    losses: Sum  # S_{t-1}
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

    step_size: Step = eqx.field(converter=as_step)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        check_step(self.step_size)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Predicted:
        check_prior(self.prior, actions)
        return Predicted(Sum.zeros(actions), jnp.zeros(actions), jnp.zeros((), int))

    def policy(self, state: Predicted) -> Float[Array, "d"]:
        logits = -step_at(self.step_size, state.round) * (state.losses.value + state.last)
        return jax.nn.softmax(with_prior(self.prior, logits))

    def update(self, state: Predicted, feedback: Float[Array, "d"]) -> Predicted:
        return Predicted(state.losses.add(feedback), feedback, state.round + 1)

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        return ftrl_bound(self.step_size, rounds, prior_bits(self.prior, actions), width**2 / 2)
