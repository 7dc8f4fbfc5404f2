"""Regret matching and its plus, predictive and discounted variants, which need no step size."""

from typing import NamedTuple

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


def proportional(regrets: Vector, prior: Prior = None) -> Vector:
    """Normalise `max(R, 0)`; if no regret is positive, return the prior, by default uniform."""
    check_prior(prior, regrets.size)
    positive = jnp.maximum(regrets, 0)
    total = positive.sum()
    has_regret = total > 0
    otherwise = 1 / regrets.size if prior is None else jnp.asarray(prior, regrets.dtype)
    return jnp.where(has_regret, positive / jnp.where(has_regret, total, 1), otherwise)


def instant_regret(policy: Vector, loss: Vector) -> Vector:
    r"""Return $r_{t,j} = \langle \ell_t, \pi_t \rangle - \ell_{t,j}$."""
    return policy @ loss - loss


class RegretSumLearner(Learner):
    """A learner that plays in proportion to the positive entries of a sum of regrets."""

    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Sum:
        return Sum.zeros(actions)

    def policy(self, state: Sum) -> Vector:
        return proportional(state.value, self.prior)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return width * ((actions - 1) * rounds) ** 0.5


@register("learner", "regret_matching()")
class RegretMatching(RegretSumLearner):
    r"""Regret matching: play actions in proportion to their positive regret.

    $\pi_t \propto \max(R_{t-1}, 0)$, $R_t = R_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t$.

    Regret $\le w \sqrt{(d-1) T}$ if the range of losses in a round is at most $w$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatching(), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium.
    """

    def update(self, state: Sum, feedback: Vector) -> Sum:
        return state.add(instant_regret(self.policy(state), feedback))


@register("learner", "regret_matching_plus()")
class RegretMatchingPlus(RegretSumLearner):
    r"""Regret matching that resets negative regret to zero.

    $\pi_t \propto Q_{t-1}$, $Q_t = \max(Q_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t, 0)$.

    It follows a changing best action faster than regret matching and has the same bound.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatchingPlus(), jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]

    Reference: Tammelin (2014), Solving large imperfect information games using CFR+.
    """

    def update(self, state: Sum, feedback: Vector) -> Sum:
        return state.add(instant_regret(self.policy(state), feedback)).clipped()


class Forecast(NamedTuple):
    """State of predictive regret matching plus."""

    regrets: Sum  # Q_{t-1}
    last: Vector  # r_{t-1}, the forecast of r_t


@register("learner", "predictive_regret_matching_plus()")
class PredictiveRegretMatchingPlus(Learner):
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

    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Forecast:
        return Forecast(Sum.zeros(actions), jnp.zeros(actions))

    def policy(self, state: Forecast) -> Vector:
        return proportional(state.regrets.value + state.last, self.prior)

    def update(self, state: Forecast, feedback: Vector) -> Forecast:
        instant = instant_regret(self.policy(state), feedback)
        return Forecast(state.regrets.add(instant).clipped(), instant)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return 2 * width * ((actions - 1) * rounds) ** 0.5


class Discounted(NamedTuple):
    """State of discounted regret matching."""

    regrets: Sum
    round: Integer  # t - 1


@register("learner", "discounted_regret_matching(2.0, -1.0)")
class DiscountedRegretMatching(Learner):
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

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Discounted:
        return Discounted(Sum.zeros(actions), jnp.zeros((), int))

    def policy(self, state: Discounted) -> Vector:
        return proportional(state.regrets.value, self.prior)

    def update(self, state: Discounted, feedback: Vector) -> Discounted:
        regrets = state.regrets.add(instant_regret(self.policy(state), feedback))
        log = jnp.log(state.round.astype(feedback.dtype) + 1)
        exponent = jnp.where(regrets.value > 0, self.alpha, self.beta)
        # t^a / (t^a + 1) without overflow
        weight = jax.nn.sigmoid(exponent * log)
        return Discounted(Sum(regrets.pair * weight[None]), state.round + 1)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        # Let v_t be the remaining weight of round t's regret. If beta <= alpha, discounted regret is never below the
        # sum with weights v, and is at most w sqrt((d-1) t) in every round, as in plain regret matching; since 1 / v_t
        # falls with t, summation by parts gives regret <= max_t (that) / v_1.
        alpha, beta = float(self.alpha), float(self.beta)
        if beta > alpha:
            return None
        fading = np.cumprod(1 + np.maximum(np.arange(rounds.max()), 1.0) ** -alpha) / 2
        return width * ((actions - 1) * rounds) ** 0.5 * fading[rounds - 1]
