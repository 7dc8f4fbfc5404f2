"""Regret matching, plus, predictive and discounted: no step size, play in proportion to positive regret."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.learners._base import Learner
from regrax.learners._steps import Scalar


def proportional(regrets: Float[Array, "d"]) -> Float[Array, "d"]:
    """`max(R, 0)` as a distribution; uniform where no regret is positive."""
    positive = jnp.maximum(regrets, 0)
    total = positive.sum()
    some = total > 0
    return jnp.where(some, positive / jnp.where(some, total, 1), 1 / regrets.size)


def instant_regret(policy: Float[Array, "d"], loss: Float[Array, "d"]) -> Float[Array, "d"]:
    r"""$r_{t,j} = \langle \ell_t, \pi_t \rangle - \ell_{t,j}$."""
    return policy @ loss - loss


class RegretMatching(Learner):
    r"""$\pi_t \propto \max(R_{t-1}, 0)$, $R_t = R_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t$.

    Regret $\le w \sqrt{(d-1) T}$ for losses that span at most $w$ a round.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatching(), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium.
    """

    name: ClassVar[str] = "regret_matching"
    about: ClassVar[str] = "play in proportion to positive regret"
    examples: ClassVar[tuple[str, ...]] = ("regret_matching()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return proportional(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return state + instant_regret(self.policy(state), feedback)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        return width * ((actions - 1) * rounds) ** 0.5


class RegretMatchingPlus(Learner):
    r"""$\pi_t \propto Q_{t-1}$, $Q_t = \max(Q_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t, 0)$.

    Forgets negative regret at once, so it follows a changing best action faster; the bound of regret matching holds.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatchingPlus(), jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]

    Reference: Tammelin (2014), Solving large imperfect information games using CFR+.
    """

    name: ClassVar[str] = "regret_matching_plus"
    about: ClassVar[str] = "regret matching that forgets negative regret"
    examples: ClassVar[tuple[str, ...]] = ("regret_matching_plus()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return proportional(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return jnp.maximum(state + instant_regret(self.policy(state), feedback), 0)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        return width * ((actions - 1) * rounds) ** 0.5


class Forecast(NamedTuple):
    """State of predictive regret matching plus."""

    regrets: Float[Array, "d"]  # Q_{t-1}
    last: Float[Array, "d"]  # r_{t-1}, the forecast of r_t


class PredictiveRegretMatchingPlus(Learner):
    r"""$\pi_t \propto \max(Q_{t-1} + r_{t-1}, 0)$, $Q_t = \max(Q_{t-1} + r_t, 0)$.

    $r_t = \langle \ell_t, \pi_t \rangle 1 - \ell_t$: regret matching plus that expects the last round to come again.
    It is optimistic gradient descent on the nonnegative orthant at any step size, so regret
    $\le \sqrt{\sum_t \|r_t - r_{t-1}\|^2} \le 2 w \sqrt{(d-1) T}$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    >>> rollout(PredictiveRegretMatchingPlus(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.667, 0.333]]

    Reference: Farina, Kroer, Sandholm (2021), Faster game solving via predictive Blackwell approachability.
    """

    name: ClassVar[str] = "predictive_regret_matching_plus"
    about: ClassVar[str] = "regret matching plus that expects the last round to come again"
    examples: ClassVar[tuple[str, ...]] = ("predictive_regret_matching_plus()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Forecast:
        return Forecast(jnp.zeros(actions), jnp.zeros(actions))

    def policy(self, state: Forecast) -> Float[Array, "d"]:
        return proportional(state.regrets + state.last)

    def update(self, state: Forecast, feedback: Float[Array, "d"]) -> Forecast:
        instant = instant_regret(self.policy(state), feedback)
        return Forecast(jnp.maximum(state.regrets + instant, 0), instant)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        return 2 * width * ((actions - 1) * rounds) ** 0.5


class Discounted(NamedTuple):
    """State of discounted regret matching."""

    regrets: Float[Array, "d"]
    round: Int[Array, ""]  # t - 1


class DiscountedRegretMatching(Learner):
    r"""$\pi_t \propto \max(R_{t-1}, 0)$; after round $t$, $R_t = R_{t-1} + r_t$ is discounted.

    Positive entries are multiplied by $t^\alpha / (t^\alpha + 1)$ and negative ones by $t^\beta / (t^\beta + 1)$, the
    weights of discounted CFR. For $\beta \le \alpha$ regret $\le w \sqrt{(d-1) T} \prod_{t<T} (1 + t^{-\alpha})$, and
    the product stays bounded for $\alpha > 1$ (9.2 for $\alpha = 1.5$).

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    >>> rollout(DiscountedRegretMatching(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]

    Reference: Brown, Sandholm (2019), Solving imperfect-information games via discounted regret minimization; the
    bound on plain regret is our own.
    """

    name: ClassVar[str] = "discounted_regret_matching"
    about: ClassVar[str] = "regret matching that lets old regret fade, negative regret faster"
    examples: ClassVar[tuple[str, ...]] = ("discounted_regret_matching(2.0, -1.0)",)
    alpha: Scalar = 1.5
    beta: Scalar = 0.0

    def __check_init__(self) -> None:
        checks.finite("alpha", self.alpha)
        checks.finite("beta", self.beta)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Discounted:
        return Discounted(jnp.zeros(actions), jnp.zeros((), int))

    def policy(self, state: Discounted) -> Float[Array, "d"]:
        return proportional(state.regrets)

    def update(self, state: Discounted, feedback: Float[Array, "d"]) -> Discounted:
        regrets = state.regrets + instant_regret(self.policy(state), feedback)
        log = jnp.log(state.round.astype(regrets.dtype) + 1)
        exponent = jnp.where(regrets > 0, self.alpha, self.beta)
        # t^a / (t^a + 1) in a form that cannot overflow
        return Discounted(regrets * jax.nn.sigmoid(exponent * log), state.round + 1)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        # Let v_t be the weight left of round t's regret. If beta <= alpha, discounted regret is never below the sum
        # with weights v, and is at most w sqrt((d-1) t) in every round as in plain regret matching; as 1 / v_t falls
        # with t, summation by parts gives regret <= max_t (that) / v_1.
        alpha, beta = float(self.alpha), float(self.beta)
        if beta > alpha:
            return None
        fading = np.prod(1 + np.arange(1.0, rounds) ** -alpha)
        return float(width * ((actions - 1) * rounds) ** 0.5 * fading)
