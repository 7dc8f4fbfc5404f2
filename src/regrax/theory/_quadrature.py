r"""Sums over rounds at a cost that does not grow with the horizon.

The expected squared regret is $\sum_{n=0}^{T-1} f(n/T)$, $n$ being the number of rounds past, with $f$ smooth in the
angle $\theta$, $n/T = \sin^2\theta$ (in $n/T$ itself the best possible loss has a square-root singularity at 1). So
the sum is an integral of $f(\theta)$ against the measure with an atom at every $\theta_n$. The Gauss rule of that
measure is exact for polynomials in $\theta$ of degree below twice its size, and gives the sum over a million rounds,
or the integral $T \to \infty$, from a few dozen values of $f$.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy import ndarray

_BLOCK = 16
"""Nodes that stand for a block of consecutive rounds; blocks double in length away from either end."""


@lru_cache(maxsize=64)
def round_nodes(
    horizon: int | float, nodes: int
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
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
    theta, weight = (theta, weight) if theta.size <= nodes else _gauss(theta, weight, nodes)
    theta.flags.writeable = weight.flags.writeable = False
    return theta, weight


def _measure(horizon: int | float) -> tuple[Float[ndarray, "m"], Float[ndarray, "m"]]:
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


def _integers(start: int, stop: int) -> tuple[Float[ndarray, "m"], Float[ndarray, "m"]]:
    """Nodes and weights that sum over the integers from `start` to below `stop`, in blocks of doubling length."""
    edges = [start]
    while edges[-1] < stop:
        edges.append(min(stop, edges[-1] + max(_BLOCK, edges[-1])))
    blocks = [_block(a, b - a) for a, b in pairwise(edges)]
    return tuple(np.concatenate(part) for part in zip(*blocks, strict=True))  # pyright: ignore


def _block(start: int, length: int) -> tuple[Float[ndarray, "m"], Float[ndarray, "m"]]:
    """The Gauss rule of `length` consecutive integers, from the recurrence of the Gram polynomials."""
    if length <= _BLOCK:
        return np.arange(start, start + length, dtype=float), np.ones(length)
    j = np.arange(1.0, _BLOCK)
    off = np.sqrt(j**2 * (float(length) ** 2 - j**2) / (4 * (4 * j**2 - 1)))
    x, weight = _golub_welsch(np.full(_BLOCK, (length - 1) / 2), off)
    return start + x, length * weight


def _gauss(
    points: Float[ndarray, "m"], weight: Float[ndarray, "m"], nodes: int
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
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


def _golub_welsch(
    diagonal: Float[ndarray, "n"], off: Float[ndarray, "m"]
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Nodes and unit-mass weights of a Gauss rule from its Jacobi matrix."""
    x, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return x, vectors[0] ** 2
