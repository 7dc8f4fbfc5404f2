r"""The two expectations behind the exact loss of smoothed fictitious play, for any number of actions, and sums over
rounds at a cost that does not grow with the horizon.

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

**Rounds.** The expected squared regret is $\sum_{n=0}^{T-1} f(n/T)$, $n$ being the number of rounds past, with $f$
smooth in the angle $\theta$, $n/T = \sin^2\theta$ (in $n/T$ itself the best possible loss has a square-root singularity
at 1). So the sum is an integral of $f(\theta)$ against the measure with an atom at every $\theta_n$. The Gauss rule of
that measure is exact for polynomials in $\theta$ of degree below twice its size, and gives the sum over a million
rounds, or the integral $T \to \infty$, from a few dozen values of $f$.
"""

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

DIGITS = 32.0
"""Integrands are followed until they fall to exp(-DIGITS) of their size."""

REACH = 8.0
"""Where a standard normal density is taken to end: exp(-REACH^2 / 2) = exp(-DIGITS)."""

MAX_PRODUCTS = 250_000
"""Products of numbers in one call of BLAS: it wakes its threads for 2^18 and more."""

_BLOCK = 16
"""Nodes that stand for a block of consecutive rounds; blocks double in length away from either end."""


Nodes = tuple[Float[ndarray, "n"], Float[ndarray, "n"]]
"""Points of a quadrature rule, and their weights."""


class Term(NamedTuple):
    r"""An expectation and its derivative in the scaled step $K$."""

    value: float
    slope: float


