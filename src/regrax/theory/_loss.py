r"""The exact expected squared regret on standard Gaussian losses: of smoothed fictitious play, of uniform play, and
the least that any policy can have.

By the hindsight identity (`docs/theory.md`), for every policy that looks at the past only

$$L(\pi) = E[\mathrm{Regret}^2] = T\, E[m^2] - T + \sum_t E\|\pi_t - e_{J^*}\|^2, \qquad
J^* = \arg\min_j (S_T)_j, \quad m = \min_j G_j.$$

The least that the sum can be is $T - \sum_t \mathrm{Stab}((t-1)/T)$. $\mathrm{Stab}(\rho)$ is the probability that two
standard normal $d$-vectors, independent across coordinates and with correlation $\rho$ in each, have their minimum at
the same place:

$$\mathrm{Stab}(\rho) = d \iint \varphi_2(x, y; \rho)\, P(X > x, Y > y)^{d-1} dx\, dy.$$

In $s = (x + y)/\sqrt{2(1+\rho)}$ and $r = (x - y)/\sqrt{2(1-\rho)}$ the density is that of two independent normals and
nothing narrows as $\rho \to 1$; the quadrant probability comes from Owen's $T$ function.

A horizon of `math.inf` is the limit: the step is then the scaled $k\sqrt{T}$, a loss is the limit of $L/T$, and
derivatives are in the scaled step.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax import _checks as checks
from regrax.theory._ball import ball_loss, ball_optimal_loss
from regrax.theory._integrals import (
    REACH,
    Term,
    collision,
    foresight,
    log_stay,
    minimum_nodes,
    product,
    round_loss,
    round_nodes,
)

MAX_ACTIONS = 10**6
MAX_SCALED_STEP = 1000.0


class LossParts(NamedTuple):
    r"""$L'(k) = -2\Sigma_1 + 2\Sigma_2$: the learner's response and what hindsight asks of it."""

    sigma_1: float
    sigma_2: float


def loss(
    step: int | float,
    actions: int,
    horizon: int | float,
    *,
    operator: str = "softmax",
    radius: int | float = 1.0,
) -> float:
    r"""$L(k) = T\,E[m^2] + \sum_t E\bigl[\|\pi_t\|^2 - 2\pi_{t,J^*}\bigr]$ with $\pi_t = \mathrm{softmax}(-k S_{t-1})$.

    `operator="ball"` is $\pi_t = -k S_{t-1}$ against the L2 ball of radius $R$ (`regrax.theory._ball`).

    Args:
        step: $k > 0$; with an infinite horizon the scaled step $k \sqrt{T}$.
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives the limit in scaled steps.
        operator: `"softmax"`, or `"ball"` for $\pi_t = -k S_{t-1}$ on the L2 ball.
        radius: $R > 0$ of the ball; only for `operator="ball"`.

    >>> loss(0.4479, 3, 20), loss(0.1189, 3, 20, operator="ball")
    (14.7940792, 51.936)
    """
    check_size(actions, horizon)
    scaled = check_step(step, horizon)
    if check_operator(operator, radius) == "ball":
        return _rounds(horizon) * ball_loss(scaled, actions, horizon, radius)
    added = mean_over_rounds(lambda tau: round_loss(scaled, tau, actions).value, actions, horizon)
    return _rounds(horizon) * (minimum_moment(actions, 2) + added)


def loss_derivative(
    step: int | float, actions: int, horizon: int | float, *, fineness: float = 1.0
) -> float:
    r"""$L'(k) = -2\Sigma_1 + 2\Sigma_2$, zero at `step_size`.

    Args:
        step: $k$, above 0.
        actions: $d$, from 2 on.
        horizon: $T$, or `math.inf` for the limit.
        fineness: of the quadrature: 1 gives all digits, 0.5 about three of them many times faster.

    >>> loss_derivative(0.2, 3, 20), loss_derivative(0.8, 3, 20)
    (-8.5465, 1.9003)
    """
    parts = loss_parts(step, actions, horizon, fineness=fineness)
    return -2 * parts.sigma_1 + 2 * parts.sigma_2


def loss_parts(
    step: int | float, actions: int, horizon: int | float, *, fineness: float = 1.0
) -> LossParts:
    r"""$\Sigma_1 = \sum_t E\langle J_t S_{t-1}, \pi_t\rangle$; $\Sigma_2$ has $e_{J^*}$ in place of $\pi_t$.

    $J_t = \mathrm{diag}(\pi_t) - \pi_t\pi_t^\top$ is the softmax Jacobian, $d\pi_t/dk = -J_t S_{t-1}$; so $\Sigma_1$ is
    $-\frac12$ the derivative of $\sum_t E\|\pi_t\|^2$ and $\Sigma_2$ is $-$ that of $\sum_t E[\pi_{t,J^*}]$.

    Args:
        step: $k$, above 0.
        actions: $d$, from 2 on.
        horizon: $T$, or `math.inf` for the limit.
        fineness: of the quadrature, as in `loss_derivative`.

    >>> loss_parts(0.2, 3, 20)
    LossParts(sigma_1=-5.4055, sigma_2=-9.6788)
    """
    check_size(actions, horizon)
    checks.positive("fineness", fineness)
    scaled = check_step(step, horizon)
    unit = _rounds(horizon) * scale(horizon)  # dL/dk = sqrt(T) dL/dK

    def mean_slope(term: Callable[[float, float, int, float], Term]) -> float:
        return mean_over_rounds(
            lambda tau: term(scaled, tau, actions, fineness).slope, actions, horizon, fineness
        )

    response, hindsight = mean_slope(collision), mean_slope(foresight)
    return LossParts(-unit * response / 2, -unit * hindsight)


def uniform_loss(actions: int, horizon: int | float) -> float:
    r"""$T\,(E[m^2] - 1/d)$: the loss of $\pi_t = 1/d$.

    >>> uniform_loss(3, 20)
    18.8466223
    """
    check_size(actions, horizon)
    return _rounds(horizon) * (minimum_moment(actions, 2) - 1 / actions)


def optimal_loss(
    actions: int, horizon: int | float, *, operator: str = "softmax", radius: int | float = 1.0
) -> float:
    r"""$L^*(d, T) = T\,E[m^2] - \sum_t \mathrm{Stab}((t-1)/T)$: what no policy can beat; `Optimal` attains it.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives the limit in loss per round.
        operator: `"softmax"`, or `"ball"`: the comparator is the best point of the L2 ball.
        radius: $R > 0$ of the ball; only for `operator="ball"`.

    >>> optimal_loss(3, 20), optimal_loss(3, 20, operator="ball")
    (14.6276164, 51.4255)
    """
    check_size(actions, horizon)
    if check_operator(operator, radius) == "ball":
        return _rounds(horizon) * ball_optimal_loss(actions, horizon, radius)
    best = mean_over_rounds(lambda tau: stability(tau, actions), actions, horizon)
    return _rounds(horizon) * (minimum_moment(actions, 2) - best)


def minimum_moment(actions: int, power: int) -> float:
    r"""$E[m^p]$ for $m = \min_j G_j$, $G_1 \dots G_d$ standard normal: $\int y^p\, d\, \varphi(y)\, Q(y)^{d-1} dy$.

    >>> minimum_moment(3, 2)
    1.2756644
    """
    from scipy.special import log_ndtr

    y, dy = minimum_nodes(actions, 2.0)
    density = actions * np.exp(-y * y / 2 + (actions - 1) * log_ndtr(-y)) / np.sqrt(2 * np.pi)
    return float((y**power) @ density * dy)


def stability(rho: int | float, actions: int, fineness: float = 1.0) -> float:
    r"""$\mathrm{Stab}(\rho)$, for $0 \le \rho \le 1$; with two actions it is $\frac12 + \arcsin(\rho)/\pi$.

    >>> stability(0.5, 2), stability(0.5, 10)
    (0.6666667, 0.2938)

    Reference: Owen (1956), Tables for computing bivariate normal probabilities.
    """
    checks.at_least("actions", actions, 2)
    if not 0 <= rho <= 1:
        raise ValueError(f"rho must be a correlation between 0 and 1, got {rho}")
    if rho == 1:
        return 1.0
    rho = float(rho)
    y, step = minimum_nodes(actions, fineness)
    s = np.arange(y[0] * np.sqrt(2 / (1 + rho)), REACH + step, step)
    s = s + step / 7  # off 0, where x = y = 0 has no ratio
    r = (np.arange(np.ceil(2 * REACH / step)) + 0.5) * step
    others = np.exp((actions - 1) * log_stay(_leave(s[:, None], r, rho)))
    normal = np.exp(-s * s / 2) @ product(others, np.exp(-r * r / 2))
    return float(actions * 2 * normal * step * step / (2 * np.pi))  # twice: r > 0 stands for r < 0


def _leave(s: Float[ndarray, "n 1"], r: Float[ndarray, "m"], rho: float) -> Float[ndarray, "n m"]:
    r"""$1 - P(X > x, Y > y) = \frac12 (\Phi(x) + \Phi(y)) + T(x, a_x) + T(y, a_y) + \frac12 [xy < 0]$."""
    from scipy.special import ndtr, owens_t

    plus, minus = np.sqrt(1 + rho), np.sqrt(1 - rho)
    x, y = (plus * s + minus * r) / np.sqrt(2), (plus * s - minus * r) / np.sqrt(2)
    t = owens_t(x, (minus * s - plus * r) / (plus * s + minus * r))
    t = t + owens_t(y, (minus * s + plus * r) / (plus * s - minus * r))
    return (ndtr(x) + ndtr(y)) / 2 + t + np.where(x * y < 0, 0.5, 0.0)


def mean_over_rounds(
    of_round: Callable[[float], float], actions: int, horizon: int | float, fineness: float = 1.0
) -> float:
    r"""$\frac1T \sum_t f((t-1)/T)$, or $\int_0^1 f(\tau)\, d\tau$ when the horizon is infinite."""
    theta, weight = round_nodes(horizon, node_count(actions, horizon, fineness))
    return float(weight @ [of_round(tau) for tau in np.sin(theta) ** 2])


def node_count(actions: int, horizon: int | float, fineness: float = 1.0) -> int:
    """How many rounds stand for all of them."""
    size = math.log(actions)
    return math.ceil(fineness * min(19 + 1.5 * size, 5 + (0.4 + 0.04 * size) * horizon))


def scale(horizon: int | float) -> float:
    r"""$\sqrt{T}$, the factor from a step to a scaled step; 1 for an infinite horizon."""
    return math.sqrt(_rounds(horizon))


def check_size(actions: int, horizon: int | float) -> None:
    """Raise unless there are 2 to a million actions and at least 2 rounds, or infinitely many."""
    checks.at_least("actions", actions, 2, MAX_ACTIONS)
    if not (isinstance(horizon, float) and horizon == math.inf):
        checks.at_least("horizon", horizon, 2)


def check_operator(operator: str, radius: int | float) -> str:
    """The operator, or an error when it is unknown or is given a radius that it has no use for."""
    checks.positive("radius", radius)
    if operator not in ("softmax", "ball"):
        raise ValueError(f"operator must be 'softmax' or 'ball', got {operator!r}")
    if operator == "softmax" and radius != 1:
        raise ValueError(f"radius belongs to operator='ball', got {radius} with softmax")
    return operator


def check_step(step: int | float, horizon: int | float) -> float:
    r"""The scaled step $k\sqrt{T}$, or an error when it is not above 0 or too large to integrate."""
    checks.positive("step", step)
    scaled = float(step) * scale(horizon)
    if scaled > MAX_SCALED_STEP:
        raise ValueError(
            f"step times the root of the horizon must be at most {MAX_SCALED_STEP:g}, where play is "
            f"already that of follow-the-leader, got {scaled:g}"
        )
    return scaled


def _rounds(horizon: int | float) -> float:
    return 1.0 if math.isinf(horizon) else float(horizon)
