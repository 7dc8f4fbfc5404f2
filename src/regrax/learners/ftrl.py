r"""Euclidean learners: follow the regularised leader, and online gradient descent."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from regrax import _checks as checks
from regrax.domains import Domain, Simplex
from regrax.learners.base import (
    Bound,
    Count,
    Key,
    Prior,
    Rounds,
    StepLearner,
    SumLearner,
    check_prior,
    prior_field,
    prior_or_uniform,
    step_bound,
)
from regrax.simplex import Integer, Vector, project_simplex
from regrax.specs import register


@register(
    "learner",
    "euclidean_ftrl(0.3)",
    "euclidean_ftrl(inverse_sqrt(0.5))",
    "euclidean_ftrl(0.3, ball(2.0))",
)
class EuclideanFTRL(StepLearner, SumLearner):
    r"""Minus the step size times past losses, projected onto the simplex or a ball.

    $\pi_t = \mathrm{Proj}_\Pi(-k_t S_{t-1}) = \arg\min_{x \in \Pi} \langle S_{t-1}, x \rangle + \|x\|^2 / (2 k_t)$.

    `domain` is `Simplex()` (the default) or `Ball(radius)`. If the step size never grows, regret
    $\le D / k_T + \frac12 \sum_t k_t \|\ell_t\|^2$, where $2D$ is the spread of $\|x\|^2$ over $\Pi$. On the simplex,
    shifting all losses has no effect, so $\|\ell_t\|^2$ is measured from their midrange and is at most $d w^2 / 4$.
    With a `prior` $\pi_1$ it plays $\mathrm{Proj}_\Pi(\pi_1 - k_t S_{t-1})$, and $2D$ is the largest $\|e_j -
    \pi_1\|^2$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(EuclideanFTRL(0.5), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.25, 0.75]]

    Reference: Zinkevich (2003), Online convex programming and generalized infinitesimal gradient ascent (lazy form).
    """

    domain: Domain = Simplex()  # pyright: ignore[reportIncompatibleMethodOverride]
    prior: Prior = prior_field()

    def __check_init__(self) -> None:
        checks.instance("domain", self.domain, Domain, "Simplex() or Ball(radius)")

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        check_prior(self.prior, sums.size)
        point = -self.step_at(round) * sums
        center = 0 if self.prior is None else jnp.asarray(self.prior, point.dtype)
        return self.domain.project(center + point)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        if not isinstance(self.domain, Simplex):
            return None
        distance = squared_distance(self.prior, actions) / 2
        return step_bound(self.step_size, rounds, distance, actions * width**2 / 8)


def squared_distance(prior: Prior, actions: int) -> float:
    r"""Return $\max_j \|e_j - \pi_1\|^2$ over the corners of the simplex, $1 - 1/d$ for the uniform prior."""
    check_prior(prior, actions)
    if prior is None:
        return 1 - 1 / actions
    prior = np.asarray(prior, float)
    return float(1 - 2 * prior.min() + (prior**2).sum())


class Descent(NamedTuple):
    """State of online gradient descent."""

    policy: Vector
    round: Integer  # t - 1


@register("learner", "online_gradient_descent(inverse_sqrt(0.5))")
class OnlineGradientDescent(StepLearner):
    r"""A gradient step from the last policy, projected onto the simplex.

    $\pi_{t+1} = \mathrm{Proj}_\Delta(\pi_t - k_t \ell_t)$, $\pi_1$ uniform.

    If the step size never grows, regret is at most
    $\frac{1 - 1/d}{2 k_1} + \frac{1}{k_T} - \frac{1}{k_1} + \frac12 \sum_t k_t \|\ell_t\|^2$, and $\|\ell_t\|^2$,
    measured from the midrange of the losses, is at most $d w^2 / 4$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(OnlineGradientDescent(1.0), jnp.array([[5.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.25, 0.75]]

    Reference: Zinkevich (2003), Online convex programming and generalized infinitesimal gradient ascent (greedy form).
    """

    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Descent:
        return Descent(prior_or_uniform(self.prior, actions), jnp.zeros((), int))

    def update(self, state: Descent, feedback: Vector) -> Descent:
        step = self.step_at(state.round)
        return Descent(project_simplex(state.policy - step * feedback), state.round + 1)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        # the first policy may be closer to every action than two distributions can be, sqrt(2) apart
        closer = (squared_distance(self.prior, actions) / 2 - 1) / float(self.step_at(0))
        return step_bound(self.step_size, rounds, 1.0, actions * width**2 / 8, closer)
