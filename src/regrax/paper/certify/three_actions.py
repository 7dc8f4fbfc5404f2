r"""Proof of the stationary step for three actions: a trapezoid rule on a lattice of differences in ball arithmetic.

With $x_i = S_{i+1} - S_1$, $w_i = e^{-k x_i}$, $W = 1 + w_1 + w_2$, $N = x_1 w_1 + x_2 w_2$, $\pi_1 = 1/W$, $F = N/W^2$
and, $\sigma^2 = T - n$, $p = P(J^* = 1 | S) = E_g[\Phi(g + x_1/\sigma)\Phi(g + x_2/\sigma)]$, relabelling gives

$$L'(k) = 6\sum_n E[(\pi_1 - p) F], \qquad L''(k) = 6\sum_n E[F^2 + (\pi_1 - p) F'], \quad
F' = 2N^2/W^3 - (x_1^2 w_1 + x_2^2 w_2)/W^2.$$

$(x_1, x_2)$ has the density $q = e^{-Q}/(2\pi n\sqrt{3})$, $Q = (x_1^2 - x_1 x_2 + x_2^2)/(3n)$. Both integrals
become sums over $\delta Z^2$, and one matrix product gives $p$ on all of it. **Bounds.** Write the error of the double
sum as that of one variable at a time, with the other real; let $x_1 + ib$, $|b| \le a$, $ka \le \pi/2$, and
$R = |x_1| + |x_2| + a$. Then $|q|$ grows by $e^{b^2/3n}$; the terms of $W$ lie in a sector of opening $\pi/2$, so
$|W| \ge (1 + |w_1| + w_2)/\sqrt{2}$, $|\pi_1| \le \sqrt{2}$, $|F| \le R/2$, $|N/W| \le \sqrt{2} R$, $|F'| \le 2R^2$;
and $|p| \le 1 + (a/\sigma) e^{a^2/2\sigma^2}/\sqrt{2\pi}$. If $D$ is $\sqrt{2}$ plus that bound, the integrands are
at most $q$ times $DR/2$ and $(1/4 + 2D) R^2$. Given $x_1$, $x_2 \sim N(x_1/2, 3n/2)$, so $R$ has root mean square at
most $\rho(x_1) = \frac32|x_1| + \sqrt{3n/2} + a$, and the error in $x_2$ is at most
$2e^{a^2/3n}/(e^{2\pi a/\delta} - 1)$ times the sum of $\delta\varphi_{2n}(x_1) \rho^j$ over the lattice, where the
sum of a function with $c$ humps exceeds its integral by at most $c\delta$ times its maximum. The error in $x_1$ has
the mean of $R^j$ instead, at most $(2\sqrt{2n} + a)^j$. On the real line the integrands are at most $q r$ and $q r^2$,
$r = |x_1| + |x_2|$, with $r^2 \le 12nQ \le 45 n e^{Q/10}$; leaving out $Q > Q_0$ therefore costs at most
$e^{-0.8 Q_0} \frac{45 n + 1}{2\pi n\sqrt{3}} (\sqrt{60\pi n} + \delta)^2$.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from regrax import _checks as checks, theory
from regrax.paper.certify.balls import (
    Ball,
    cdf_bound,
    check_strip,
    normal_cdf,
    normal_density,
    precision,
    rule_error,
)
from regrax.paper.certify.two_actions import Enclosure, newton_step

NEWTON_SHARE = 1e-3


class Lattice(NamedTuple):
    """The nodes of one round, with all quantities that do not depend on the step."""

    played: int
    remaining: int
    spacing: Ball
    strip: Ball
    cut: float  # Q_0
    nodes: ndarray
    i: ndarray  # pairs of nodes i <= j
    j: ndarray
    weight: ndarray  # of (i, j) and (j, i)
    best: ndarray  # p


def three_action_step(horizon: int, *, digits: int = 14, widen: float = 1.0) -> Enclosure:
    r"""Enclose $k^*(3, T)$, the only root of $L'$ within 0.1 %, by an interval Newton step.

    Args:
        horizon: number of rounds $T$, an integer >= 2.
        digits: number of decimals in the sums.
        widen: stretches every strip; above 1 the proof must fail.

    >>> three_action_step(20).verdict("0.447904905444")  # doctest: +SKIP
    'proved'
    """
    from flint import arb

    checks.at_least("horizon", horizon, 2)
    guess = theory.step_size(3, horizon)
    with precision(digits):
        middle = arb(guess)
        inner = middle * arb(1, NEWTON_SHARE)
        lattices = [_lattice(n, horizon, digits, guess, widen) for n in range(1, horizon)]
        first, second = _derivatives(middle, lattices)
        middle = (middle - first / second).mid()  # not a proof yet
        first, _ = _derivatives(middle, lattices)
        _, second = _derivatives(inner, lattices)
        return Enclosure(newton_step(middle, first, second, inner))


def _derivatives(k: Ball, lattices: list[Lattice]) -> tuple[Ball, Ball]:
    """Enclose L'(k) and L''(k) for a ball of steps, including errors."""
    from flint import arb

    first = arb(0)
    second = arb(0)
    for lattice in lattices:
        check_strip(k, lattice.strip)
        i, j, weight = lattice.i, lattice.j, lattice.weight
        x = lattice.nodes
        w = np.exp(-k * x)
        xw = x * w
        xxw = x * xw
        pi = 1 / (1 + w[i] + w[j])
        N = (xw[i] + xw[j]) * pi
        F = N * pi
        away = weight * (pi - lattice.best)
        bend = weight * F * F + away * (2 * N * F - (xxw[i] + xxw[j]) * pi * pi)
        first += (away * F).sum() + _error(lattice, 1)
        second += bend.sum() + _error(lattice, 2)
    return 6 * first, 6 * second


