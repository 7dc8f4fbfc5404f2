"""The Euclidean norm: follow-the-regularised-leader on the simplex or the L2 ball, and online gradient descent."""

from typing import ClassVar, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.learners._base import Learner
from regrax.learners._hedge import Cumulative
from regrax.learners._steps import Scalar, Step, all_steps, check_step, step_at
from regrax.simplex import project_ball, project_simplex


class EuclideanFTRL(Learner):
    r"""$\pi_t = \mathrm{Proj}_\Pi(-k_t S_{t-1}) = \arg\min_{x \in \Pi} \langle S_{t-1}, x \rangle + \|x\|^2 / (2 k_t)$.

    `domain` is `"simplex"` (the default) or `"ball"` of the given `radius`. With non-increasing steps, regret
    $\le D / k_T + \frac12 \sum_t k_t \|\ell_t\|^2$ with $2D$ the spread of $\|x\|^2$ over $\Pi$; on the simplex a
    common shift of the losses changes nothing, so $\|\ell_t\|^2$ counts from their middle and is at most $d w^2 / 4$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(EuclideanFTRL(0.5), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.25, 0.75]]

    Reference: Zinkevich (2003), Online convex programming and generalized infinitesimal gradient ascent (lazy form).
    """

    name: ClassVar[str] = "euclidean_ftrl"
    about: ClassVar[str] = "minus the step times past losses, projected onto the simplex or a ball"
    examples: ClassVar[tuple[str, ...]] = (
        "euclidean_ftrl(0.3)",
        "euclidean_ftrl(inverse_sqrt(0.5))",
        'euclidean_ftrl(0.3, "ball", 2.0)',
    )
    step: Step
    domain: Literal["simplex", "ball"] = eqx.field(static=True, default="simplex")
    radius: Scalar = 1.0

    def __check_init__(self) -> None:
        check_step(self.step)
        checks.positive("radius", self.radius)
        if self.domain not in ("simplex", "ball"):
            raise ValueError(f'domain must be "simplex" or "ball", but is {self.domain!r}')

    @property
    def plays_on(self) -> str:
        return self.domain

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Cumulative:
        return Cumulative.start(actions)

    def policy(self, state: Cumulative) -> Float[Array, "d"]:
        point = -step_at(self.step, state.round) * state.total
        return (
            project_simplex(point) if self.domain == "simplex" else project_ball(point, self.radius)
        )

    def update(self, state: Cumulative, feedback: Float[Array, "d"]) -> Cumulative:
        return state.add(feedback)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if self.domain == "ball" or np.any(np.diff(steps) > 0):
            return None
        return float((1 - 1 / actions) / (2 * steps[-1]) + actions * width**2 / 8 * steps.sum())


class Descent(NamedTuple):
    """State of online gradient descent."""

    policy: Float[Array, "d"]
    round: Int[Array, ""]  # t - 1


class OnlineGradientDescent(Learner):
    r"""$\pi_{t+1} = \mathrm{Proj}_\Delta(\pi_t - k_t \ell_t)$, $\pi_1$ uniform: a step from the last policy.

    With non-increasing steps regret is at most
    $\frac{1 - 1/d}{2 k_1} + \frac{1}{k_T} - \frac{1}{k_1} + \frac12 \sum_t k_t \|\ell_t\|^2$, and $\|\ell_t\|^2$,
    counted from the middle of the losses, is at most $d w^2 / 4$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(OnlineGradientDescent(1.0), jnp.array([[5.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.25, 0.75]]

    Reference: Zinkevich (2003), Online convex programming and generalized infinitesimal gradient ascent (greedy form).
    """

    name: ClassVar[str] = "online_gradient_descent"
    about: ClassVar[str] = "a gradient step from the last policy, projected onto the simplex"
    examples: ClassVar[tuple[str, ...]] = ("online_gradient_descent(inverse_sqrt(0.5))",)
    step: Step

    def __check_init__(self) -> None:
        check_step(self.step)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Descent:
        return Descent(jnp.ones(actions) / actions, jnp.zeros((), int))

    def policy(self, state: Descent) -> Float[Array, "d"]:
        return state.policy

    def update(self, state: Descent, feedback: Float[Array, "d"]) -> Descent:
        step = step_at(self.step, state.round)
        return Descent(project_simplex(state.policy - step * feedback), state.round + 1)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        steps = all_steps(self.step, rounds)
        if np.any(np.diff(steps) > 0):
            return None
        # two distributions are at most sqrt(2) apart, a distribution and the uniform one sqrt(1 - 1/d)
        distance = (1 - 1 / actions) / (2 * steps[0]) + 1 / steps[-1] - 1 / steps[0]
        return float(distance + actions * width**2 / 8 * steps.sum())
