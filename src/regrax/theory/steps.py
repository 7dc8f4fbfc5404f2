r"""The stationary step size $k^*(d, T)$, to which training on squared regret converges, and the best step per round.

$k^*$ is the root of $L'(k)$ (`losses`), computed to rounding accuracy. $k^*\sqrt{T}$ tends to $c^*(d)$, which grows
like $\sqrt{2\log d}$.

**Schedules.** The loss is a sum over rounds, $L = T\,E[m^2] + \sum_t f(k_t\sqrt{T}, (t-1)/T)$ with $f = A - 2B$
(`moments`), so each $k_t$ minimises its own term. In round 1 every step plays uniformly; $k_1$ is defined as the limit
from later rounds, $k_1\sqrt{T} = \frac{d}{d-1} E[-m]$, the minimum of
$f = \mathrm{const} + \tau\,(K^2 (d-1)/d^2 - 2K\,E[-m]/d) + O(\tau^2)$. In the last rounds $k_t$ grows like one over the
square root of the number of remaining rounds.
"""

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.polynomial import Chebyshev

from regrax import _checks as checks
from regrax.theory.ball import ball_step
from regrax.theory.losses import (
    check_sizes,
    loss,
    mean_terms,
    minimum_moment,
    optimal_loss,
    rounds,
    uniform_loss,
)
from regrax.theory.moments import round_terms
from regrax.theory.quadrature import node_count, round_nodes

REFINED = 1.3
"""Factor by which grids are refined in every direction to estimate errors."""

ROUNDING = 1e-14
"""Smallest error estimate, relative to the value."""


class Estimate(NamedTuple):
    """A number and an estimate of its absolute error."""

    value: float
    error: float


def step_size(
    actions: int, horizon: float, *, operator: str = "softmax", radius: float = 1.0
) -> float:
    r"""Compute the stationary step $k^*(d, T)$, where $L'(k) = 0$ for $\pi_t = \mathrm{softmax}(-k S_{t-1})$.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives $c^*(d) = \lim \sqrt{T} k^*(d, T)$.
        operator: `"softmax"`, or `"ball"` for $\pi_t = -k S_{t-1}$ on the L2 ball, where
            $k^* = R\,E\|G_d\|/(d\sqrt{T})$.
        radius: radius $R > 0$ of the ball; only for `operator="ball"`.

    >>> import math
    >>> step_size(3, 20), step_size(3, math.inf)
    (0.447904905444, 2.0488938)
    """
    check_sizes(actions, horizon, operator, radius)
    root = math.sqrt(rounds(horizon))
    if operator == "ball":
        return ball_step(actions, radius) / root
    return _scaled_root(actions, horizon, 1.0) / root


def step_size_with_error(
    actions: int, horizon: float, *, operator: str = "softmax", radius: float = 1.0
) -> Estimate:
    r"""Compute `step_size` and estimate its error by refining every grid.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives the limit in scaled steps.
        operator: `"softmax"`, or `"ball"` for $\pi_t = -k S_{t-1}$ on the L2 ball.
        radius: radius $R > 0$ of the ball; only for `operator="ball"`.

    >>> estimate = step_size_with_error(3, 20)
    >>> estimate.value, estimate.error < 1e-12
    (0.447904905444, True)
    """
    value = step_size(actions, horizon, operator=operator, radius=radius)
    refined = value
    if operator == "softmax":
        refined = _scaled_root(actions, horizon, REFINED) / math.sqrt(rounds(horizon))
    return Estimate(value, max(abs(refined - value), ROUNDING * value))


def step_summary(
    actions: int, horizon: float, *, operator: str = "softmax", radius: float = 1.0
) -> dict[str, float | None]:
    r"""Compute the stationary step size, its loss, and the losses of the best possible and of uniform play.

    Losses are totals over the rounds, or per round for `horizon=math.inf`.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2, or `math.inf`.
        operator: `"softmax"` or `"ball"`, as in `step_size`.
        radius: radius of the ball.

    >>> step_summary(3, 20)["scaled"]
    2.00309163
    """
    settings = {"operator": operator, "radius": radius}
    step = step_size_with_error(actions, horizon, **settings)
    return {
        "step_size": step.value,
        "error": step.error,
        "scaled": step.value * math.sqrt(rounds(horizon)),
        "loss": loss(step.value, actions, horizon, **settings),
        "optimal_loss": optimal_loss(actions, horizon, **settings),
        "uniform_loss": uniform_loss(actions, horizon) if operator == "softmax" else None,
    }


