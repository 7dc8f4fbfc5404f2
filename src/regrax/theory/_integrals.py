r"""The two expectations behind the exact loss of smoothed fictitious play, for any number of actions.

Scale time so that the horizon is 1. After a fraction $\tau$ of the rounds a coordinate of the cumulative loss is
$x \sim N(0, \tau)$ and its final value is $y = x + N(0, \sigma^2)$, $\sigma^2 = 1 - \tau$; with the scaled step
$K = k\sqrt{T}$ the policy is $\pi \propto w = e^{-Kx}$. A round then adds $A - 2B$ to the loss, where

$$A = E\|\pi\|^2, \qquad B = E[\pi_{J^*}], \qquad J^* = \arg\min_j y_j.$$

Coordinates are independent and $1/W^n = \int_0^\infty \lambda^{n-1} e^{-\lambda W} d\lambda / (n-1)!$, so with
$q = \lambda w$, $u = \log\lambda$ and any $d$

$$A = d \int E[q^2 e^{-q}]\, E[e^{-q}]^{d-1} du, \qquad
B = d \iint E[q e^{-q} N(y; x, \sigma^2)]\, \bigl(1 - a(u, y)\bigr)^{d-1} du\, dy,$$

$$1 - a = E[e^{-q} Q((y - x)/\sigma)], \qquad a = P(Y < y) + E[(1 - e^{-q})\, Q((y - x)/\sigma)],$$

the last form having no cancellation when $d$ is large. Late rounds have $\sigma \ll 1$, where $x$ sticks to $y$: so
$B$ is taken in the variables $(v, y)$, $v = u - K\tau y$. Completing the square, the density becomes
$N(y; 0, 1)\, \psi(v)$, $\psi(v) = E_z[q e^{-q}]$ at $q = e^{v - K\rho z}$, $\rho^2 = \tau\sigma^2$, and the tail is one
matrix product over $b = K(x - \tau y)$, since $q = e^{v - b}$. Nothing there narrows as $\sigma \to 0$. All integrands
are analytic and decay at least exponentially, so the trapezoid rule converges spectrally once substitutions make
both ends decay fast.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

DIGITS = 32.0
"""Integrands are followed until they fall to exp(-DIGITS) of their size."""

REACH = 8.0
"""Where a standard normal density is taken to end: exp(-REACH^2 / 2) = exp(-DIGITS)."""


class Term(NamedTuple):
    r"""An expectation and its derivative in the scaled step $K$."""

    value: float
    slope: float


def collision(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""$A(K, \tau) = E\|\pi\|^2$: the chance that two draws from the same policy agree.

    >>> collision(2.0, 0.5, 3).value
    0.5594
    """
    if tau == 0:
        return Term(1 / d, 0.0)
    spread = K * np.sqrt(tau)
    z, weight = _normal_nodes(
        1.2 * spread, _lowest(d), fineness
    )  # finer: q^3 grows off the real line
    low = -1 - max(np.log(d) + min(spread**2 / 2, np.log(d)), spread * _lowest(d))
    u, du = _log_nodes(low, 4 + spread * _highest(d), spread, d, fineness)
    x = np.sqrt(tau) * z
    q = _exp(u[:, None] - K * x)
    qs, lost = _decay(q, d)
    pair, pair_slope = product(q * qs, weight), product((q - 2) * q * qs, x * weight)
    leave, leave_slope = product(lost, weight), -product(qs, x * weight)
    others, fewer = _powers(leave, d)
    value = (pair * others) @ du
    slope = (pair_slope * others - (d - 1) * pair * fewer * leave_slope) @ du
    return Term(d * float(value), d * float(slope))


