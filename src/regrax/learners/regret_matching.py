"""Regret matching and its plus, predictive and discounted variants, which need no step size."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from regrax import _checks as checks
from regrax.learners.base import (
    Bound,
    Key,
    Learner,
    Prior,
    Rounds,
    Scalar,
    Sum,
    check_prior,
    prior_field,
)
from regrax.simplex import Integer, Vector
from regrax.specs import register


def proportional(regrets: Vector, prior: Prior) -> Vector:
    """Normalise `max(R, 0)`; if no regret is positive, return the prior, by default uniform."""
    check_prior(prior, regrets.size)
    positive = jnp.maximum(regrets, 0)
    total = positive.sum()
    has_regret = total > 0
    otherwise = 1 / regrets.size if prior is None else jnp.asarray(prior, regrets.dtype)
    return jnp.where(has_regret, positive / jnp.where(has_regret, total, 1), otherwise)


class Regrets(NamedTuple):
    """State of regret matching."""

    sums: Sum  # R_{t-1}
    last: Vector  # r_{t-1}
    round: Integer  # t - 1


class RegretLearner(Learner):
    r"""A learner that plays in proportion to its positive regrets.

    Variants differ in how they `add` the regret of a round, $r_t = \langle \ell_t, \pi_t \rangle 1 - \ell_t$.
    """

    prior: eqx.AbstractVar[Prior]

    @abstractmethod
    def add(self, state: Regrets, instant: Vector) -> Sum:
        r"""Return $R_t$, given $R_{t-1}$ and $r_t$."""

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Regrets:
        return Regrets(Sum.zeros(actions), jnp.zeros(actions), jnp.zeros((), int))

    def policy(self, state: Regrets) -> Vector:
        return proportional(state.sums.value, self.prior)

    def update(self, state: Regrets, feedback: Vector) -> Regrets:
        instant = self.policy(state) @ feedback - feedback
        return Regrets(self.add(state, instant), instant, state.round + 1)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return width * ((actions - 1) * rounds) ** 0.5


@register("learner", "regret_matching()")
class RegretMatching(RegretLearner):
    r"""Regret matching: play actions in proportion to their positive regret.

    $\pi_t \propto \max(R_{t-1}, 0)$, $R_t = R_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t$.

    Regret $\le w \sqrt{(d-1) T}$ if the range of losses in a round is at most $w$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatching(), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium.
    """

    prior: Prior = prior_field()

    def add(self, state: Regrets, instant: Vector) -> Sum:
        return state.sums.add(instant)


@register("learner", "regret_matching_plus()")
class RegretMatchingPlus(RegretLearner):
    r"""Regret matching that resets negative regret to zero.

    $\pi_t \propto Q_{t-1}$, $Q_t = \max(Q_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t, 0)$.

    It follows a changing best action faster than regret matching and has the same bound.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatchingPlus(), jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]

    Reference: Tammelin (2014), Solving large imperfect information games using CFR+.
    """

    prior: Prior = prior_field()

    def add(self, state: Regrets, instant: Vector) -> Sum:
        return state.sums.add(instant).clipped()


@register("learner", "predictive_regret_matching_plus()")
class PredictiveRegretMatchingPlus(RegretMatchingPlus):
    r"""Regret matching plus that expects the last round to repeat.

    $\pi_t \propto \max(Q_{t-1} + r_{t-1}, 0)$, $Q_t = \max(Q_{t-1} + r_t, 0)$.

    $r_t = \langle \ell_t, \pi_t \rangle 1 - \ell_t$. This is optimistic gradient descent on the
    nonnegative orthant at any step size, so regret $\le \sqrt{\sum_t \|r_t - r_{t-1}\|^2} \le 2 w \sqrt{(d-1) T}$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    >>> rollout(PredictiveRegretMatchingPlus(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.667, 0.333]]

    Reference: Farina, Kroer, Sandholm (2021), Faster game solving via predictive Blackwell approachability.
    """

    def policy(self, state: Regrets) -> Vector:
        return proportional(state.sums.value + state.last, self.prior)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return super()._bound(actions, rounds, 2 * width, largest)


@register("learner", "discounted_regret_matching(2.0, -1.0)")
class DiscountedRegretMatching(RegretLearner):
    r"""Regret matching that discounts old regret.

    $\pi_t \propto \max(R_{t-1}, 0)$; after round $t$, $R_t = R_{t-1} + r_t$ is discounted.

    Positive entries are multiplied by $t^\alpha / (t^\alpha + 1)$ and negative ones by $t^\beta / (t^\beta + 1)$, the
    weights of discounted CFR. For $\beta \le \alpha$ regret $\le w \sqrt{(d-1) T} \prod_{t<T} (1 + t^{-\alpha})$, and
    the product stays bounded for $\alpha > 1$ (9.2 for $\alpha = 1.5$).

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    >>> rollout(DiscountedRegretMatching(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]

    Reference: Brown, Sandholm (2019), Solving imperfect-information games via discounted regret minimization; the
    bound on plain regret is derived here.
    """

    alpha: Scalar = 1.5
    beta: Scalar = 0.0
    prior: Prior = prior_field()

    def __check_init__(self) -> None:
        checks.finite("alpha", self.alpha)
        checks.finite("beta", self.beta)

    def add(self, state: Regrets, instant: Vector) -> Sum:
        regrets = state.sums.add(instant)
        log = jnp.log(state.round.astype(instant.dtype) + 1)
        exponent = jnp.where(regrets.value > 0, self.alpha, self.beta)
        # t^a / (t^a + 1) without overflow
        weight = jax.nn.sigmoid(exponent * log)
        return Sum(regrets.pair * weight[None])

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        # Let v_t be the remaining weight of round t's regret. If beta <= alpha, discounted regret is never below the
        # sum with weights v, and is at most w sqrt((d-1) t) in every round, as in plain regret matching; since 1 / v_t
        # falls with t, summation by parts gives regret <= max_t (that) / v_1.
        alpha, beta = float(self.alpha), float(self.beta)
        if beta > alpha:
            return None
        fading = np.cumprod(1 + np.maximum(np.arange(rounds.max()), 1.0) ** -alpha) / 2
        return super()._bound(actions, rounds, width, largest) * fading[rounds - 1]
