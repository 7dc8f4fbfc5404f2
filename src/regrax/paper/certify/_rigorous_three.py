r"""The stationary step for three actions, enclosed: the trapezoid rule on a lattice of differences, in ball arithmetic.

With $x_i = S_{i+1} - S_1$, $w_i = e^{-k x_i}$, $W = 1 + w_1 + w_2$, $N = x_1 w_1 + x_2 w_2$, $\pi_1 = 1/W$, $F = N/W^2$
and, $\sigma^2 = T - n$, $p = P(J^* = 1 | S) = E_g[\Phi(g + x_1/\sigma)\Phi(g + x_2/\sigma)]$, relabelling gives

$$L'(k) = 6\sum_n E[(\pi_1 - p) F], \qquad L''(k) = 6\sum_n E[F^2 + (\pi_1 - p) F'], \quad
F' = 2N^2/W^3 - (x_1^2 w_1 + x_2^2 w_2)/W^2.$$

$(x_1, x_2)$ has the density $q = e^{-Q}/(2\pi n\sqrt{3})$, $Q = (x_1^2 - x_1 x_2 + x_2^2)/(3n)$. Both integrals
become sums over $\delta Z^2$, $p$ on all of it one product of matrices. **Bounds.** Write the error of the double sum
as that of one variable at a time, the other real; let $x_1 + ib$, $|b| \le a$, $ka \le \pi/2$, and $R = |x_1| + |x_2|
+ a$. Then $|q|$ grows by $e^{b^2/3n}$; the terms of $W$ lie in a sector of opening $\pi/2$, so $|W| \ge (1 + |w_1| +
w_2)/\sqrt{2}$, $|\pi_1| \le \sqrt{2}$, $|F| \le R/2$, $|N/W| \le \sqrt{2} R$, $|F'| \le 2R^2$; and $|p| \le 1 +
(a/\sigma) e^{a^2/2\sigma^2}/\sqrt{2\pi}$. With $D = \sqrt{2} + $ that, the integrands are at most $q$ times $DR/2$
and $(1/4 + 2D) R^2$. Given $x_1$, $x_2 \sim N(x_1/2, 3n/2)$, so $R$ has root mean square at most $\rho(x_1) =
\frac32|x_1| + \sqrt{3n/2} + a$, and the error in $x_2$ is at most $2e^{a^2/3n}/(e^{2\pi a/\delta} - 1)$ times the sum
of $\delta\varphi_{2n}(x_1) \rho^j$ over the lattice, where a sum of a function with $c$ humps exceeds its integral by
at most $c\delta$ times its maximum; that in $x_1$ has the mean of $R^j$, at most $(2\sqrt{2n} + a)^j$. On the real
line the integrands are at most $q r$ and $q r^2$, $r = |x_1| + |x_2|$, with $r^2 \le 12nQ \le 45 n e^{Q/10}$; leaving
out $Q > Q_0$ therefore costs at most $e^{-0.8 Q_0} \frac{45 n + 1}{2\pi n\sqrt{3}} (\sqrt{60\pi n} + \delta)^2$.
"""

import math
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from regrax import _checks as checks, theory
from regrax.paper.certify._rigorous import Enclosure, newton_step
from regrax.paper.certify._trapezoid import cdf_bound, check_strip, precision, rule_error

NEWTON_SHARE = 1e-3


class Lattice(NamedTuple):
    """The nodes of one round with what does not depend on the step, and what the bounds need."""

    played: int
    remaining: int
    spacing: Any
    strip: Any
    cut: float  # Q_0
    nodes: list[Any]
    points: list[tuple[int, int, Any, Any]]  # i <= j, their weight with that of (j, i), and p


def three_action_step(horizon: int, *, digits: int = 14, widen: float = 1.0) -> Enclosure:
    r"""$k^*(3, T)$, the only root of $L'$ within 0.1 %, by an interval Newton step.

    Args:
        horizon: $T$.
        digits: decimals that the sums are computed to.
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
        middle = (middle - first / second).mid()  # nothing is proved yet
        first, second = _derivatives(middle, lattices)[0], _derivatives(inner, lattices)[1]
        return Enclosure(newton_step(middle, first, second, inner))


def _derivatives(k: Any, lattices: list[Lattice]) -> list[Any]:
    """L'(k) and L''(k) for a ball of steps."""
    rounds = (_of_round(k, lattice) for lattice in lattices)
    return [sum(part) for part in zip(*rounds, strict=True)]


