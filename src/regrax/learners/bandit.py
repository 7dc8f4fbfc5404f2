r"""Partial feedback: learners that see only the loss of the action they draw, and losses that arrive late.

A bandit learner draws $a_t \sim \pi_t$, sees only $\ell_{t,a_t}$, and estimates the other losses. The
importance-weighted estimate $\hat\ell_{t,j} = 1[a_t = j]\, \ell_{t,j} / \pi_{t,j}$ has mean $\ell_t$. Bounds are on
expected regret and assume losses between 0 and $w$; shift losses that lie outside this range.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners.base import (
    BanditLearner,
    Bound,
    Count,
    Cumulative,
    Drawn,
    InverseSqrt,
    Key,
    Prior,
    Reduction,
    Rounds,
    Scalar,
    State,
    StepLearner,
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


def estimate(policy: Vector, feedback: Drawn, bias: Scalar = 0.0) -> Vector:
    r"""Estimate the losses: $\hat\ell_j = 1[a = j]\, \ell_a / (\pi_a + \gamma)$ with `bias` $\gamma$, unbiased at 0."""
    action, loss = feedback
    return jnp.zeros_like(policy).at[action].set(loss / (policy[action] + bias))


def explore(policy: Vector, exploration: Scalar) -> Vector:
    r"""Mix a policy with uniform play: $(1 - \gamma) \pi + \gamma / d$."""
    return (1 - exploration) * policy + exploration / policy.size


def check_share(name: str, share: Scalar) -> None:
    """Raise unless `share` is between 0 and 1."""
    checks.finite(name, share)
    if checks.is_concrete(share) and not 0 <= float(share) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {share}")


class BanditSumLearner(BanditLearner, SumLearner):
    r"""A learner whose policy follows from the sum of estimates $\sum_{s<t} \hat\ell_s$ and $t$."""

    @property
    def bias(self) -> Scalar:
        r"""$\gamma$ in the estimates."""
        return 0.0

    def update(self, state: Cumulative, feedback: Drawn) -> Cumulative:  # pyright: ignore[reportIncompatibleMethodOverride]
        return state.add(estimate(self.policy(state), feedback, self.bias))


class BanditHedge(BanditSumLearner, StepLearner):
    """Hedge on estimated losses, mixed with uniform `exploration`."""

    prior: eqx.AbstractVar[Prior]
    exploration: ClassVar[Scalar] = 0.0

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        policy = exponential_weights(self.prior, -self.step_at(round) * sums)
        return explore(policy, self.exploration)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        cost = (float(self.exploration) + float(self.bias) * actions) * width * rounds
        distance = prior_bits(self.prior, actions)
        return step_bound(self.step_size, rounds, distance, actions * width**2 / 2, cost)


@register("learner", "exp3(inverse_sqrt(0.5), 0.1)")
class Exp3(BanditHedge):
    r"""Hedge on importance-weighted losses with uniform exploration, for bandit feedback.

    $\pi_t = (1 - \gamma)\, \mathrm{softmax}(-k_t \sum_{s<t} \hat\ell_s) + \gamma / d$.

    `exploration` is $\gamma$. If the step size never grows and losses are between 0 and $w$, expected regret
    $\le \ln d / k_T + \frac{d w^2}{2} \sum_t k_t + \gamma w T$.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Exp3(0.5), jnp.array([[1.0, 1.0], [0.0, 0.0]]), key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.731]

    Reference: Auer, Cesa-Bianchi, Freund, Schapire (2002), The nonstochastic multiarmed bandit problem.
    """

    exploration: Scalar = 0.0  # pyright: ignore[reportIncompatibleVariableOverride]
    prior: Prior = prior_field()

    def __check_init__(self) -> None:
        check_share("exploration", self.exploration)


@register("learner", "exp3_ix(0.05, 0.025)")
class Exp3IX(BanditHedge):
    r"""Hedge on slightly underestimated losses (implicit exploration), for bandit feedback.

    $\pi_t = \mathrm{softmax}(-k_t \sum_{s<t} \tilde\ell_s)$, $\tilde\ell_j = 1[a = j]\, \ell_j / (\pi_j + \gamma)$.

    The estimates are slightly too small, which reduces their variance and hence the spread of regret. If the step size
    never grows and losses are between 0 and $w$, expected regret
    $\le \ln d / k_T + \frac{d w^2}{2} \sum_t k_t + \gamma d w T$; $\gamma = k/2$ is usual.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 1.0], [0.0, 0.0]])
    >>> rollout(Exp3IX(0.5, 0.25), losses, key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.661]

    Reference: Neu (2015), Explore no more: improved high-probability regret bounds for non-stochastic bandits.
    """

    gamma: Scalar
    prior: Prior = prior_field()

    def __check_init__(self) -> None:
        checks.positive("gamma", self.gamma)

    @property
    def bias(self) -> Scalar:
        return self.gamma


@jax.jit
def tsallis_leader(gaps: Vector) -> Vector:
    r"""Return $\arg\min_{x \in \Delta} \langle g, x \rangle - 4 \sum_j \sqrt{x_j}$, that is $x_j = 4 / (g_j + y)^2$.

    The smallest gap is 0, and $y \in [2, 2\sqrt d]$ normalises $x$: it solves $(\sum_j (g_j + y)^{-2})^{-1/2} = 2$. The
    left side is concave and increasing in $y$, so Newton's method from 2 increases to the root until rounding stops it;
    one more step, from a constant, gives the result the right derivative.
    """

    def newton(y: Number, gaps: Vector) -> Number:
        inverse = 1 / (gaps + y)
        squares = jnp.sum(inverse**2)
        return y + (2 - squares**-0.5) / (jnp.sum(inverse**3) * squares**-1.5)

    fixed = lax.stop_gradient(gaps)
    start = jnp.full((), 2.0, gaps.dtype)
    root, _ = lax.while_loop(
        lambda pair: pair[1] > pair[0],
        lambda pair: (pair[1], newton(pair[1], fixed)),
        (start, newton(start, fixed)),
    )
    return 4 / (gaps + newton(root, gaps)) ** 2


@register("learner", "tsallis_inf()")
class TsallisINF(BanditSumLearner):
    r"""Follow the regularised leader with Tsallis entropy of order 1/2, for bandit feedback.

    $\pi_t = \arg\min_{x \in \Delta} \langle \hat S_{t-1}, x \rangle - \frac{4}{k_t} \sum_j \sqrt{x_j}$.

    $\hat S$ is the sum of importance-weighted losses, $k_t = c / \sqrt t$ with `scale` $c$. For losses between 0 and
    $w$ expected regret $\le 4 (\sqrt d - 1) / k_T + \frac{w^2 \sqrt d}{2} \sum_t k_t$, below $4 \sqrt{dT}$ for $c =
    2$ and $w = 1$, with no logarithm of $d$. For i.i.d. losses it grows only like $\ln T$.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 1.0], [0.0, 0.0]])
    >>> rollout(TsallisINF(), losses, key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.841]

    Reference: Zimmert, Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits.
    """

    scale: Scalar = eqx.field(converter=checks.as_float, default=2.0)
    prior: Prior = prior_field()

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        check_prior(self.prior, sums.size)
        step = self.scale / jnp.sqrt(jnp.asarray(round, sums.dtype) + 1)
        gaps = step * (sums - sums.min())
        if self.prior is None:
            return tsallis_leader(gaps)
        # the gradient of -4 sum_j sqrt(x_j) at the prior replaces the constant at uniform
        gaps = gaps + 2 / jnp.sqrt(jnp.asarray(self.prior, gaps.dtype))
        return tsallis_leader(gaps - gaps.min())

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        if self.prior is not None:
            return None
        root = actions**0.5
        return step_bound(InverseSqrt(self.scale), rounds, 4 * (root - 1), width**2 * root / 2)


@register("learner", "importance_weighted(ada_hedge(), 0.2)")
class ImportanceWeighted(Reduction, BanditLearner):
    r"""Any base learner on importance-weighted losses with exploration, for bandit feedback.

    The full-information `base` sees $\hat\ell_{t,j} = 1[a_t = j]\, \ell_{t,j} / \pi_{t,j}$ in place of $\ell_t$.

    It plays $\pi_t = (1 - \gamma) \pi^{\mathrm{base}}_t + \gamma / d$ with `exploration` $\gamma$. If $B(q)$ bounds the
    base's external regret on losses whose squared range is $q$ per round, and $\gamma > 0$, then for losses between 0
    and $w$ expected regret $\le B(w^2 d^2 / \gamma) + \gamma w T$, because $E[\hat\ell^2] \le w^2 \sum_j 1/\pi_{t,j}$
    and $B$ is concave.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import RegretMatching, rollout
    >>> learner = ImportanceWeighted(RegretMatching(), exploration=0.2)
    >>> rollout(learner, jnp.array([[1.0, 1.0], [0.0, 0.0]]), key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.9]

    Reference: Auer, Cesa-Bianchi, Freund, Schapire (2002), The nonstochastic multiarmed bandit problem.
    """

    exploration: Scalar = 0.0

    def __check_init__(self) -> None:
        check_share("exploration", self.exploration)

    def policy(self, state: State) -> Vector:
        return explore(self.base.policy(state), self.exploration)

    def update(self, state: State, feedback: Drawn) -> State:
        return self.base.update(state, estimate(self.policy(state), feedback))

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        share = float(self.exploration)
        if self.base.regret == "internal" or share == 0:
            return None
        typical = width * actions / share**0.5
        bound = self.base.bound(actions, rounds, typical, largest * actions / share)
        if bound is None:
            return None
        return bound + share * width * rounds


class Waiting(NamedTuple):
    """State of a delayed learner."""

    base: State
    ring: Float[Array, "D d"]  # undelivered losses; the loss of round s is in row s mod D
    round: Integer  # t - 1


@register("learner", "delayed(hedge(0.3), 2)")
class Delayed(Reduction):
    r"""Any base learner, with losses that arrive some rounds late.

    $\pi_t$ is the policy of `base` after $\ell_1, \dots, \ell_{t-1-D}$ with $D$ = `delay`. The base is unaware of the
    delay: if it weights losses with its own policy, as regret matching does, it uses the policy it has when they
    arrive. No bound holds for every base. For delayed bandit feedback, delay the estimates:
    `ImportanceWeighted(Delayed(base, delay))`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader, rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 5.0], [0.0, 0.0], [0.0, 0.0]])
    >>> rollout(Delayed(FollowTheLeader(), 1), losses).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]

    Reference: Joulani, György, Szepesvári (2013), Online learning under delayed feedback.
    """

    delay: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("delay", self.delay, 1)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Waiting:
        ring = jnp.zeros((self.delay, actions))
        return Waiting(self.base.init(actions, rounds, key=key), ring, jnp.zeros((), int))

    def policy(self, state: Waiting) -> Vector:
        return self.base.policy(state.base)

    def update(self, state: Waiting, feedback: Vector) -> Waiting:
        slot = state.round % self.delay
        updated = self.base.update(state.base, state.ring[slot])
        base = where(state.round >= self.delay, updated, state.base)
        return Waiting(base, state.ring.at[slot].set(feedback), state.round + 1)