def _error(lattice: Lattice, power: int) -> Ball:
    """Bound the error of the first or second derivative's sum by a ball around 0."""
    from flint import arb

    n = lattice.played
    a = lattice.strip
    h = lattice.spacing
    D = arb(2).sqrt() + cdf_bound(a / arb(lattice.remaining).sqrt())
    # a lattice sum exceeds its integral by at most the height of each hump
    peak = h / (4 * arb.pi() * n).sqrt()
    mass = 1 + peak  # of phi_2n
    square = 2 * n + 8 * n * peak / arb(1).exp()  # of x^2 phi_2n
    rho = 2 * (square * 9 / 4 + mass * (arb(3 * n / 2).sqrt() + a) ** 2)
    if power == 1:
        size = D / 2
        in_second = (mass * rho).sqrt()
    else:
        size = arb(1) / 4 + 2 * D
        in_second = rho
    in_first = (2 * arb(2 * n).sqrt() + a) ** power
    grow = (a * a / (3 * n)).exp() * rule_error(a, h)
    spread = (60 * arb.pi() * n).sqrt() + h
    omitted = (45 * n + 1) / (2 * arb.pi() * n * arb(3).sqrt()) * spread * spread
    omitted *= (arb(lattice.cut) * -4 / 5).exp()
    return arb(0, (size * grow * (in_first + in_second) + omitted).upper())


@lru_cache(maxsize=512)
def _lattice(n: int, horizon: int, digits: int, step: float, widen: float) -> Lattice:
    from flint import arb

    goal = digits * math.log(10) + 8
    strip = math.pi / 2 / (step * (1 + 2 * NEWTON_SHARE)) * widen
    left = horizon - n
    spacing = 2 * math.pi * strip / (goal + strip**2 / (3 * n) + strip**2 / (2 * left) + 2)
    cut = (goal + 6 + math.log(n)) / 0.8
    count = math.ceil(2 * math.sqrt(n * cut) / spacing)
    h: Ball = arb(spacing)
    nodes = h * np.arange(-count, count + 1)
    i, j = np.triu_indices(len(nodes))
    s, t = i - count, j - count
    form = s * s - s * t + t * t
    near = form * spacing**2 / (3 * n) <= cut * (1 + 1e-9)
    i, j, form = i[near], j[near], form[near]
    weight = h * h / (2 * arb.pi() * n * arb(3).sqrt()) * np.exp(-(h * h) * form / (3 * n))
    weight[i < j] *= 2
    best = _best(nodes, left, goal)
    return Lattice(n, left, h, arb(strip), cut, nodes, i, j, weight, best[i, j])


def _best(nodes: ndarray, left: int, goal: float) -> ndarray:
    r"""$E_g[\Phi(g + x_1/\sigma)\Phi(g + x_2/\sigma)]$ on all pairs of nodes, as one matrix product with its error.

    On the strip $|\mathrm{Im}\, g| \le a$ the integrand is at most $\varphi e^{a^2/2} D^2$,
    $D = 1 + a e^{a^2/2}/\sqrt{2\pi}$; the part beyond $R$ is at most $2\varphi(R)/R$.
    """
    from flint import arb, arb_mat

    strip = math.sqrt(2 * goal / 3)
    a = arb(strip)
    h: Ball = arb(2 * math.pi * strip / (2 * goal + 4))
    count = math.ceil(math.sqrt(2 * goal) / float(h))
    g = h * np.arange(-count, count + 1)
    phi = normal_cdf(nodes[:, None] / arb(left).sqrt() + g)
    product = arb_mat((phi * h * normal_density(g)).tolist()) * arb_mat(phi.T.tolist())
    R = h * count
    error = (a * a / 2).exp() * cdf_bound(a) ** 2 * rule_error(a, h) + 2 * normal_density(R) / R
    return np.array(product.tolist()) + arb(0, error.upper())
