"""Hedge, and its adaptive, doubling and optimistic variants."""

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from regrax import _checks as checks
from regrax.learners.base import (
    Bound,
    Count,
    Cumulative,
    Key,
    Learner,
    Prior,
    Rounds,
    Scalar,
    StepLearner,
    Sum,
    SumLearner,
    check_prior,
    exponential_weights,
    prior_bits,
    prior_field,
    step_bound,
    where,
)
from regrax.simplex import Integer, Number, Vector
from regrax.specs import register


@register("learner", "hedge(0.4479)", "hedge(inverse_sqrt(1.0))", "hedge(per_round(0.5, 0.4, 0.3))")
class Hedge(StepLearner, SumLearner):
    r"""Smoothed fictitious play: the softmax of minus the step size times past losses.

    $\pi_t = \mathrm{softmax}(-k_t S_{t-1})$, $S_{t-1} = \sum_{s<t} \ell_s$. The step size $k_t$ is a number, or a
    schedule: `InverseSqrt(c)`, which needs no horizon, or `PerRound(k_1, ..., k_T)`. If the step size never grows and
    the range of losses in a round is at most $w$, regret $\le \ln d / k_T + \frac{w^2}{8} \sum_t k_t$; for
    `InverseSqrt(c)` at most $(\ln d / c + c w^2 / 4) \sqrt T$. With a `prior` $\pi_1$ it plays
    $\pi_t \propto \pi_1 e^{-k_t S_{t-1}}$, and $\max_j \ln(1/\pi_{1,j})$ replaces $\ln d$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Hedge(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]
    >>> from regrax.learners import InverseSqrt
    >>> rollout(Hedge(InverseSqrt(1.0)), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.330, 0.670]]

    Reference: Freund, Schapire (1997), A decision-theoretic generalization of on-line learning.
    """

    prior: Prior = prior_field()

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        return exponential_weights(self.prior, -self.step_at(round) * sums)

    def update(self, state: Cumulative, feedback: Vector) -> Cumulative:
        # relative to the first action: the policy is the same, and the sum stays small over long horizons
        return state.add(feedback - feedback[0])

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return step_bound(self.step_size, rounds, prior_bits(self.prior, actions), width**2 / 8)


class Mixability(NamedTuple):
    """State of AdaHedge."""

    losses: Sum  # S_{t-1}
    gaps: Sum  # Delta_{t-1}, the sum of past mixability gaps


@register("learner", "ada_hedge()")
class AdaHedge(Learner):
    r"""Hedge that tunes its step size to the losses it sees.

    $\pi_t = \mathrm{softmax}(-k_t S_{t-1})$, $k_t = \ln d / \Delta_{t-1}$ ($\Delta_0 = 0$: the leaders).

    $\Delta_t = \Delta_{t-1} + \langle \ell_t, \pi_t \rangle + \frac{1}{k_t} \ln \sum_j \pi_{t,j} e^{-k_t \ell_{t,j}}$
    sums the losses of the policy minus its mix losses. It has no hyperparameters, and rescaling or shifting the losses
    does not change its play. Regret $\le w \sqrt{T \ln d} + w' (\frac43 \ln d + 2)$ with $w'$ the span of the widest
    round.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(AdaHedge(), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.2, 0.8]]

    Reference: de Rooij, van Erven, Grünwald, Koolen (2014), Follow the leader if you can, hedge if you must.
    """

    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Mixability:
        return Mixability(Sum.zeros(actions), Sum.zeros())

    def policy(self, state: Mixability) -> Vector:
        return self._mixed(_step(state), state.losses.value)[1]

    def update(self, state: Mixability, feedback: Vector) -> Mixability:
        # relative to the smallest total and the smallest loss, so that equal losses have a gap of exactly 0
        total = state.losses.value - state.losses.value.min()
        loss = feedback - feedback.min()
        step = _step(state)
        before, policy = self._mixed(step, total)
        mixed = self._mixed(step, total + loss)[0] - before
        gap = jnp.maximum(policy @ loss - mixed, 0)
        return Mixability(state.losses.add(feedback), state.gaps.add(gap))

    def _mixed(self, step: Number, total: Vector) -> tuple[Number, Vector]:
        r"""Return $-\frac1k \ln \sum_j \pi_{1,j} e^{-k S_j}$, which grows by the mix loss, and the policy after $S$."""
        check_prior(self.prior, total.size)
        prior = 1.0
        least = total.min()
        if self.prior is not None:
            prior = jnp.asarray(self.prior, total.dtype)
            least = jnp.where(prior > 0, total, jnp.inf).min()
            total = jnp.where(prior > 0, total, least)  # keeps derivatives finite
        weights = prior * jnp.exp(-step * (total - least))
        return least - jnp.log(weights.sum()) / step, weights / weights.sum()

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        if self.prior is not None:
            return None
        log = np.log(actions)
        return width * np.sqrt(rounds * log) + largest * (4 / 3 * log + 2)