def round_loss(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""$A - 2B$: what a round adds to the loss."""
    a, b = collision(K, tau, d, fineness), foresight(K, tau, d, fineness)
    return Term(a.value - 2 * b.value, a.slope - 2 * b.slope)


def collision(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""$A(K, \tau) = E\|\pi\|^2$: the chance that two draws from the same policy agree.

    >>> collision(2.0, 0.5, 3).value
    0.5594
    """
    if tau == 0:
        return Term(1 / d, 0.0)
    spread = K * np.sqrt(tau)
    # finer: q^3 grows off the real line
    z, weight = normal_nodes(1.2 * spread, lowest(d), fineness)
    u, du = policy_nodes(spread, d, 4, fineness)
    x = np.sqrt(tau) * z
    q = exp(u[:, None] - K * x)
    qs, lost = _decay(q, d)
    leave, leave_slope = product(lost, weight), -product(qs, x * weight)
    qs *= q
    pair, pair_slope = product(qs, weight), product((q - 2) * qs, x * weight)
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
    v, dv, y, weight = leader_nodes(K, tau, d, 4, fineness)
    psi, psi_slope = _density(v, spread, K, fineness)
    leave, leave_slope = _leave(v, y, K, tau, d, fineness)
    others, fewer = _powers(leave, d)
    outer, outer_slope = product(others, weight), -(d - 1) * product(fewer * leave_slope, weight)
    value = (psi * outer) @ dv
    slope = (psi_slope * outer + psi * outer_slope) @ dv
    return Term(d * float(value), d * float(slope))


def _density(
    v: Float[ndarray, "v"], spread: float, K: float, fineness: float
) -> tuple[Float[ndarray, "v"], Float[ndarray, "v"]]:
    r"""$\psi(v) = E_z[q e^{-q}]$, $q = e^{v - sz}$, and its derivative in $K$ ($s = K\rho$ is proportional to it)."""
    z, weight = normal_nodes(spread, REACH, fineness)
    q = exp(v[:, None] - spread * z)
    qs = q * np.exp(-q)
    return product(qs, weight), product((q - 1) * qs, spread / K * z * weight)


def _leave(
    v: Float[ndarray, "v"], y: Float[ndarray, "y"], K: float, tau: float, d: int, fineness: float
) -> tuple[Float[ndarray, "v y"], Float[ndarray, "v y"]]:
    r"""$a(v, y) = P(Y < y) + \int (1 - e^{-q})\, N(x; 0, \tau)\, Q((y - x)/\sigma)\, dx$ and its derivative in $K$.

    With $x = \tau y + b/K$ the first factor depends on $(v, b)$ only and the others on $(b, y)$ only.
    """
    from scipy.special import ndtr

    b, db, tail = shift_nodes(v, y, K, tau, d, fineness)
    x = tau * y + b[:, None] / K
    kernel = np.exp(-x * x / (2 * tau)) / np.sqrt(2 * np.pi * tau) * tail * (db / K)[:, None]
    qs, lost = _decay(exp(v[:, None] - b), d)
    return ndtr(y) + product(lost, kernel), product(qs, -(b / K)[:, None] * kernel)


def _powers(leave: Float[ndarray, "..."], d: int) -> tuple[Float[ndarray, "..."], ...]:
    r"""$(1 - a)^{d-1}$ and $(1 - a)^{d-2}$, exact for small $a$ and large $d$."""
    stay = log_stay(leave)
    fewer = np.exp((d - 2) * stay) if d > 2 else np.ones_like(stay)
    return np.exp((d - 1) * stay), fewer


def log_stay(leave: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    r"""$\log(1 - a)$, exact for small $a$; rounding may take $a$ above 1."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.minimum(leave, 1))


def product(a: Float[ndarray, "n m"], b: Float[ndarray, "m *k"]) -> Float[ndarray, "n *k"]:
    """`a @ b` on one thread: with sizes like these, waking the threads of BLAS costs far more than it saves."""
    if b.ndim == 1:
        return np.einsum("nm,m->n", a, b)
    size = max(1, MAX_PRODUCTS // (len(a) * b.shape[1]))
    return np.sum([a[:, i : i + size] @ b[i : i + size] for i in range(0, len(b), size)], 0)


def exp(power: Float[ndarray, "n m"]) -> Float[ndarray, "n m"]:
    r"""$q = e^p$ in place of $p$, held where $e^{-q}$ has long been 0, so that no infinity meets it."""
    return np.exp(np.minimum(power, 7.0, out=power), out=power)


def _decay(q: Float[ndarray, "n m"], d: int) -> tuple[Float[ndarray, "n m"], ...]:
    r"""$q e^{-q}$ and $1 - e^{-q}$, the latter to all digits when a large power will magnify it."""
    stay = np.exp(-q)
    qs = q * stay
    return qs, np.subtract(1, stay, out=stay) if d <= 100 else -np.expm1(-q)


def normal_nodes(spread: float, reach: float, fineness: float) -> Nodes:
    r"""Trapezoid nodes and weights for $E_z f(sz)$ when $f$ is bounded in the strip $|\mathrm{Im}| < \pi/2$."""
    step = min(0.75, np.pi**2 / (DIGITS * spread)) / fineness
    end = np.ceil(reach * min(1, fineness) ** 0.5 / step)  # as many digits as a coarse grid gives
    z = step * np.arange(-end, end + 1)
    weight = np.exp(-z * z / 2)
    return z, weight / weight.sum()


def policy_nodes(spread: float, d: int, margin: float, fineness: float) -> Nodes:
    """Nodes in u for the policy alone, up to a margin above the best of d softmax weights."""
    from scipy.special import ndtri

    low = -1 - max(np.log(d) + min(spread**2 / 2, np.log(d)), spread * lowest(d))
    highest = float(ndtri(60 / (d - 1))) if d > 100 else REACH
    return _log_nodes(low, margin + spread * highest, spread, d, fineness)


def leader_nodes(
    K: float, tau: float, d: int, margin: float, fineness: float
) -> tuple[Float[ndarray, "v"], Float[ndarray, "v"], Float[ndarray, "y"], Float[ndarray, "y"]]:
    """Nodes and weights in v and in y for J*: from below the best of d, less a lognormal shift, up to a margin."""
    from scipy.special import ndtri

    spread = K * np.sqrt(tau * (1 - tau))
    best = min(0.0, -np.log(d) - K * tau * float(ndtri(1 / d)))
    low = best - 1 - spread * min(spread, lowest(d))
    y, dy = minimum_nodes(d, fineness)
    weight = np.exp(-y * y / 2) / np.sqrt(2 * np.pi) * dy
    return *_log_nodes(low, margin + REACH * spread, spread, d, fineness), y, weight


def _log_nodes(low: float, high: float, spread: float, d: int, fineness: float) -> Nodes:
    r"""Nodes on the line for an integrand that lives on (low, high) and falls like $e^v$ below it.

    $v = low + c(\xi - e^{-\xi})$ makes the left end fall doubly exponentially; $c$ follows the width of the integrand.
    """
    c = np.sqrt(1 + spread**2 / 4 * min(1.0, 1.2 / np.log(d)))
    # a coarse grid may be coarser where the integrand is wide, and so smooth
    step = 0.25 / min(fineness, max(fineness**2, 4 * fineness / spread))
    xi = np.arange(-np.log(1 + (DIGITS + 4) / c), max(high - low, 0) / c + 2 * step, step)
    return low + c * (xi - np.exp(-xi)), c * step * (1 + np.exp(-xi))


def minimum_nodes(d: int, fineness: float) -> tuple[Float[ndarray, "y"], float]:
    r"""Trapezoid nodes for the smallest of $d$ standard normals, whose law narrows like $1/\sqrt{2 \log d}$."""
    from scipy.special import ndtri

    step = 0.35 / fineness / max(1.0, np.log(d) / 2)
    high = min(REACH, -float(ndtri(np.exp(-(DIGITS + 4) / (d - 1)))))
    return np.arange(-lowest(d), high + step, step), step


def shift_nodes(
    v: Float[ndarray, "v"], y: Float[ndarray, "y"], K: float, tau: float, d: int, fineness: float
) -> tuple[Float[ndarray, "b"], Float[ndarray, "b"], Float[ndarray, "b y"]]:
    r"""Nodes in $b = K(x - \tau y)$, their weights, and $Q((y - x)/\sigma)$ there.

    They are fine, $b \approx$ (the width $K\rho$ of the step), near 0 and growing outward.
    """
    from scipy.special import ndtr

    sigma = np.sqrt(1 - tau)
    spread = K * np.sqrt(tau * (1 - tau))
    low = K * (1 - tau) * y[0] - REACH * spread
    high = min(K * (REACH * np.sqrt(tau) - tau * y[0]), v[-1] + DIGITS + np.log(d))
    scale = 8 * spread
    # the integrand is smoother here than in other directions: a coarse grid may be coarser
    step = min(0.7 / 8, 0.3 / np.hypot(scale, 4 + REACH * spread)) / min(fineness, fineness**2)
    xi = np.arange(np.arcsinh(low / scale), np.arcsinh(high / scale) + step, step)
    b = scale * np.sinh(xi)
    tail = ndtr(b[:, None] / (K * sigma) - sigma * y)
    return b, scale * np.cosh(xi) * step, tail


def lowest(d: int) -> float:
    """How far below 0 the smallest of d standard normals can lie."""
    return float(np.sqrt(2 * (DIGITS + np.log(d))))


@lru_cache(maxsize=64)
def round_nodes(horizon: int | float, nodes: int) -> Nodes:
    r"""Angles and weights of total 1 with $\frac1T \sum_{n<T} f(\theta_n) \approx \sum_i w_i f(\theta_i)$.

    At most `nodes` of them; how many are enough is for the caller to say (`node_count` in `regrax.theory._loss`). A
    horizon of `math.inf` gives the rule of the integral. The arrays are cached, and so read-only.

    >>> import numpy as np
    >>> theta, weight = round_nodes(1000, 12)
    >>> float(weight @ np.cos(theta)), float(np.sqrt(1 - np.arange(1000) / 1000).mean())
    (0.66716, 0.66716)

    Reference: Gautschi (2004), Orthogonal Polynomials: Computation and Approximation, section 2.2.
    """
    theta, weight = _measure(horizon)
    if theta.size > nodes:
        theta, weight = _gauss(theta, weight, nodes)
    theta.flags.writeable = weight.flags.writeable = False
    return theta, weight


def _measure(horizon: int | float) -> Nodes:
    """The measure itself up to a few hundred atoms; beyond that one with fewer atoms and the same moments."""
    if np.isinf(horizon):
        x, weight = np.polynomial.legendre.leggauss(200)
        theta = np.pi / 4 * (1 + x)
        return theta, np.pi / 4 * weight * np.sin(2 * theta)
    half = int(horizon) // 2
    past, past_weight = _integers(0, half)
    left, left_weight = _integers(1, int(horizon) - half + 1)
    theta = np.concatenate([np.arcsin(np.sqrt(past / horizon)), np.arccos(np.sqrt(left / horizon))])
    return theta, np.concatenate([past_weight, left_weight]) / horizon


def _integers(start: int, stop: int) -> Nodes:
    """Nodes and weights that sum over the integers from `start` to below `stop`, in blocks of doubling length."""
    edges = [start]
    while edges[-1] < stop:
        edges.append(min(stop, edges[-1] + max(_BLOCK, edges[-1])))
    blocks = [_block(a, b - a) for a, b in pairwise(edges)]
    return tuple(np.concatenate(part) for part in zip(*blocks, strict=True))  # pyright: ignore


def _block(start: int, length: int) -> Nodes:
    """The Gauss rule of `length` consecutive integers, from the recurrence of the Gram polynomials."""
    if length <= _BLOCK:
        return np.arange(start, start + length, dtype=float), np.ones(length)
    j = np.arange(1.0, _BLOCK)
    off = np.sqrt(j**2 * (float(length) ** 2 - j**2) / (4 * (4 * j**2 - 1)))
    x, weight = _golub_welsch(np.full(_BLOCK, (length - 1) / 2), off)
    return start + x, length * weight


def _gauss(points: Float[ndarray, "m"], weight: Float[ndarray, "m"], nodes: int) -> Nodes:
    """The Gauss rule of a discrete measure, by Lanczos with full reorthogonalisation."""
    basis, diagonal, off = [np.sqrt(weight / weight.sum())], [], []
    for _ in range(nodes):
        vector = points * basis[-1]
        diagonal.append(basis[-1] @ vector)
        known = np.array(basis)
        for _ in range(2):
            vector = vector - (known @ vector) @ known
        off.append(np.linalg.norm(vector))
        basis.append(vector / off[-1])
    x, first = _golub_welsch(np.array(diagonal), np.array(off[:-1]))
    return x, weight.sum() * first


def _golub_welsch(diagonal: Float[ndarray, "n"], off: Float[ndarray, "m"]) -> Nodes:
    """Nodes and unit-mass weights of a Gauss rule from its Jacobi matrix."""
    x, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return x, vectors[0] ** 2
