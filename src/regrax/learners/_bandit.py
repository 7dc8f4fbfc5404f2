r"""Bandit feedback: learners that draw $a_t \sim \pi_t$, see $\ell_{t,a_t}$ only, and learn from estimates of the rest.

The importance-weighted estimate $\hat\ell_{t,j} = 1[a_t = j]\, \ell_{t,j} / \pi_{t,j}$ has mean $\ell_t$. Bounds are on
expected regret and are for losses between 0 and $w$: shift losses that are not.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.learners._base import Learner, State, check_base
from regrax.learners._hedge import Cumulative
from regrax.learners._steps import Scalar, Step, all_steps, check_step, step_at

Drawn = tuple[Int[Array, ""], Float[Array, ""]]
"""The action drawn and its loss."""


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
        raise ValueError(f"{name} must be between 0 and 1, but is {share}")


class Exp3(Learner):
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

    name: ClassVar[str] = "exp3"
    about: ClassVar[str] = "bandit: Hedge on importance-weighted losses, with uniform exploration"
    examples: ClassVar[tuple[str, ...]] = ("exp3(inverse_sqrt(0.5), 0.1)",)
    feedback: ClassVar = "bandit"
    step: Step
    exploration: Scalar = 0.0

    def __check_init__(self) -> None:
        check_step(self.step)
        check_share("exploration", self.exploration)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Cumulative:
        return Cumulative.start(actions)

    def policy(self, state: Cumulative) -> Float[Array, "d"]:
        hedge = jax.nn.softmax(-step_at(self.step, state.round) * state.total)
        return explore(hedge, self.exploration)

    def update(self, state: Cumulative, feedback: Drawn) -> Cumulative:
        return state.add(estimate(self.policy(state), feedback))

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if np.any(np.diff(steps) > 0):
            return None
        explored = float(self.exploration) * width * rounds
        return float(np.log(actions) / steps[-1] + actions * width**2 / 2 * steps.sum() + explored)


class Exp3IX(Learner):
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

    name: ClassVar[str] = "exp3_ix"
    about: ClassVar[str] = "bandit: Hedge on losses weighed down a little, its implicit exploration"
    examples: ClassVar[tuple[str, ...]] = ("exp3_ix(0.05, 0.025)",)
    feedback: ClassVar = "bandit"
    step: Step
    gamma: Scalar

    def __check_init__(self) -> None:
        check_step(self.step)
        checks.positive("gamma", self.gamma)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Cumulative:
        return Cumulative.start(actions)

    def policy(self, state: Cumulative) -> Float[Array, "d"]:
        return jax.nn.softmax(-step_at(self.step, state.round) * state.total)

    def update(self, state: Cumulative, feedback: Drawn) -> Cumulative:
        return state.add(estimate(self.policy(state), feedback, self.gamma))

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if np.any(np.diff(steps) > 0):
            return None
        bias = float(self.gamma) * actions * width * rounds
        return float(np.log(actions) / steps[-1] + actions * width**2 / 2 * steps.sum() + bias)


class ImportanceWeighted(Learner):
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

    name: ClassVar[str] = "importance_weighted"
    about: ClassVar[str] = "bandit: any base on importance-weighted losses, with exploration"
    examples: ClassVar[tuple[str, ...]] = ("importance_weighted(ada_hedge(), 0.2)",)
    feedback: ClassVar = "bandit"
    base: Learner
    exploration: Scalar = 0.0

    def __check_init__(self) -> None:
        check_base(self.base)
        check_share("exploration", self.exploration)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> State:
        return self.base.init(actions, rounds, key=key)

    def policy(self, state: State) -> Float[Array, "d"]:
        return explore(self.base.policy(state), self.exploration)

    def update(self, state: State, feedback: Drawn) -> State:
        return self.base.update(state, estimate(self.policy(state), feedback))

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        share = float(self.exploration)
        if self.base.regret == "internal" or share == 0:
            return None
        typical, largest = width * actions / share**0.5, (largest or width) * actions / share
        base = self.base.bound(actions, rounds, typical, largest)
        return None if base is None else base + share * width * rounds
