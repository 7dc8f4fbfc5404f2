"""Follow-the-regularised-leader with the Euclidean norm, on the simplex or on the L2 ball."""

from typing import ClassVar, Literal

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import checks
from regrax.learners.base import Learner
from regrax.learners.hedge import Cumulative
from regrax.learners.steps import Scalar, Step, all_steps, check_step, step_at
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

    def bound(self, actions: int, rounds: int, width: float = 1.0) -> float | None:
        steps = all_steps(self.step, rounds)
        if self.domain == "ball" or np.any(np.diff(steps) > 0):
            return None
        return float((1 - 1 / actions) / (2 * steps[-1]) + actions * width**2 / 8 * steps.sum())