def _of_round(k: Any, lattice: Lattice) -> tuple[Any, Any]:
    """What one round adds to L' and L'', with their errors."""
    from flint import arb

    check_strip(k, lattice.strip)
    w = [(-k * x).exp() for x in lattice.nodes]
    xw = [x * y for x, y in zip(lattice.nodes, w, strict=True)]
    xxw = [x * y for x, y in zip(lattice.nodes, xw, strict=True)]
    first, second = arb(0), arb(0)
    for i, j, weight, best in lattice.points:
        pi = 1 / (1 + w[i] + w[j])
        N = (xw[i] + xw[j]) * pi
        F, away = N * pi, weight * (pi - best)
        first += away * F
        second += weight * F * F + away * (2 * N * F - (xxw[i] + xxw[j]) * pi * pi)
    return 6 * (first + _error(lattice, 1)), 6 * (second + _error(lattice, 2))


def _error(lattice: Lattice, power: int) -> Any:
    """A ball around 0 for the error of the sum of the first or second derivative."""
    from flint import arb

    n, a, h = lattice.played, lattice.strip, lattice.spacing
    D = arb(2).sqrt() + cdf_bound(a / arb(lattice.remaining).sqrt())
    size = D / 2 if power == 1 else arb(1) / 4 + 2 * D
    # a lattice sum exceeds its integral by the height of each hump at most
    peak = h / (4 * arb.pi() * n).sqrt()
    mass, square = 1 + peak, 2 * n + 8 * n * peak / arb(1).exp()  # of phi_2n, of x^2 phi_2n
    rho = 2 * (square * 9 / 4 + mass * (arb(3 * n / 2).sqrt() + a) ** 2)
    in_second = (mass * rho).sqrt() if power == 1 else rho
    in_first = (2 * arb(2 * n).sqrt() + a) ** power
    grow = (a * a / (3 * n)).exp() * rule_error(a, h)
    spread = (60 * arb.pi() * n).sqrt() + h
    left_out = (45 * n + 1) / (2 * arb.pi() * n * arb(3).sqrt()) * spread * spread
    left_out *= (arb(lattice.cut) * -4 / 5).exp()
    return arb(0, (size * grow * (in_first + in_second) + left_out).upper())


@lru_cache(maxsize=512)
def _lattice(n: int, horizon: int, digits: int, step: float, widen: float) -> Lattice:
    from flint import arb

    goal = digits * math.log(10) + 8
    strip = math.pi / 2 / (step * (1 + 2 * NEWTON_SHARE)) * widen
    left = horizon - n
    spacing = 2 * math.pi * strip / (goal + strip**2 / (3 * n) + strip**2 / (2 * left) + 2)
    cut = (goal + 6 + math.log(n)) / 0.8
    count = math.ceil(2 * math.sqrt(n * cut) / spacing)
    h = arb(spacing)
    nodes = [h * i for i in range(-count, count + 1)]
    best = _best(nodes, left, digits)
    norm = h * h / (2 * arb.pi() * n * arb(3).sqrt())
    points = []
    for i, j in combinations_with_replacement(range(len(nodes)), 2):
        s, t = i - count, j - count
        form = s * s - s * t + t * t
        if form * spacing**2 / (3 * n) <= cut * (1 + 1e-9):
            weight = norm * (-(h * h) * form / (3 * n)).exp()
            points.append((i, j, weight if i == j else 2 * weight, best[i, j]))
    return Lattice(n, left, h, arb(strip), cut, nodes, points)


def _best(nodes: list[Any], left: int, digits: int) -> Any:
    r"""$E_g[\Phi(g + x_1/\sigma)\Phi(g + x_2/\sigma)]$ on all pairs of nodes: one product of matrices, and its error.

    On the strip $|\mathrm{Im}\, g| \le a$ the integrand is at most $\varphi e^{a^2/2} D^2$,
    $D = 1 + a e^{a^2/2}/\sqrt{2\pi}$; beyond $R$ it has at most $2\varphi(R)/R$.
    """
    from flint import arb, arb_mat

    goal = digits * math.log(10) + 8
    strip = math.sqrt(2 * goal / 3)
    h, a = arb(2 * math.pi * strip / (2 * goal + 4)), arb(strip)
    count = math.ceil(math.sqrt(2 * goal) / float(h))
    root, normal = (2 * arb(left)).sqrt(), (2 * arb.pi()).sqrt()
    g = [h * i for i in range(-count, count + 1)]
    phi = [[(1 + (y / arb(2).sqrt() + x / root).erf()) / 2 for y in g] for x in nodes]
    weights = [h * (-y * y / 2).exp() / normal for y in g]
    weighted = [[p * weight for p, weight in zip(row, weights, strict=True)] for row in phi]
    D, R = cdf_bound(a), h * count
    error = (a * a / 2).exp() * D * D * rule_error(a, h) + 2 * (-R * R / 2).exp() / normal / R
    ball = arb(0, error.upper())
    return arb_mat(weighted) * arb_mat(phi).transpose() + arb_mat(
        [[ball] * len(nodes)] * len(nodes)
    )
