r"""Enclosures of Gaussian expectations for two actions: the trapezoid rule in ball arithmetic with a strip bound.

After $n$ of $T$ rounds the difference of the two sums is $\sqrt{2n}\,X$, $X \sim N(0, 1)$. With
$\kappa = k\sqrt{2n}$, $\sigma = 1/(1 + e^{-\kappa X})$ the policy and $P = \Phi(\mu X)$, $\mu = \sqrt{n/(T-n)}$, the
optimal one, a round adds $g = 2(\sigma - P)^2$ to the loss, up to a constant, with derivatives in the logit
$g' = 4(\sigma - P)\sigma'$ and $g'' = 4(\sigma'^2 + (\sigma - P)\sigma'(1 - 2\sigma))$.

**The bound.** If $f$ is analytic in $|\mathrm{Im}| < a$, tends to 0 there, and $\int |f(x + ib)| dx \le M$ for
$|b| < a$, then $|h\sum_j f(jh) - \int f| \le 2M/(e^{2\pi a/h} - 1)$. Let $\kappa a \le \pi/2$. Then
$\cos(\kappa b) \ge 0$ and on the strip $|\sigma| \le 1$, $|1 - 2\sigma| = |\tanh(\kappa X/2)| \le 1$,
$|\sigma'| = 1/|2\cosh(\kappa X/2)|^2 \le 1/2$; integrating $\Phi' = \varphi$ upwards from the real line,
$|P| \le 1 + \mu a e^{\mu^2 a^2/2}/\sqrt{2\pi}$. Let $D$, one more than that, bound $|\sigma - P|$. Then
$|g| \le 2D^2$, $|g'| \le 2D$, $|g''| \le 1 + 2D$, and for $X^j \varphi$ times a function bounded by $B$ we can take
$M = e^{a^2/2} B\, E(|X| + a)^j$. On the real line $D = 1$, and beyond $R \ge 4$ the omitted terms sum to at most
$2B\varphi(R) R^{j-1}/(1 - (j-1)/R^2)$, or $2B\varphi(R)/R$ for $j = 0$. A strip with $\kappa a > \pi/2$ raises an
error, because the proof does not cover it.

Reference: Trefethen, Weideman (2014), The exponentially convergent trapezoidal rule, theorem 5.1.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

Ball = Any
"""A `flint.arb`; arrays of them have the type `object`."""

GUARD_BITS = 30


class StripError(ArithmeticError):
    """The strip of a trapezoid rule is too wide for the proved error bound."""


class RoundSums(NamedTuple):
    """Enclosures of the expectations in one round."""

    gap: Ball  # E[2 (sigma - P)^2]
    slope: Ball  # E[X g']
    curvature: Ball  # E[g'']
    curvature_2: Ball  # E[X^2 g'']
    curvature_4: Ball  # E[X^4 g'']


class Grid(NamedTuple):
    """Nodes on a half line, with all quantities that do not depend on the step."""

    x: ndarray
    weight: ndarray  # 2 h phi(X), or h phi at 0
    best: ndarray  # P
    spacing: Ball
    reach: Ball
    strip: Ball
    mu: Ball


@contextmanager
def precision(digits: int) -> Iterator[None]:
    """Set the working precision to this many decimals plus a margin."""
    from flint import ctx

    before = ctx.prec
    ctx.prec = math.ceil(digits * 3.33) + GUARD_BITS
    try:
        yield
    finally:
        ctx.prec = before


def round_sums(k: Ball, n: int, horizon: int, digits: int, widen: float = 1.0) -> RoundSums:
    r"""Enclose all expectations of round $n + 1$ at the step $k$ to about `digits` digits.

    `widen` stretches the strip; above 1 the certificate must fail or its error must grow.
    """
    from flint import arb

    with precision(digits):
        kappa = k * arb(2 * n).sqrt()
        grid = _grid(n, horizon, digits, math.ceil(float(kappa.upper()) * 64) / 64, widen)
        check_strip(kappa, grid.strip)
        x = grid.x
        sigma = 1 / (1 + np.exp(-kappa * x))
        away = sigma - grid.best
        rise = sigma * (1 - sigma)
        first = 4 * away * rise * x
        second = 4 * (rise * rise + away * rise * (1 - 2 * sigma))
        D = 1 + cdf_bound(grid.mu * grid.strip)
        size = 1 + 2 * D
        return RoundSums(
            grid.weight @ (2 * away * away) + _error(2 * D * D, 2, 0, grid),
            grid.weight @ first + _error(2 * D, 2, 1, grid),
            grid.weight @ second + _error(size, 3, 0, grid),
            grid.weight @ (second * x * x) + _error(size, 3, 2, grid),
            grid.weight @ (second * x**4) + _error(size, 3, 4, grid),
        )


def check_strip(rate: Ball, strip: Ball) -> None:
    """Raise unless the logit's rate times the strip's half-width is provably at most pi/2."""
    from flint import arb

    if not rate * strip <= arb.pi() / 2:
        raise StripError(
            f"the strip's half-width must be at most pi/2 over {float(rate.upper()):.6g}, the logit's rate, "
            f"got {float(strip):.6g}: softmax has poles there, and the proof does not extend past them"
        )


def cdf_bound(width: Ball) -> Ball:
    r"""$|\Phi| \le 1 + b e^{b^2/2}/\sqrt{2\pi}$ for $|\mathrm{Im}| \le b$, where $b$ is the width."""
    return 1 + width / normal_density(width) / (2 * width.pi())


def normal_density(x: Any) -> Any:
    r"""$\varphi(x)$, of a ball or an array of balls."""
    from flint import arb

    return np.exp(-x * x / 2) / (2 * arb.pi()).sqrt()


def normal_cdf(x: Any) -> Any:
    r"""$\Phi(x)$, of an array of balls."""
    from flint import arb

    return (1 + np.frompyfunc(arb.erf, 1, 1)(x / arb(2).sqrt())) / 2


def rule_error(strip: Ball, spacing: Ball) -> Ball:
    r"""$2/(e^{2\pi a/h} - 1)$, the error of the rule relative to $M$."""
    return 2 / ((2 * strip.pi() * strip / spacing).exp() - 1)


def _error(size: Ball, real: int, power: int, grid: Grid) -> Ball:
    """Return a ball around 0 with the error for X^power phi f; |f| <= size on the strip and <= real on the line."""
    from flint import arb

    a = grid.strip
    R = grid.reach
    half = (2 / arb.pi()).sqrt()
    mean = [arb(1), half, arb(1), 2 * half, arb(3)]  # E|X|^i
    moment = sum(math.comb(power, i) * a ** (power - i) * mean[i] for i in range(power + 1))
    discretisation = (a * a / 2).exp() * size * moment * rule_error(a, grid.spacing)
    below = 1 - max(power - 1, 0) / (R * R)
    truncation = 2 * real * normal_density(R) * R ** (power - 1) / below
    return arb(0, (discretisation + truncation).upper())


@lru_cache(maxsize=4096)
def _grid(n: int, horizon: int, digits: int, kappa: float, widen: float) -> Grid:
    r"""Build a grid for all steps with at most this $\kappa$; spacing and strip balance the two exponents."""
    from flint import arb

    mu = (arb(n) / (horizon - n)).sqrt()
    goal = digits * math.log(10) + 8
    grow = 1 + 2 * float(mu) ** 2  # the bound contains the square of the bound on P
    strip = min(math.pi / 2 / kappa * (1 - 1e-9), math.sqrt(2 * goal / grow)) * widen
    spacing = 2 * math.pi * strip / (goal + grow * min(strip, strip / widen) ** 2 / 2)
    count = math.ceil(math.sqrt(2 * goal + 10) / spacing)
    h: Ball = arb(spacing)
    x = h * np.arange(count + 1)
    weight = h * normal_density(x)
    weight[1:] *= 2
    return Grid(x, weight, normal_cdf(mu * x), h, h * count, arb(strip), mu)
