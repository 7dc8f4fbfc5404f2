r"""Gaussian expectations for two actions, enclosed: the trapezoid rule in ball arithmetic with a strip bound.

After $n$ of $T$ rounds the difference of the two sums is $\sqrt{2n}\,X$, $X \sim N(0, 1)$. With
$\kappa = k\sqrt{2n}$, $\sigma = 1/(1 + e^{-\kappa X})$ the policy and $P = \Phi(\mu X)$, $\mu = \sqrt{n/(T-n)}$, the
best possible one, a round adds $g = 2(\sigma - P)^2$ to the loss, up to a constant, with derivatives in the logit
$g' = 4(\sigma - P)\sigma'$ and $g'' = 4(\sigma'^2 + (\sigma - P)\sigma'(1 - 2\sigma))$.

**The bound.** If $f$ is analytic in $|\mathrm{Im}| < a$, tends to 0 there, and $\int |f(x + ib)| dx \le M$ for
$|b| < a$, then $|h\sum_j f(jh) - \int f| \le 2M/(e^{2\pi a/h} - 1)$. Let $\kappa a \le \pi/2$. Then
$\cos(\kappa b) \ge 0$ and on the strip $|\sigma| \le 1$, $|1 - 2\sigma| = |\tanh(\kappa X/2)| \le 1$,
$|\sigma'| = 1/|2\cosh(\kappa X/2)|^2 \le 1/2$; integrating $\Phi' = \varphi$ upwards from the real line,
$|P| \le 1 + \mu a e^{\mu^2 a^2/2}/\sqrt{2\pi}$. With $D$ a bound of $|\sigma - P|$, one more than that, $|g| \le 2D^2$,
$|g'| \le 2D$, $|g''| \le 1 + 2D$, and $M = e^{a^2/2} B\, E(|X| + a)^j$ serves $X^j \varphi$ times any of them, $B$ its
bound. On the real line $D = 1$, and beyond a reach $R \ge 4$ the terms left out sum to at most
$2B\varphi(R) R^{j-1}/(1 - (j-1)/R^2)$, or $2B\varphi(R)/R$ for $j = 0$. A strip with $\kappa a > \pi/2$ is refused:
nothing is proved there.

Reference: Trefethen, Weideman (2014), The exponentially convergent trapezoidal rule, theorem 5.1.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

GUARD_BITS = 30


class StripError(ArithmeticError):
    """The strip of a trapezoid rule reaches beyond where its error bound is proved."""


class RoundSums(NamedTuple):
    r"""Enclosures of one round's expectations, balls of `flint.arb`."""

    gap: Any  # E[2 (sigma - P)^2]
    slope: Any  # E[X g']
    curvature: Any  # E[g'']
    curvature_2: Any  # E[X^2 g'']
    curvature_4: Any  # E[X^4 g'']


class Grid(NamedTuple):
    """Nodes of a half line with what does not depend on the step, and what the bound needs."""

    nodes: tuple[tuple[Any, Any, Any], ...]  # X, 2 h phi(X) (h phi at 0), P
    spacing: Any
    reach: Any
    strip: Any
    mu: Any


def round_sums(k: Any, n: int, horizon: int, digits: int, widen: float = 1.0) -> RoundSums:
    r"""All expectations of round $n + 1$ at the step $k$, a ball; about `digits` of them are right.

    `widen` stretches the strip over the one chosen: above 1 the certificate must fail, or its error grow.
    """
    from flint import arb

    with precision(digits):
        kappa = k * arb(2 * n).sqrt()
        grid = _grid(n, horizon, digits, math.ceil(float(kappa.upper()) * 64) / 64, widen)
        check_strip(kappa, grid.strip)
        return _with_errors(_sums(kappa, grid), grid)


@contextmanager
def precision(digits: int) -> Iterator[None]:
    """Ball arithmetic with this many decimals and some to spare; as it was, afterwards."""
    from flint import ctx

    before, ctx.prec = ctx.prec, math.ceil(digits * 3.33) + GUARD_BITS
    try:
        yield
    finally:
        ctx.prec = before


