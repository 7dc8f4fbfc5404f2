r"""Exact expected squared regret on standard Gaussian losses for smoothed fictitious play and uniform play, and the
lower bound for any policy.

$S_t$ is the sum of the first $t$ losses, and round $t$ is played from $S_{t-1}$. By the hindsight identity
(`docs/explanation/theory.md`), every policy that depends only on the past has

$$L(\pi) = E[\mathrm{Regret}^2] = T\, E[m^2] - T + \sum_t E\|\pi_t - e_{J^*}\|^2, \qquad
J^* = \arg\min_j (S_T)_j, \quad m = \min_j G_j.$$

The minimum of the sum over policies is $T - \sum_t \mathrm{Stab}((t-1)/T)$. $\mathrm{Stab}(\rho)$ is the probability
that two standard normal $d$-vectors, independent across coordinates and with correlation $\rho$ in each, have their
minimum at the same coordinate:

$$\mathrm{Stab}(\rho) = d \iint \varphi_2(x, y; \rho)\, P(X > x, Y > y)^{d-1} dx\, dy.$$

In $s = (x + y)/\sqrt{2(1+\rho)}$ and $r = (x - y)/\sqrt{2(1-\rho)}$ the density is that of two independent normals and
the integrand does not narrow as $\rho \to 1$; the quadrant probability comes from Owen's $T$ function.

A horizon of `math.inf` is the limit: the step is then the scaled $k\sqrt{T}$, a loss is the limit of $L/T$, and
derivatives are in the scaled step.
"""

import math
from typing import NamedTuple

import numpy as np

from regrax import _checks as checks
from regrax.theory.ball import ball_loss, ball_optimal_loss
from regrax.theory.moments import Terms, round_terms
from regrax.theory.quadrature import REACH, log_complement, mean_over_rounds, minimum_nodes

MAX_ACTIONS = 10**6
MAX_SCALED_STEP = 1000.0


class LossParts(NamedTuple):
    r"""The two parts of $L'(k) = -2\Sigma_1 + 2\Sigma_2$: the learner's response, and the pull of hindsight."""

    sigma_1: float
    sigma_2: float


def loss(
    step: float,
    actions: int,
    horizon: float,
    *,
    operator: str = "softmax",
    radius: float = 1.0,
) -> float:
    r"""Compute the expected squared regret of Hedge with a constant step, $\pi_t = \mathrm{softmax}(-k S_{t-1})$.

    $L(k) = T\,E[m^2] + \sum_t E\bigl[\|\pi_t\|^2 - 2\pi_{t,J^*}\bigr]$.

    Args:
        step: $k > 0$; with an infinite horizon the scaled step $k \sqrt{T}$.
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives the limit in scaled steps.
        operator: `"softmax"`, or `"ball"` for $\pi_t = -k S_{t-1}$ on the L2 ball.
        radius: radius $R > 0$ of the ball; only for `operator="ball"`.

    >>> loss(0.4479, 3, 20), loss(0.1189, 3, 20, operator="ball")
    (14.7940792, 51.936)
    """
    check_sizes(actions, horizon, operator, radius)
    scaled = scaled_step(step, horizon)
    if operator == "ball":
        return rounds(horizon) * ball_loss(scaled, actions, horizon, radius)
    added = mean_terms(scaled, actions, horizon).loss
    return rounds(horizon) * (minimum_moment(actions, 2) + added)


def loss_derivative(step: float, actions: int, horizon: float, *, fineness: float = 1.0) -> float:
    r"""Compute $L'(k) = -2\Sigma_1 + 2\Sigma_2$, which is zero at `step_size`.

    Args:
        step: $k > 0$; with an infinite horizon the scaled step.
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2, or `math.inf` for the limit.
        fineness: fineness of the quadrature; 1 gives full accuracy, 0.5 about three digits many times faster.

    >>> loss_derivative(0.2, 3, 20), loss_derivative(0.8, 3, 20)
    (-8.5465, 1.9003)
    """
    parts = loss_parts(step, actions, horizon, fineness=fineness)
    return -2 * parts.sigma_1 + 2 * parts.sigma_2


def loss_parts(step: float, actions: int, horizon: float, *, fineness: float = 1.0) -> LossParts:
    r"""Compute the two parts of $L'(k)$.

    $\Sigma_1 = \sum_t E\langle J_t S_{t-1}, \pi_t\rangle$, and $\Sigma_2$ has $e_{J^*}$ in place of $\pi_t$.

    $J_t = \mathrm{diag}(\pi_t) - \pi_t\pi_t^\top$ is the softmax Jacobian, $d\pi_t/dk = -J_t S_{t-1}$; so $\Sigma_1$ is
    $-\frac12$ the derivative of $\sum_t E\|\pi_t\|^2$ and $\Sigma_2$ is minus that of $\sum_t E[\pi_{t,J^*}]$.

    Args:
        step: $k > 0$; with an infinite horizon the scaled step.
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2, or `math.inf` for the limit.
        fineness: fineness of the quadrature, as in `loss_derivative`.

    >>> loss_parts(0.2, 3, 20)
    LossParts(sigma_1=-5.4055, sigma_2=-9.6788)
    """
    check_sizes(actions, horizon)
    checks.positive("fineness", fineness)
    scaled = scaled_step(step, horizon)

    terms = mean_terms(scaled, actions, horizon, fineness)
    unit = rounds(horizon) ** 1.5  # dL/dk = sqrt(T) dL/dK
    return LossParts(-unit * terms.collision_slope / 2, -unit * terms.foresight_slope)