def foresight(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""$B(K, \tau) = E[\pi_{J^*}]$: the chance that the policy draws the action that will end best.

    >>> foresight(2.0, 0.5, 3).value
    0.5462
    """
    if tau == 0:
        return Term(1 / d, 0.0)
    spread = K * np.sqrt(tau * (1 - tau))
    v, dv = _log_nodes(_left(K, tau, d), 4 + REACH * spread, spread, d, fineness)
    y, dy = minimum_nodes(d, fineness)
    psi, psi_slope = _density(v, spread, K, fineness)
    leave, leave_slope = _leave(v, y, K, tau, d, fineness)
    others, fewer = _powers(leave, d)
    weight = np.exp(-y * y / 2) / np.sqrt(2 * np.pi) * dy
    outer, outer_slope = product(others, weight), -(d - 1) * product(fewer * leave_slope, weight)
    value = (psi * outer) @ dv
    slope = (psi_slope * outer + psi * outer_slope) @ dv
    return Term(d * float(value), d * float(slope))


def _density(
    v: Float[ndarray, "v"], spread: float, K: float, fineness: float
) -> tuple[Float[ndarray, "v"], Float[ndarray, "v"]]:
    r"""$\psi(v) = E_z[q e^{-q}]$, $q = e^{v - sz}$, and its derivative in $K$ ($s = K\rho$ is proportional to it)."""
    z, weight = _normal_nodes(spread, REACH, fineness)
    q = _exp(v[:, None] - spread * z)
    qs = q * np.exp(-q)
    return product(qs, weight), product((q - 1) * qs, spread / K * z * weight)


def _leave(
    v: Float[ndarray, "v"], y: Float[ndarray, "y"], K: float, tau: float, d: int, fineness: float
) -> tuple[Float[ndarray, "v y"], Float[ndarray, "v y"]]:
    r"""$a(v, y) = P(Y < y) + \int (1 - e^{-q})\, N(x; 0, \tau)\, Q((y - x)/\sigma)\, dx$ and its derivative in $K$.

    With $x = \tau y + b/K$ the first factor depends on $(v, b)$ only and the others on $(b, y)$ only.
    """
    from scipy.special import ndtr

    sigma = np.sqrt(1 - tau)
    b, db = _shift_nodes(v, y, K, tau, d, fineness)
    x = tau * y + b[:, None] / K
    tail = ndtr(b[:, None] / (K * sigma) - sigma * y)
    kernel = np.exp(-x * x / (2 * tau)) / np.sqrt(2 * np.pi * tau) * tail * (db / K)[:, None]
    qs, lost = _decay(_exp(v[:, None] - b), d)
    return ndtr(y) + product(lost, kernel), product(qs, -(b / K)[:, None] * kernel)


def _powers(leave: Float[ndarray, "..."], d: int) -> tuple[Float[ndarray, "..."], ...]:
    r"""$(1 - a)^{d-1}$ and $(1 - a)^{d-2}$, exact for small $a$ and large $d$."""
    with np.errstate(divide="ignore"):
        stay = np.log1p(-np.minimum(leave, 1))
    fewer = np.exp((d - 2) * stay) if d > 2 else np.ones_like(stay)
    return np.exp((d - 1) * stay), fewer


def product(a: Float[ndarray, "n m"], b: Float[ndarray, "m *k"]) -> Float[ndarray, "n *k"]:
    """`a @ b` on one thread: with sizes like these, waking the threads of BLAS costs far more than it saves."""
    if b.ndim == 1:
        return np.einsum("nm,m->n", a, b)
    rows = max(1, 250_000 // b.size)
    return np.concatenate([a[i : i + rows] @ b for i in range(0, len(a), rows)])


def _exp(power: Float[ndarray, "n m"]) -> Float[ndarray, "n m"]:
    r"""$q = e^p$, held where $e^{-q}$ has long been 0, so that no infinity meets it."""
    return np.exp(np.minimum(power, 7.0))


def _decay(q: Float[ndarray, "n m"], d: int) -> tuple[Float[ndarray, "n m"], ...]:
    r"""$q e^{-q}$ and $1 - e^{-q}$, the latter to all digits when a large power will magnify it."""
    stay = np.exp(-q)
    return q * stay, 1 - stay if d <= 100 else -np.expm1(-q)


def _normal_nodes(
    spread: float, reach: float, fineness: float
) -> tuple[Float[ndarray, "z"], Float[ndarray, "z"]]:
    r"""Trapezoid nodes and weights for $E_z f(sz)$ when $f$ is bounded in the strip $|\mathrm{Im}| < \pi/2$."""
    step = min(0.75, np.pi**2 / (DIGITS * spread)) / fineness
    z = step * np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1)
    weight = np.exp(-z * z / 2)
    return z, weight / weight.sum()


def _log_nodes(
    low: float, high: float, spread: float, d: int, fineness: float
) -> tuple[Float[ndarray, "v"], Float[ndarray, "v"]]:
    r"""Nodes on the line for an integrand that lives on (low, high) and falls like $e^v$ below it.

    $v = low + c(\xi - e^{-\xi})$ makes the left end fall doubly exponentially; $c$ follows the width of the integrand.
    """
    c = np.sqrt(1 + spread**2 / 4 * min(1.0, 1.2 / np.log(d)))
    step = 0.25 / fineness
    xi = np.arange(-np.log(1 + (DIGITS + 4) / c), max(high - low, 0) / c + 2 * step, step)
    return low + c * (xi - np.exp(-xi)), c * step * (1 + np.exp(-xi))


def minimum_nodes(d: int, fineness: float) -> tuple[Float[ndarray, "y"], float]:
    r"""Trapezoid nodes for the smallest of $d$ standard normals, whose law narrows like $1/\sqrt{2 \log d}$."""
    from scipy.special import ndtri

    step = 0.35 / fineness / max(1.0, np.log(d) / 2)
    high = min(REACH, -float(ndtri(np.exp(-(DIGITS + 4) / (d - 1)))))
    return np.arange(-_lowest(d), high + step, step), step


def _shift_nodes(
    v: Float[ndarray, "v"], y: Float[ndarray, "y"], K: float, tau: float, d: int, fineness: float
) -> tuple[Float[ndarray, "b"], Float[ndarray, "b"]]:
    r"""Nodes in $b = K(x - \tau y)$: fine, $b \approx$ (the width $K\rho$ of the step), near 0 and growing outward."""
    spread = K * np.sqrt(tau * (1 - tau))
    low = K * (1 - tau) * y[0] - REACH * spread
    high = min(K * (REACH * np.sqrt(tau) - tau * y[0]), v[-1] + DIGITS + np.log(d))
    scale = 8 * spread
    step = min(0.7 / 8, 0.3 / np.hypot(scale, 4 + REACH * spread)) / fineness
    xi = np.arange(np.arcsinh(low / scale), np.arcsinh(high / scale) + step, step)
    return scale * np.sinh(xi), scale * np.cosh(xi) * step


def _left(K: float, tau: float, d: int) -> float:
    """Where the integrand of `foresight` starts to fall on the left: below the best of d, less a lognormal shift."""
    from scipy.special import ndtri

    spread = K * np.sqrt(tau * (1 - tau))
    best = min(0.0, -np.log(d) - K * tau * float(ndtri(1 / d)))
    return best - 1 - spread * min(spread, _lowest(d))


def _lowest(d: int) -> float:
    """How far below 0 the smallest of d standard normals can lie."""
    return float(np.sqrt(2 * (DIGITS + np.log(d))))


def _highest(d: int) -> float:
    """How high the best of d softmax weights can lie, in standard deviations of its exponent."""
    from scipy.special import ndtri

    return float(ndtri(60 / (d - 1))) if d > 100 else REACH
