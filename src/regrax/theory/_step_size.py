r"""The stationary step size $k^*(d, T)$, where training on squared regret comes to rest, to rounding accuracy.

It is the root of $L'(k)$ (`regrax.theory._loss`). $k^*\sqrt{T}$ tends to $c^*(d)$, which grows like $\sqrt{2\log d}$.
"""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from regrax.theory._ball import ball_step
from regrax.theory._integrals import round_loss
from regrax.theory._loss import check_operator, check_size, mean_over_rounds, scale

REFINED = 1.3
"""The grid that the error is estimated on has this many times the nodes, in every direction."""

ROUNDING = 1e-14
"""No error is estimated below this share of the value."""


class Estimate(NamedTuple):
    """A number and an estimate of its absolute error."""

    value: float
    error: float


def step_size(
    actions: int, horizon: int | float, *, operator: str = "softmax", radius: int | float = 1.0
) -> float:
    r"""$k^*(d, T)$: the step at which $L'(k) = 0$ for $\pi_t = \mathrm{softmax}(-k S_{t-1})$.

    `operator="ball"` gives the closed form for $\pi_t = -k S_{t-1}$ on the L2 ball of radius $R$,
    $k^* = R\,E\|G_d\|/(d\sqrt{T})$.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives $c^*(d) = \lim \sqrt{T} k^*(d, T)$.
        operator: `"softmax"`, or `"ball"` for $\pi_t = -k S_{t-1}$ on the L2 ball.
        radius: $R > 0$ of the ball; only for `operator="ball"`.

    >>> import math
    >>> step_size(3, 20), step_size(3, math.inf)
    (0.447904905444, 2.0488938)
    >>> step_size(3, 20, operator="ball")
    0.1189416
    """
    check_size(actions, horizon)
    if check_operator(operator, radius) == "ball":
        return ball_step(actions, radius) / scale(horizon)
    return _scaled_step(actions, horizon, 1.0) / scale(horizon)


def step_size_with_error(
    actions: int, horizon: int | float, *, operator: str = "softmax", radius: int | float = 1.0
) -> Estimate:
    r"""`step_size`, and how far it moves when every grid is refined.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives the limit in scaled steps.
        operator: `"softmax"`, or `"ball"` for $\pi_t = -k S_{t-1}$ on the L2 ball.
        radius: $R > 0$ of the ball; only for `operator="ball"`.

    >>> found = step_size_with_error(3, 20)
    >>> found.value, found.error < 1e-12
    (0.447904905444, True)
    """
    value = step_size(actions, horizon, operator=operator, radius=radius)
    if operator == "ball":
        return Estimate(value, ROUNDING * value)
    refined = _scaled_step(actions, horizon, REFINED) / scale(horizon)
    return Estimate(value, max(abs(refined - value), ROUNDING * value))


@lru_cache(maxsize=256)
def _scaled_step(d: int, horizon: int | float, fineness: float) -> float:
    r"""The root of the mean of $A' - 2B'$ over rounds: found on a coarse grid, then finished on the grid asked for."""

    @cache
    def slope(K: float, fine: float = fineness) -> float:
        return mean_over_rounds(lambda tau: round_loss(K, tau, d, fine).slope, d, horizon, fine)

    first = math.sqrt(2.33 + 1.714 * math.log(d)) / (1 + 0.4 / horizon)  # within 7 %
    coarse, curvature = secant(lambda K: slope(K, 0.5), first, 1.01 * first, tolerance=1e-8)
    return secant(slope, coarse, coarse - slope(coarse) / curvature, tolerance=3e-14)[0]


def secant(
    f: Callable[[float], float], a: float, b: float, tolerance: float
) -> tuple[float, float]:
    """A root above 0 and the slope there. Its relative error is about the product of the last two moves."""
    fa, fb = f(a), f(b)
    for _ in range(60):
        slope = (fb - fa) / (b - a)
        new = min(max(b - fb / slope, b / 2), 2 * b)
        if fb == 0 or abs((new - b) * (b - a)) <= tolerance * b * b:
            return new, slope
        a, fa, b, fb = b, fb, new, f(new)
    raise ArithmeticError(
        f"the loss has no stationary step near {b:.3g}: secant steps do not settle"
    )
