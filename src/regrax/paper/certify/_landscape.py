r"""The loss along the family $V = -kI$: everything is exact."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from regrax import theory

MAX_SCALED_STEP = 999.0
r"""How far $k\sqrt{T}$ is scanned: beyond 1000 `theory` does not integrate."""


class Family(NamedTuple):
    r"""The derivative of the loss in the step, over a wide range of steps.

    Attributes:
        step: the stationary step $k^\star$.
        slopes: $L'$ at half, once and twice the step.
        curvature: $L''$ at the step, by differences.
        roots: sign changes of $L'$ that were found.
        scanned: from, to, and how many points.
    """

    step: float
    slopes: dict[str, float]
    curvature: float
    roots: int
    scanned: tuple[float, float, int]


def family(actions: int, horizon: int, points: int = 61) -> Family:
    r"""Signs of $L'(k)$ around $k^\star$, and how many roots it has on $[k^\star/1000, 300 k^\star]$.

    With more than a hundred actions the range ends where $k\sqrt{T}$ is about 1000.

    >>> found = family(2, 2, points=2)
    >>> found.slopes["half"] < 0 < found.slopes["twice"], found.roots
    (True, 1)
    """
    step = theory.step_size(actions, horizon)
    slope = partial(theory.loss_derivative, actions=actions, horizon=horizon)
    reach = min(2.5, np.log10(MAX_SCALED_STEP / (step * horizon**0.5)))
    grid = step * np.logspace(-3, reach, points)
    signs = np.array([_sign(slope, k) for k in grid if k != step])
    bump = 1e-3 * step
    return Family(
        step,
        {"half": slope(step / 2), "once": slope(step), "twice": slope(2 * step)},
        (slope(step + bump) - slope(step - bump)) / (2 * bump),
        int((np.diff(signs[signs != 0]) != 0).sum()),
        (float(grid[0]), float(grid[-1]), points),
    )


def _sign(slope: Callable[..., float], step: float) -> float:
    """The sign of a slope: the first two coarse quadratures that agree decide it, or else the fine one, far slower."""
    coarse = slope(step, fineness=0.45)
    for fineness in (0.55, 0.65):
        finer = slope(step, fineness=fineness)
        if abs(finer - coarse) < abs(finer) / 2:
            return float(np.sign(finer))
        coarse = finer
    return float(np.sign(slope(step)))
