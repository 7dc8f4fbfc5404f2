"""Tsallis-INF: a bandit learner that is best possible against adversaries and against chance alike."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from regrax import _checks as checks
from regrax.learners._bandit import estimate
from regrax.learners._base import (
    BanditLearner,
    Bound,
    Drawn,
    Key,
    Prior,
    Rounds,
    as_prior,
    check_prior,
)
from regrax.learners._ftrl import Cumulative, InverseSqrt, Scalar, ftrl_bound


@jax.jit
def tsallis_leader(gaps: Float[Array, "d"]) -> Float[Array, "d"]:
    r"""$\arg\min_{x \in \Delta} \langle g, x \rangle - 4 \sum_j \sqrt{x_j}$, that is $x_j = 4 / (g_j + y)^2$.

    The smallest gap is 0 and $y \in [2, 2\sqrt d]$ makes it sum to 1, that is, it solves $(\sum_j (g_j +
    y)^{-2})^{-1/2} = 2$. The left side is concave and grows with $y$, so Newton's steps from 2 climb to the root and
    stop when rounding lets them climb no more; one more step, from a constant, gives the answer its derivative.
    """

    def newton(y: Float[Array, ""], gaps: Float[Array, "d"]) -> Float[Array, ""]:
        inverse = 1 / (gaps + y)
        squares = jnp.sum(inverse**2)
        return y + (2 - squares**-0.5) / (jnp.sum(inverse**3) * squares**-1.5)

    def climbs(pair: tuple) -> Bool[Array, ""]:
        return pair[1] > pair[0]

    fixed = lax.stop_gradient(gaps)
    start = jnp.full((), 2.0, gaps.dtype)
    root, _ = lax.while_loop(
        climbs, lambda pair: (pair[1], newton(pair[1], fixed)), (start, newton(start, fixed))
    )
    return 4 / (gaps + newton(root, gaps)) ** 2


class TsallisINF(BanditLearner):
    r"""$\pi_t = \arg\min_{x \in \Delta} \langle \hat S_{t-1}, x \rangle - \frac{4}{k_t} \sum_j \sqrt{x_j}$.

    $\hat S$ is the sum of importance-weighted losses, $k_t = c / \sqrt t$ with `scale` $c$. For losses between 0 and
    $w$ expected regret $\le 4 (\sqrt d - 1) / k_T + \frac{w^2 \sqrt d}{2} \sum_t k_t$, below $4 \sqrt{dT}$ for $c =
    2$ and $w = 1$: no logarithm of $d$. When the losses are drawn alike every round it grows only like $\ln T$.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 1.0], [0.0, 0.0]])
    >>> rollout(TsallisINF(), losses, key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.841]

    Reference: Zimmert, Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits.
    """

    scale: Scalar = eqx.field(converter=checks.as_float, default=2.0)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Cumulative:
        check_prior(self.prior, actions)
        return Cumulative.start(actions)

    def policy(self, state: Cumulative) -> Float[Array, "d"]:
        step = self.scale / jnp.sqrt(state.round.astype(state.total.dtype) + 1)
        gaps = step * (state.total - state.total.min())
        if self.prior is None:
            return tsallis_leader(gaps)
        # the gradient of -4 sum_j sqrt(x_j) at the prior takes the place of the constant at uniform
        gaps = gaps + 2 / jnp.sqrt(jnp.asarray(self.prior, gaps.dtype))
        return tsallis_leader(gaps - gaps.min())

    def update(self, state: Cumulative, feedback: Drawn) -> Cumulative:
        return state.add(estimate(self.policy(state), feedback))

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        if self.prior is not None:
            return None
        spread, per_round = 4 * (actions**0.5 - 1), width**2 * actions**0.5 / 2
        return ftrl_bound(InverseSqrt(self.scale), rounds, spread, per_round)
