r"""Facts about the smallest of $d$ standard normals: its moments, and how stable its place is under noise.

$\mathrm{Stab}(\rho)$ is the probability that two standard normal $d$-vectors, independent across coordinates and
with correlation $\rho$ in each, have their minimum at the same place:

$$\mathrm{Stab}(\rho) = d \iint \varphi_2(x, y; \rho)\, P(X > x, Y > y)^{d-1} dx\, dy.$$

In $s = (x + y)/\sqrt{2(1+\rho)}$ and $r = (x - y)/\sqrt{2(1-\rho)}$ the density is that of two independent normals and
nothing narrows as $\rho \to 1$; the quadrant probability comes from Owen's $T$ function.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax import _checks as checks
from regrax.theory._integrals import REACH, minimum_nodes, product


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
    s, ds = _sum_nodes(actions, rho, fineness)
    r, dr = _difference_nodes(actions, rho, fineness)
    leave = _leave(s[:, None], r, rho)
    with np.errstate(divide="ignore"):
        others = np.exp((actions - 1) * np.log1p(-np.minimum(leave, 1)))
    normal = np.exp(-s * s / 2) @ product(others, np.exp(-r * r / 2))
    return float(actions * 2 * normal * ds * dr / (2 * np.pi))  # twice: r > 0 stands for r < 0


def _leave(s: Float[ndarray, "n 1"], r: Float[ndarray, "m"], rho: float) -> Float[ndarray, "n m"]:
    r"""$1 - P(X > x, Y > y) = \frac12 (\Phi(x) + \Phi(y)) + T(x, a_x) + T(y, a_y) + \frac12 [xy < 0]$."""
    from scipy.special import ndtr, owens_t

    plus, minus = np.sqrt(1 + rho), np.sqrt(1 - rho)
    x, y = (plus * s + minus * r) / np.sqrt(2), (plus * s - minus * r) / np.sqrt(2)
    t = owens_t(x, (minus * s - plus * r) / (plus * s + minus * r))
    t = t + owens_t(y, (minus * s + plus * r) / (plus * s - minus * r))
    return (ndtr(x) + ndtr(y)) / 2 + t + np.where(x * y < 0, 0.5, 0.0)


def _sum_nodes(d: int, rho: float, fineness: float) -> tuple[Float[ndarray, "n"], float]:
    y, step = minimum_nodes(d, fineness)
    low = y[0] * np.sqrt(2 / (1 + rho))
    return np.arange(
        low, REACH + step, step
    ) + step / 7, step  # off 0, where x = y = 0 has no ratio


def _difference_nodes(d: int, rho: float, fineness: float) -> tuple[Float[ndarray, "m"], float]:
    step = minimum_nodes(d, fineness)[1]
    return (np.arange(np.ceil(2 * REACH / step)) + 0.5) * step, step
