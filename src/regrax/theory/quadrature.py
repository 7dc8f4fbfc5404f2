r"""Quadrature rules for softmax expectations and for sums over rounds.

**Integrals.** Every integrand here is analytic and decays at least exponentially, so the trapezoid rule converges
spectrally once substitutions make both ends of the line decay fast. A rule is a pair of nodes and weights, and
`fineness` multiplies its number of nodes: 1 gives full accuracy, 0.5 about three digits.

**Rounds.** Write $n = t - 1$ for the rounds before round $t$. An expected squared regret is $\sum_{n=0}^{T-1} f(n/T)$
with $f$ smooth in the angle $\theta$, $n/T = \sin^2\theta$ (in $n/T$ itself the optimal loss has a square-root
singularity at 1). The sum is therefore an integral of $f(\theta)$ against the measure with an atom at every $\theta_n$.
The Gauss rule of that measure is exact for polynomials in $\theta$ of degree below twice its size, and gives the sum
over a million rounds, or the integral $T \to \infty$, from a few dozen values of $f$.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

DIGITS = 32.0
"""Integrands are cut off where they fall to exp(-DIGITS) of their peak."""

REACH = 8.0
"""The standard normal density is cut off here, since exp(-REACH^2 / 2) = exp(-DIGITS)."""

BLOCK = 16
"""Nodes that represent a block of consecutive rounds; block lengths double away from both ends."""

Nodes = tuple[Float[ndarray, "n"], Float[ndarray, "n"]]
"""Nodes and weights of a quadrature rule."""


def normal_nodes(spread: float, reach: float, fineness: float) -> Nodes:
    r"""Trapezoid rule for $E_z f(sz)$, $s$ the `spread`, where $f$ is bounded in the strip $|\mathrm{Im}| < \pi/2$."""
    step = min(0.75, np.pi**2 / (DIGITS * spread)) / fineness
    end = np.ceil(reach * min(1, fineness) ** 0.5 / step)  # a coarse grid needs fewer digits
    z = step * np.arange(-end, end + 1)
    weight = np.exp(-z * z / 2)
    return z, weight / weight.sum()


def log_nodes(low: float, high: float, spread: float, d: int, fineness: float) -> Nodes:
    r"""Trapezoid rule on the line for an integrand concentrated on (low, high) that decays like $e^v$ below it.

    $v = low + c(\xi - e^{-\xi})$ makes the left end decay doubly exponentially; $c$ scales with the integrand's width.
    """
    c = np.sqrt(1 + spread**2 / 4 * min(1.0, 1.2 / np.log(d)))
    # a coarse grid can be coarser still where the integrand is wide and therefore smooth
    step = 0.25 / min(fineness, max(fineness**2, 4 * fineness / spread))
    xi = np.arange(-np.log(1 + (DIGITS + 4) / c), max(high - low, 0) / c + 2 * step, step)
    return low + c * (xi - np.exp(-xi)), c * step * (1 + np.exp(-xi))


def minimum_nodes(d: int, fineness: float) -> tuple[Float[ndarray, "y"], float]:
    r"""Nodes and spacing for the minimum of $d$ standard normals, whose law narrows like $1/\sqrt{2 \log d}$."""
    from scipy.special import ndtri

    step = 0.35 / fineness / max(1.0, np.log(d) / 2)
    high = min(REACH, -float(ndtri(np.exp(-(DIGITS + 4) / (d - 1)))))
    return np.arange(-lowest(d), high + step, step), step


def lowest(d: int) -> float:
    """Bound on how far below 0 the minimum of d standard normals lies."""
    return math.sqrt(2 * (DIGITS + math.log(d)))


def log_complement(a: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    r"""$\log(1 - a)$, accurate for small $a$; rounding may take $a$ above 1."""
    with np.errstate(divide="ignore"):
        return np.log1p(-np.minimum(a, 1))


def mean_over_rounds(
    of_round: Callable[[float], Any], actions: int, horizon: float, fineness: float = 1.0
) -> Any:
    r"""$\frac1T \sum_t f((t-1)/T)$, or $\int_0^1 f(\tau)\, d\tau$ for an infinite horizon."""
    theta, weight = round_nodes(horizon, node_count(actions, horizon, fineness))
    return weight @ np.array([of_round(tau) for tau in np.sin(theta) ** 2])


def node_count(actions: int, horizon: float, fineness: float = 1.0) -> int:
    """Return the number of nodes that represents all rounds to rounding accuracy."""
    size = math.log(actions)
    return math.ceil(fineness * min(19 + 1.5 * size, 5 + (0.4 + 0.04 * size) * horizon))


@lru_cache(maxsize=64)
def round_nodes(horizon: float, nodes: int) -> Nodes:
    r"""Return angles and weights (summing to 1) with $\frac1T \sum_{n<T} f(\theta_n) \approx \sum_i w_i f(\theta_i)$.

    There are at most `nodes` angles (see `node_count`). A horizon of `math.inf` gives the rule for the integral. The
    arrays are cached, so do not change them.

    >>> import numpy as np
    >>> theta, weight = round_nodes(1000, 12)
    >>> float(weight @ np.cos(theta)), float(np.sqrt(1 - np.arange(1000) / 1000).mean())
    (0.66716, 0.66716)

    Reference: Gautschi (2004), Orthogonal Polynomials: Computation and Approximation, section 2.2.
    """
    if np.isinf(horizon):
        x, weight = np.polynomial.legendre.leggauss(200)
        theta = np.pi / 4 * (1 + x)
        weight = np.pi / 4 * weight * np.sin(2 * theta)
    else:
        half = int(horizon) // 2
        past, past_weight = _integers(0, half)
        left, left_weight = _integers(1, int(horizon) - half + 1)
        theta = np.append(np.arcsin(np.sqrt(past / horizon)), np.arccos(np.sqrt(left / horizon)))
        weight = np.append(past_weight, left_weight) / horizon
    if theta.size > nodes:
        theta, weight = _gauss(theta, weight, nodes)
    return theta, weight


def _integers(start: int, stop: int) -> Nodes:
    """Return a rule for sums over range(start, stop): Gauss rules on blocks of doubling length.

    The Jacobi matrix of consecutive integers is known: the orthogonal polynomials are the Gram polynomials.
    """
    edges = [start]
    while edges[-1] < stop:
        edges.append(min(stop, edges[-1] + max(BLOCK, edges[-1])))
    nodes = [np.empty(0)]
    weights = [np.empty(0)]
    for first, end in pairwise(edges):
        length = end - first
        if length <= BLOCK:
            nodes.append(np.arange(first, end, dtype=float))
            weights.append(np.ones(length))
        else:
            j = np.arange(1.0, BLOCK)
            off = np.sqrt(j**2 * (float(length) ** 2 - j**2) / (4 * (4 * j**2 - 1)))
            x, weight = _golub_welsch(np.full(BLOCK, (length - 1) / 2), off)
            nodes.append(first + x)
            weights.append(length * weight)
    return np.concatenate(nodes), np.concatenate(weights)


def _gauss(points: ndarray, weight: ndarray, nodes: int) -> Nodes:
    """Compute the Gauss rule of a discrete measure by Lanczos with full reorthogonalisation."""
    basis = [np.sqrt(weight / weight.sum())]
    diagonal = []
    off = []
    for _ in range(nodes):
        vector = points * basis[-1]
        diagonal.append(basis[-1] @ vector)
        known = np.array(basis)
        for _ in range(2):
            vector = vector - (known @ vector) @ known
        off.append(np.linalg.norm(vector))
        basis.append(vector / off[-1])
    x, share = _golub_welsch(np.array(diagonal), np.array(off[:-1]))
    return x, weight.sum() * share


def _golub_welsch(diagonal: ndarray, off: ndarray) -> Nodes:
    """Compute the nodes and weights (summing to 1) of a Gauss rule from its Jacobi matrix."""
    x, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return x, vectors[0] ** 2
