r"""Bandit feedback: learners that draw $a_t \sim \pi_t$, see $\ell_{t,a_t}$ only, and learn from estimates of the rest.

The importance-weighted estimate $\hat\ell_{t,j} = 1[a_t = j]\, \ell_{t,j} / \pi_{t,j}$ has mean $\ell_t$. Bounds are on
expected regret and are for losses between 0 and $w$: shift losses that are not.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners._base import (
    BanditLearner,
    Bound,
    Drawn,
    Key,
    Learner,
    Prior,
    Rounds,
    State,
    as_base,
    as_prior,
    check_base,
    check_prior,
    prior_bits,
    with_prior,
)
from regrax.learners._ftrl import Cumulative, Scalar, Step, as_step, check_step, ftrl_bound, step_at


def estimate(policy: Float[Array, "d"], feedback: Drawn, bias: Scalar = 0.0) -> Float[Array, "d"]:
    r"""$\hat\ell_j = 1[a = j]\, \ell_a / (\pi_a + \gamma)$ with `bias` $\gamma$: unbiased at 0, else too small."""
    action, loss = feedback
    return jnp.zeros_like(policy).at[action].set(loss / (policy[action] + bias))


def explore(policy: Float[Array, "d"], exploration: Scalar) -> Float[Array, "d"]:
    r"""$(1 - \gamma) \pi + \gamma / d$."""
    return (1 - exploration) * policy + exploration / policy.size


def check_share(name: str, share: Scalar) -> None:
    """Raise unless `share` is between 0 and 1."""
    checks.finite(name, share)
    if checks.is_concrete(share) and not 0 <= float(share) <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {share}")


def unexplored(start: Any, exploration: Scalar) -> Float[Array | np.ndarray, "d"]:
    r"""The distribution that `explore` turns into `start`; raises where exploration alone plays an action more.

    Where `start` is traced nothing can be raised, and `explore` turns it into what comes near `start`.
    """
    start = checks.as_floats(start)
    rest = start - exploration / start.size
    if not checks.are_concrete(start, exploration):
        rest = rest.clip(0)
    elif rest.min() < 0 or float(exploration) >= 1:
        least = float(exploration) / start.size
        raise ValueError(
            f"start must play every action at least as exploration does, {least:.4g}, got {start.min():.4g}"
        )
    return rest / rest.sum()


class Exp3(BanditLearner):
    r"""$\pi_t = (1 - \gamma)\, \mathrm{softmax}(-k_t \sum_{s<t} \hat\ell_s) + \gamma / d$.

    Hedge on importance-weighted losses, mixed with `exploration` $\gamma$. With non-increasing steps and losses
    between 0 and $w$, expected regret $\le \ln d / k_T + \frac{d w^2}{2} \sum_t k_t + \gamma w T$.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Exp3(0.5), jnp.array([[1.0, 1.0], [0.0, 0.0]]), key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.731]

    Reference: Auer, Cesa-Bianchi, Freund, Schapire (2002), The nonstochastic multiarmed bandit problem.
    """

    step_size: Step = eqx.field(converter=as_step)
    exploration: Scalar = 0.0
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        check_step(self.step_size)
        check_share("exploration", self.exploration)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Cumulative:
        check_prior(self.prior, actions)
        return Cumulative.start(actions)

    def policy(self, state: Cumulative) -> Float[Array, "d"]:
        logits = -step_at(self.step_size, state.round) * state.total
        return explore(jax.nn.softmax(with_prior(self.prior, logits)), self.exploration)

    def update(self, state: Cumulative, feedback: Drawn) -> Cumulative:
        return state.add(estimate(self.policy(state), feedback))

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        extra = float(self.exploration) * width * rounds
        return _bandit_bound(self, actions, rounds, width, extra)

    def starting_at(self, start: Any) -> "Exp3":
        return replace(self, prior=unexplored(start, self.exploration))


class Exp3IX(BanditLearner):
    r"""$\pi_t = \mathrm{softmax}(-k_t \sum_{s<t} \tilde\ell_s)$, $\tilde\ell_j = 1[a = j]\, \ell_j / (\pi_j + \gamma)$.

    Implicit exploration: the estimates are a little too small, which tames their variance and with it the spread of
    regret. With non-increasing steps and losses between 0 and $w$, expected regret
    $\le \ln d / k_T + \frac{d w^2}{2} \sum_t k_t + \gamma d w T$; $\gamma = k/2$ is usual.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 1.0], [0.0, 0.0]])
    >>> rollout(Exp3IX(0.5, 0.25), losses, key=jax.random.key(0)).max(1).tolist()
    [0.5, 0.661]

    Reference: Neu (2015), Explore no more: improved high-probability regret bounds for non-stochastic bandits.
    """

    step_size: Step = eqx.field(converter=as_step)
    gamma: Scalar
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        check_step(self.step_size)
        checks.positive("gamma", self.gamma)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Cumulative:
        check_prior(self.prior, actions)
        return Cumulative.start(actions)

    def policy(self, state: Cumulative) -> Float[Array, "d"]:
        logits = -step_at(self.step_size, state.round) * state.total
        return jax.nn.softmax(with_prior(self.prior, logits))

    def update(self, state: Cumulative, feedback: Drawn) -> Cumulative:
        return state.add(estimate(self.policy(state), feedback, self.gamma))

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        return _bandit_bound(
            self, actions, rounds, width, float(self.gamma) * actions * width * rounds
        )


def _bandit_bound(
    learner: Exp3 | Exp3IX, actions: int, rounds: Rounds, width: float, extra: Any
) -> Bound:
    r"""$\ln d / k_T + \frac{d w^2}{2} \sum_t k_t$ and what exploring or its like costs besides."""
    spread = prior_bits(learner.prior, actions)
    known = ftrl_bound(learner.step_size, rounds, spread, actions * width**2 / 2)
    return None if known is None else known + extra


class ImportanceWeighted(BanditLearner):
    r"""Any full-information `base` on $\hat\ell_{t,j} = 1[a_t = j]\, \ell_{t,j} / \pi_{t,j}$ in the place of $\ell_t$.

    It plays $\pi_t = (1 - \gamma) \pi^{\mathrm{base}}_t + \gamma / d$ with `exploration` $\gamma$. If $B(q)$ bounds the
    base's external regret on losses whose squared spans are $q$ a round, and $\gamma > 0$, then for losses between 0
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

    base: Learner = eqx.field(converter=as_base)
    exploration: Scalar = 0.0

    def __check_init__(self) -> None:
        check_base(self.base)
        check_share("exploration", self.exploration)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> State:
        return self.base.init(actions, rounds, key=key)

    def starting_at(self, start: Any) -> "ImportanceWeighted":
        return replace(self, base=self.base.starting_at(unexplored(start, self.exploration)))

    def policy(self, state: State) -> Float[Array, "d"]:
        return explore(self.base.policy(state), self.exploration)

    def update(self, state: State, feedback: Drawn) -> State:
        return self.base.update(state, estimate(self.policy(state), feedback))

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        share = float(self.exploration)
        if self.base.regret == "internal" or share == 0:
            return None
        typical, largest = width * actions / share**0.5, (largest or width) * actions / share
        base = self.base.bound(actions, rounds, typical, largest)
        return None if base is None else base + share * width * rounds
