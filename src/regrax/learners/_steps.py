r"""Step sizes: a constant, or a schedule that gives round $t$ its own; and the bound that follows from them."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax.learners._base import Bound, Rounds, spec_text

Scalar = float | int | Float[Array, ""]
Numbers = Int[Array, "*T"] | Int[np.ndarray, "*T"]
Values = Float[Array, "*T"] | Float[np.ndarray, "*T"]


class Schedule(eqx.Module):
    """A step size for every round, counted from 0; numpy numbers give numpy values, jax numbers jax values."""

    @abstractmethod
    def __call__(self, round_: Numbers) -> Values:
        """The step of round `round_ + 1`."""

    def __repr__(self) -> str:
        return spec_text(self)


class InverseSqrt(Schedule):
    r"""$k_t = c / \sqrt{t}$: no horizon needed.

    >>> import jax.numpy as jnp
    >>> InverseSqrt(1.0)(jnp.array([0, 3])).tolist()
    [1.0, 0.5]
    """

    scale: Scalar = eqx.field(converter=checks.as_float)

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def __call__(self, round_: Numbers) -> Values:
        xp = _namespace(round_)
        return self.scale / xp.sqrt(round_.astype(float) + 1)


class PerRound(Schedule):
    r"""$k_1, k_2, \dots, k_n$ as listed; rounds past the list keep the last.

    >>> import jax.numpy as jnp
    >>> PerRound([0.5, 0.25])(jnp.array([0, 1, 2])).tolist()
    [0.5, 0.25, 0.25]
    """

    step_sizes: Float[Array, "n"] | Float[np.ndarray, "n"]

    def __init__(
        self, *step_sizes: Scalar | list[float] | Float[Array, "n"] | Float[np.ndarray, "n"]
    ) -> None:
        one = len(step_sizes) == 1 and np.ndim(step_sizes[0]) == 1
        listed: Any = step_sizes[0] if one else step_sizes
        self.step_sizes = listed if hasattr(listed, "dtype") else np.array(listed, float)

    def __check_init__(self) -> None:
        checks.positive("step_sizes", self.step_sizes)

    def __repr__(self) -> str:
        return spec_text(self).replace("[", "").replace("]", "")

    def __call__(self, round_: Numbers) -> Values:
        xp = _namespace(round_)
        return xp.asarray(self.step_sizes, float)[xp.minimum(round_, len(self.step_sizes) - 1)]


Step = Scalar | Schedule


def _namespace(array: Any) -> Any:
    """`jax.numpy` for jax's arrays, `numpy` for numpy's."""
    return array.__array_namespace__()


def as_step(step_size: Any) -> Any:
    """A constant as a float, so that integers and floats share a program; a schedule as it is."""
    return step_size if isinstance(step_size, Schedule) else checks.as_float(step_size)


def check_step(step_size: Step) -> None:
    """Raise unless a constant step is above zero (a schedule checks itself)."""
    if not isinstance(step_size, Schedule):
        checks.positive("step_size", step_size)


def step_at(step_size: Any, round_: Int[Array, "*T"]) -> Any:
    """The step of a round counted from 0."""
    return step_size(round_) if isinstance(step_size, Schedule) else step_size


def step_sums(step_size: Step, rounds: Rounds) -> tuple[Any, Any, Any] | None:
    r"""$k_1$, $k_T$ and $\sum_{t \le T} k_t$ for every $T$ in `rounds`; None if the steps ever grow."""
    last = np.asarray(rounds)
    if not isinstance(step_size, Schedule):
        constant = float(step_size)
        return constant, constant, constant * last
    steps = np.asarray(step_size(np.arange(last.max())), float)
    grows = np.any(np.diff(steps) > 0)
    return None if grows else (steps[0], steps[last - 1], np.cumsum(steps)[last - 1])


def ftrl_bound(step_size: Step, rounds: Rounds, spread: float, per_round: float) -> Bound:
    r"""$D / k_T + c \sum_t k_t$ with `spread` $D$ and `per_round` $c$, for steps that never grow; else None."""
    sums = step_sums(step_size, rounds)
    if sums is None or not np.isfinite(spread):
        return None
    return spread / sums[1] + per_round * sums[2]
