r"""Step sizes: a constant, or a schedule that gives round $t$ its own."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax.learners._base import spec_text

Scalar = float | int | Float[Array, ""]


class Schedule(eqx.Module):
    """A step size for every round, counted from 0."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, round_: Int[Array, "*T"]) -> Float[Array, "*T"]:
        """The step of round `round_ + 1`."""

    def __repr__(self) -> str:
        return spec_text(self)


class InverseSqrt(Schedule):
    r"""$k_t = c / \sqrt{t}$: no horizon needed.

    >>> import jax.numpy as jnp
    >>> InverseSqrt(1.0)(jnp.array([0, 3])).tolist()
    [1.0, 0.5]
    """

    name: ClassVar[str] = "inverse_sqrt"
    scale: Scalar

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def __call__(self, round_: Int[Array, "*T"]) -> Float[Array, "*T"]:
        return self.scale / jnp.sqrt(round_.astype(float) + 1)


class PerRound(Schedule):
    r"""$k_1, k_2, \dots, k_n$ as listed; rounds past the list keep the last.

    >>> import jax.numpy as jnp
    >>> PerRound([0.5, 0.25])(jnp.array([0, 1, 2])).tolist()
    [0.5, 0.25, 0.25]
    """

    name: ClassVar[str] = "per_round"
    steps: Float[Array, "n"] | Float[np.ndarray, "n"]

    def __init__(
        self, *steps: Scalar | list[float] | Float[Array, "n"] | Float[np.ndarray, "n"]
    ) -> None:
        listed = steps[0] if len(steps) == 1 and np.ndim(steps[0]) == 1 else steps
        self.steps = listed if hasattr(listed, "dtype") else np.array(listed, float)  # pyright: ignore

    def __check_init__(self) -> None:
        checks.positive("steps", self.steps)

    def __call__(self, round_: Int[Array, "*T"]) -> Float[Array, "*T"]:
        return jnp.asarray(self.steps, float)[jnp.minimum(round_, len(self.steps) - 1)]


Step = Scalar | Schedule


def check_step(step: Step) -> None:
    """Raise unless a constant step is above zero (a schedule checks itself)."""
    if not isinstance(step, Schedule):
        checks.positive("step", step)


def step_at(
    step: Step | Float[Array, "*T"], round_: Int[Array, "*T"]
) -> Scalar | Float[Array, "*T"]:
    """The step of a round counted from 0."""
    return step(round_) if isinstance(step, Schedule) else step


def all_steps(step: Step, rounds: int) -> Float[np.ndarray, "T"]:
    """The steps of rounds `1..rounds`, for bounds."""
    return np.broadcast_to(np.asarray(step_at(step, jnp.arange(rounds)), float), rounds)