def check_strip(rate: Any, strip: Any) -> None:
    """Raise unless the rate of the logit times the half width of the strip is proved to be at most pi/2."""
    from flint import arb

    if not rate * strip <= arb.pi() / 2:
        raise StripError(
            f"the strip must have half width at most pi/2 over {float(rate.upper()):.6g}, the rate of the logit, "
            f"got {float(strip):.6g}: softmax has poles there, and nothing is proved beyond"
        )


def _sums(kappa: Any, grid: Grid) -> list[Any]:
    totals: list[Any] = [0] * 5
    for x, weight, best in grid.nodes:
        sigma = 1 / (1 + (-kappa * x).exp())
        away, slope = sigma - best, sigma * (1 - sigma)
        second = 4 * weight * (slope * slope + away * slope * (1 - 2 * sigma))
        square = x * x
        parts = (
            2 * weight * away * away,
            4 * weight * away * slope * x,
            second,
            second * square,
            second * square * square,
        )
        totals = [total + part for total, part in zip(totals, parts, strict=True)]
    return totals


def _with_errors(totals: list[Any], grid: Grid) -> RoundSums:
    """Every sum widened by its discretisation and truncation errors."""
    on_strip, on_line = _sizes(1 + cdf_bound(grid.mu * grid.strip)), _sizes(1)
    sizes = zip(on_strip, on_line, (0, 1, 0, 2, 4), strict=True)
    errors = (_error(*size, grid) for size in sizes)
    return RoundSums(*(total + error for total, error in zip(totals, errors, strict=True)))


def _sizes(D: Any) -> list[Any]:
    r"""Bounds of $g$, $g'$ and thrice $g''$ when $|\sigma - P| \le D$."""
    return [2 * D * D, 2 * D, *[1 + 2 * D] * 3]


def cdf_bound(width: Any) -> Any:
    r"""$|\Phi| \le 1 + b e^{b^2/2}/\sqrt{2\pi}$ where $|\mathrm{Im}| \le b$, the width."""
    from flint import arb

    return 1 + width * (width * width / 2).exp() / (2 * arb.pi()).sqrt()


def rule_error(strip: Any, spacing: Any) -> Any:
    r"""$2/(e^{2\pi a/h} - 1)$: the error of the rule, as a share of $M$."""
    from flint import arb

    return 2 / ((2 * arb.pi() * strip / spacing).exp() - 1)


def _error(size: Any, real: Any, power: int, grid: Grid) -> Any:
    """A ball around 0 for the error of the rule for X^power phi f, |f| <= size on the strip and <= real on the line."""
    from flint import arb

    a, R = grid.strip, grid.reach
    mean = [arb(1), (2 / arb.pi()).sqrt(), arb(1), 2 * (2 / arb.pi()).sqrt(), arb(3)]  # E|X|^i
    moment = sum(math.comb(power, i) * a ** (power - i) * mean[i] for i in range(power + 1))
    discretisation = (a * a / 2).exp() * size * moment * rule_error(a, grid.spacing)
    density = (-R * R / 2).exp() / (2 * arb.pi()).sqrt()
    lower = max(power - 1, 0)
    truncation = 2 * real * density * R ** (power - 1) / (1 - lower / (R * R))
    return arb(0, (discretisation + truncation).upper())


@lru_cache(maxsize=4096)
def _grid(n: int, horizon: int, digits: int, kappa: float, widen: float) -> Grid:
    r"""A grid for all steps with $\kappa$ up to the one given; spacing and strip balance the two exponents."""
    from flint import arb

    mu = (arb(n) / (horizon - n)).sqrt()
    goal = digits * math.log(10) + 8
    grow = 1 + 2 * float(mu) ** 2  # the bound has the square of that on P
    strip = min(math.pi / 2 / kappa * (1 - 1e-9), math.sqrt(2 * goal / grow)) * widen
    spacing = 2 * math.pi * strip / (goal + grow * min(strip, strip / widen) ** 2 / 2)
    count = math.ceil(math.sqrt(2 * goal + 10) / spacing)
    h, root = arb(spacing), arb(2).sqrt()
    norm = h / (2 * arb.pi()).sqrt()
    nodes = []
    for j in range(count + 1):
        x = h * j
        weight = (norm if j == 0 else 2 * norm) * (-x * x / 2).exp()
        nodes.append((x, weight, (1 + (mu * x / root).erf()) / 2))
    return Grid(tuple(nodes), h, h * count, arb(strip), mu)