def _step(state: Mixability) -> Number:
    r"""Return $\ln d / \Delta$; if $\Delta$ is too small to divide by, a step that leaves only the leaders."""
    gaps = state.gaps.value
    tiny = float(jnp.finfo(gaps.dtype).tiny)
    log = math.log(max(state.losses.value.size, 2))  # one action has no gaps, whatever the step
    return log / jnp.where(gaps > tiny**0.25, gaps, tiny**0.75)


class Epoch(NamedTuple):
    """State of doubling Hedge."""

    losses: Sum  # of this epoch
    left: Integer  # rounds left in the epoch, including this one
    length: Integer


@register("learner", "doubling_hedge(2.0)")
class DoublingHedge(Learner):
    r"""Hedge restarted in epochs of doubling length, each with a matching step size.

    Hedge in epochs of $n = 1, 2, 4, \dots$ rounds, each restarted with the step size $c / \sqrt n$.

    It needs no horizon. Regret is at most the sum of the epochs' bounds $\ln d / k + k w^2 n / 8$ with $k = c / \sqrt
    n$; $c = \sqrt{8 \ln d}$ makes it $w \sqrt{T \ln d / 2}$ times at most $\sqrt2 / (\sqrt2 - 1)$, about 3.4.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[9.0, 0.0], [2**0.5, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> rollout(DoublingHedge(1.0), losses).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.269, 0.731], [0.5, 0.5]]

    Reference: Cesa-Bianchi, Freund, Haussler, Helmbold, Schapire, Warmuth (1997), How to use expert advice.
    """

    scale: Scalar = eqx.field(converter=checks.as_float)
    prior: Prior = prior_field()

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Epoch:
        return Epoch(Sum.zeros(actions), jnp.ones((), int), jnp.ones((), int))

    def policy(self, state: Epoch) -> Vector:
        total = state.losses.value
        step = self.scale / jnp.sqrt(state.length.astype(total.dtype))
        return exponential_weights(self.prior, -step * total)

    def update(self, state: Epoch, feedback: Vector) -> Epoch:
        over = state.left == 1
        length = jnp.where(over, 2 * state.length, state.length)
        losses = where(over, Sum.zeros(feedback.size), state.losses.add(feedback))
        return Epoch(losses, jnp.where(over, length, state.left - 1), length)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        lengths = 2 ** np.arange(int(rounds.max()).bit_length())
        # the last epoch may be incomplete
        played = np.clip(rounds[..., None] - lengths + 1, 0, lengths)
        steps = float(self.scale) / np.sqrt(lengths)
        epochs = prior_bits(self.prior, actions) / steps + width**2 / 8 * steps * played
        return np.where(played > 0, epochs, 0).sum(-1)


class Predicted(NamedTuple):
    """State of optimistic Hedge."""

    losses: Sum  # S_{t-1}
    last: Vector  # the loss of round t - 1, a forecast for round t
    round: Integer  # t - 1


@register("learner", "optimistic_hedge(0.3)")
class OptimisticHedge(StepLearner):
    r"""Hedge that counts the last loss twice, as a forecast of the next.

    $\pi_t = \mathrm{softmax}(-k_t (S_{t-1} + \ell_{t-1}))$, $\ell_0 = 0$.

    If the step size never grows, regret is at most
    $\ln d / k_T + \frac18 \sum_t k_t\, \mathrm{span}(\ell_t - \ell_{t-1})^2 \le \ln d / k_T + \frac{w^2}{2} \sum_t k_t$
    (Hedge's bound with $\ell_t - \ell_{t-1}$ in place of $\ell_t$). This is small when losses change slowly, as they do
    when every player of a game is optimistic.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(OptimisticHedge(0.5), jnp.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731], [0.378, 0.622]]

    Reference: Rakhlin, Sridharan (2013), Online learning with predictable sequences; Syrgkanis, Agarwal, Luo,
    Schapire (2015), Fast convergence of regularized learning in games.
    """

    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Predicted:
        return Predicted(Sum.zeros(actions), jnp.zeros(actions), jnp.zeros((), int))

    def policy(self, state: Predicted) -> Vector:
        logits = -self.step_at(state.round) * (state.losses.value + state.last)
        return exponential_weights(self.prior, logits)

    def update(self, state: Predicted, feedback: Vector) -> Predicted:
        return Predicted(state.losses.add(feedback), feedback, state.round + 1)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return step_bound(self.step_size, rounds, prior_bits(self.prior, actions), width**2 / 2)