@lru_cache(maxsize=256)
def _scaled_root(d: int, horizon: float, fineness: float) -> float:
    r"""Root in $K$ of the mean of $A' - 2B'$ over rounds; starting on a coarse grid is three times as fast."""

    @cache
    def slope(K: float, fine: float = fineness) -> float:
        return mean_terms(K, d, horizon, fine).slope

    guess = math.sqrt(2.33 + 1.714 * math.log(d)) / (1 + 0.4 / horizon)  # within 7 %
    coarse, curvature = secant(lambda K: slope(K, 0.5), guess, 1.01 * guess, tolerance=1e-8)
    return secant(slope, coarse, coarse - slope(coarse) / curvature, tolerance=3e-14)[0]


def secant(
    f: Callable[[float], float], a: float, b: float, tolerance: float
) -> tuple[float, float]:
    """Find a positive root and the slope there; the relative error is about the product of the last two moves."""
    fa = f(a)
    fb = f(b)
    for _ in range(60):
        slope = (fb - fa) / (b - a)
        new = min(max(b - fb / slope, b / 2), 2 * b)
        if fb == 0 or abs((new - b) * (b - a)) <= tolerance * b * b:
            return new, slope
        a, fa = b, fb
        b, fb = new, f(new)
    raise ArithmeticError(f"no stationary step near {b:.3g}: the secant method did not converge")


class StepSchedule(NamedTuple):
    """A step for each round, and the resulting loss.

    Attributes:
        steps: steps of rounds 1 to $T$.
        loss: loss of the schedule.
        constant_loss: loss of the best constant step.
        optimal_loss: lower bound for any policy.
    """

    steps: Float[ndarray, "T"]
    loss: float
    constant_loss: float
    optimal_loss: float

    @property
    def closed(self) -> float:
        """Fraction of the gap between the best constant step and the lower bound that the schedule closes."""
        return (self.constant_loss - self.loss) / (self.constant_loss - self.optimal_loss)


def step_schedule(actions: int, horizon: int) -> StepSchedule:
    r"""Compute the best step of Hedge for each round, $k_t = \arg\min_k E\bigl[\|\pi_t\|^2 - 2\pi_{t,J^*}\bigr]$.

    Use it with `Hedge(PerRound(schedule.steps))`.

    >>> schedule = step_schedule(3, 20)
    >>> schedule.loss, schedule.closed
    (14.6305, 0.9824)
    >>> schedule.steps[[0, 10, 19]].tolist()
    [0.2839, 0.3964, 1.2272]
    """
    check_sizes(actions, horizon)
    checks.at_least("horizon", horizon, 2)  # a schedule needs a finite horizon
    first = -actions / (actions - 1) * minimum_moment(actions, 1)

    def slow_steps(angles: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
        r"""$K \cos\theta$, which varies slowly, so that each search starts from the previous result."""
        found = [first]
        for angle in angles:
            tau = np.sin(angle) ** 2
            guess = found[-1] / np.cos(angle)
            root, _ = secant(
                lambda K, tau=tau: round_terms(K, tau, actions).slope, guess, 1.01 * guess, 1e-11
            )
            found.append(root * np.cos(angle))
        return np.array(found[1:])

    every = np.arcsin(np.sqrt(np.arange(horizon) / horizon))
    degree = node_count(actions, math.inf, 1.5)
    slow = Chebyshev.interpolate(slow_steps, degree, [0, every[-1]])
    theta, weight = round_nodes(horizon, node_count(actions, horizon, REFINED))
    terms = []
    for angle in theta:
        K = slow(angle) / np.cos(angle)
        terms.append(round_terms(K, np.sin(angle) ** 2, actions).loss)
    return StepSchedule(
        slow(every) / np.cos(every) / math.sqrt(horizon),
        horizon * (minimum_moment(actions, 2) + float(weight @ terms)),
        loss(step_size(actions, horizon), actions, horizon),
        optimal_loss(actions, horizon),
    )