def mean_terms(K: float, actions: int, horizon: float, fineness: float = 1.0) -> Terms:
    """Average the terms of the loss over rounds, at the scaled step $K$."""

    def of_round(tau: float) -> Terms:
        return round_terms(K, tau, actions, fineness)

    return Terms(*mean_over_rounds(of_round, actions, horizon, fineness).tolist())


def uniform_loss(actions: int, horizon: float) -> float:
    r"""Compute the loss of uniform play, $T\,(E[m^2] - 1/d)$.

    >>> uniform_loss(3, 20)
    18.8466223
    """
    check_sizes(actions, horizon)
    return rounds(horizon) * (minimum_moment(actions, 2) - 1 / actions)


def optimal_loss(
    actions: int, horizon: float, *, operator: str = "softmax", radius: float = 1.0
) -> float:
    r"""Compute the lower bound for any policy, $L^*(d, T) = T\,E[m^2] - \sum_t \mathrm{Stab}((t-1)/T)$.

    The learner `Optimal` attains it.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2; `math.inf` gives the limit in loss per round.
        operator: `"softmax"`, or `"ball"` to compete with the best point of the L2 ball.
        radius: radius $R > 0$ of the ball; only for `operator="ball"`.

    >>> optimal_loss(3, 20), optimal_loss(3, 20, operator="ball")
    (14.6276164, 51.4255)
    """
    check_sizes(actions, horizon, operator, radius)
    if operator == "ball":
        return rounds(horizon) * ball_optimal_loss(actions, horizon, radius)
    best = mean_over_rounds(lambda tau: stability(tau, actions), actions, horizon)
    return rounds(horizon) * (minimum_moment(actions, 2) - float(best))


def minimum_moment(actions: int, power: int) -> float:
    r"""Compute $E[m^p] = \int y^p\, d\, \varphi(y)\, Q(y)^{d-1} dy$, $m$ the minimum of $d$ standard normals.

    >>> minimum_moment(3, 2)
    1.2756644
    """
    from scipy.special import log_ndtr

    y, dy = minimum_nodes(actions, 2.0)
    density = actions * np.exp(-y * y / 2 + (actions - 1) * log_ndtr(-y)) / np.sqrt(2 * np.pi)
    return float((y**power) @ density * dy)


def stability(rho: float, actions: int, fineness: float = 1.0) -> float:
    r"""Compute $\mathrm{Stab}(\rho)$ for $0 \le \rho \le 1$; with two actions it is $\frac12 + \arcsin(\rho)/\pi$.

    >>> stability(0.5, 2), stability(0.5, 10)
    (0.6666667, 0.2938)

    Reference: Owen (1956), Tables for computing bivariate normal probabilities.
    """
    from scipy.special import ndtr, owens_t

    checks.at_least("actions", actions, 2)
    if not 0 <= rho <= 1:
        raise ValueError(f"rho must be a correlation between 0 and 1, got {rho}")
    if rho == 1:
        return 1.0
    nodes, step = minimum_nodes(actions, fineness)
    s = np.arange(nodes[0] * np.sqrt(2 / (1 + rho)), REACH + step, step)
    s = s[:, None] + step / 7  # away from 0, where x / y is undefined
    r = (np.arange(np.ceil(2 * REACH / step)) + 0.5) * step
    plus = np.sqrt((1 + rho) / 2)
    minus = np.sqrt((1 - rho) / 2)
    x = plus * s + minus * r
    y = plus * s - minus * r
    below_x = ndtr(x) / 2 + owens_t(x, (minus * s - plus * r) / x)
    below_y = ndtr(y) / 2 + owens_t(y, (minus * s + plus * r) / y)
    leave = below_x + below_y + np.where(x * y < 0, 0.5, 0.0)
    others = np.exp((actions - 1) * log_complement(leave))
    normal = np.exp(-(s[:, 0] ** 2) / 2) @ others @ np.exp(-r * r / 2)
    # doubled, since r < 0 is symmetric
    return float(actions * 2 * normal * step * step / (2 * np.pi))


def rounds(horizon: float) -> float:
    """Return T, or 1 for an infinite horizon, where losses are per round and steps are scaled."""
    if math.isinf(horizon):
        return 1.0
    return float(horizon)


def check_sizes(
    actions: int, horizon: float, operator: str = "softmax", radius: float = 1.0
) -> None:
    """Raise unless the numbers of actions and rounds, the operator and its radius are such as the theory covers."""
    checks.at_least("actions", actions, 2, MAX_ACTIONS)
    if not (isinstance(horizon, float) and horizon == math.inf):
        checks.at_least("horizon", horizon, 2)
    checks.positive("radius", radius)
    checks.one_of("operator", operator, ("softmax", "ball"))
    if operator == "softmax" and radius != 1:
        raise ValueError(f"radius is only for operator='ball', got {radius} with 'softmax'")


def scaled_step(step: float, horizon: float) -> float:
    r"""Return $K = k\sqrt{T}$, or raise unless it is positive and small enough to integrate."""
    checks.positive("step", step)
    scaled = float(step) * math.sqrt(rounds(horizon))
    if scaled > MAX_SCALED_STEP:
        raise ValueError(
            f"step * sqrt(horizon) must be at most {MAX_SCALED_STEP:g} (with a larger step Hedge follows the leader), "
            f"got {scaled:g}"
        )
    return scaled
