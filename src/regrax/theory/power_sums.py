r"""Expected products of power sums of a softmax policy, with or without the action that ends best.

Scale time so that the horizon is 1. After a fraction $\tau$ of the rounds a coordinate of the cumulative loss is
$x = \sqrt{\tau} z$, $z \sim N(0, 1)$, and its final value is $y = x + N(0, \sigma^2)$, $\sigma^2 = 1 - \tau$. With the
scaled step $K = k\sqrt{T}$ the policy is $\pi_i = w_i/W$, $w_i = e^{-K x_i}$, $W = \sum_i w_i$, and a power sum is
$p_{a,\alpha} = \sum_i \pi_i^a z_i^\alpha$.

**Policy alone.** A product of power sums is a sum over set partitions of its factors: factors in the same block share
an index, and different blocks have different indices. Since
$1/W^m = \int_0^\infty \lambda^{m-1} e^{-\lambda W} d\lambda/(m-1)!$, coordinates separate: with $q = \lambda w$,
$u = \log\lambda$, $F_{a,\alpha} = E[q^a e^{-q} z^\alpha]$ and $m$ the sum of all $a$

$$E\Bigl[\prod_r p_{a_r,\alpha_r}\Bigr] = \frac{1}{(m-1)!} \int \sum_{\text{partitions}} \frac{d!}{(d-c)!}
\prod_{\text{blocks } \beta} F_{a_\beta,\alpha_\beta}\, F_{0,0}^{d-c}\, du,$$

$c$ the number of blocks and $a_\beta, \alpha_\beta$ sums over a block. $1 - F_{0,0}$ is computed instead of $F_{0,0}$,
which keeps full precision when $d$ is large.

**With the best action.** A factor $\pi_{J^*}^a z_{J^*}^\alpha$, $J^* = \arg\min_j y_j$, adds an integral over the
final value $y$ of $J^*$: its block has the density of $y$ as a factor, and every other coordinate the probability
$Q((y - x)/\sigma)$ of ending above $y$. Late rounds have $\sigma \ll 1$, where $x$ stays close to $y$, so the integral
is taken in $(v, y)$, $v = u - K\tau y$. Completing the square, the density becomes $N(y; 0, 1)$ times an expectation
over $x = \tau y + \rho g$, $g \sim N(0, 1)$, $\rho^2 = \tau\sigma^2$, $q = e^{v - K\rho g}$; and the tail is a matrix
product over $b = K(x - \tau y)$, since $q = e^{v - b}$ depends only on $(v, b)$. No factor narrows as
$\sigma \to 0$.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from regrax.theory.quadrature import (
    DIGITS,
    REACH,
    Nodes,
    log_complement,
    log_nodes,
    lowest,
    minimum_nodes,
    normal_nodes,
)

Factor = tuple[int, int]
"""Exponents of the weight and of the coordinate in a power sum."""

Table = Callable[[int, int], ndarray]


class Rule(NamedTuple):
    """A quadrature rule for products of power sums."""

    block: Table  # F
    leader: Table  # factor of the block with J*, or F in a rule without J*
    rest: Callable[[int], ndarray]  # maps c to d!/(d-c)! F_00^(d-c) times the weights

    def mean(self, *factors: Factor) -> float:
        r"""$E[\prod_r p_{a_r,\alpha_r}]$; in a rule with a leader the first factor is $\pi_{J^*}^a z_{J^*}^\alpha$."""
        total = 0.0
        for first, *others in groupings(factors):
            integrand = self.rest(1 + len(others)) * self.leader(*first)
            for block in others:
                integrand = integrand * self.block(*block)
            total += float(integrand.sum())
        return total / math.factorial(sum(a for a, _ in factors) - 1)


@cache
def groupings(factors: tuple[Factor, ...]) -> list[tuple[Factor, ...]]:
    """List all set partitions of the factors, each as the sums of exponents over its blocks.

    >>> groupings(((2, 0), (1, 1)))
    [((3, 1),), ((2, 0), (1, 1))]
    >>> [len(groupings(((0, 0),) * count)) for count in (1, 2, 3, 4)]
    [1, 2, 5, 15]
    """
    *earlier, last = factors
    if not earlier:
        return [factors]
    result = []
    for blocks in groupings(tuple(earlier)):
        for i, block in enumerate(blocks):
            merged = (block[0] + last[0], block[1] + last[1])
            result.append((*blocks[:i], merged, *blocks[i + 1 :]))
        result.append((*blocks, last))
    return result


def policy_rule(K: float, tau: float, d: int, fineness: float) -> Rule:
    r"""Return the rule for products without $J^*$ at the scaled step $K$ after a fraction $\tau > 0$ of the rounds.

    >>> policy_rule(2.0, 0.25, 3, 1.0).mean((2, 0))  # E ||pi||^2
    0.4816
    """
    from scipy.special import ndtri

    spread = K * math.sqrt(tau)  # standard deviation of a logit
    size = math.log(d)
    low = -1 - max(size + min(spread**2 / 2, size), spread * lowest(d))
    highest = REACH
    if d > 100:
        highest = float(ndtri(60 / (d - 1)))
    u, du = log_nodes(low, 6 + spread * highest, spread, d, fineness)
    # finer, because q^4 grows off the real line
    z, weight = normal_nodes(1.6 * spread, lowest(d), fineness)
    q = _exp(u[:, None] - spread * z)
    decay = np.exp(-q)

    @cache
    def block(a: int, alpha: int) -> ndarray:
        return (q**a * decay) @ (z**alpha * weight)

    return Rule(block, block, _rest(-np.expm1(-q) @ weight, du, d))


def leader_rule(K: float, tau: float, d: int, fineness: float) -> Rule:
    r"""Return the rule for products with $J^*$ at the scaled step $K$ after a fraction $0 < \tau < 1$ of the rounds.

    >>> leader_rule(2.0, 0.5, 3, 1.0).mean((1, 0))  # E[pi_J*]
    0.5462
    """
    from scipy.special import ndtr, ndtri

    root = math.sqrt(tau)
    sigma = math.sqrt(1 - tau)
    spread = K * root * sigma
    best = min(0.0, -math.log(d) - K * tau * float(ndtri(1 / d)))
    low = best - 1 - spread * min(spread, lowest(d))
    v, dv = log_nodes(low, 6 + REACH * spread, spread, d, fineness)
    y, dy = minimum_nodes(d, fineness)
    density = np.exp(-y * y / 2) / math.sqrt(2 * math.pi)

    g, weight = normal_nodes(1.4 * spread, REACH, fineness)
    near = _exp(v[:, None] - spread * g)

    @cache
    def leader(a: int, alpha: int) -> ndarray:
        """E_g[q^a e^-q z^alpha] with z = sqrt(tau) y + sigma g."""
        part = near**a * np.exp(-near)
        total = np.zeros((v.size, y.size))
        for power in range(alpha + 1):
            of_v = part @ ((sigma * g) ** power * weight)
            total += math.comb(alpha, power) * of_v[:, None] * (root * y) ** (alpha - power)
        return total

    b, db = _shift_nodes(K, tau, d, y[0], v[-1], fineness)
    tail = ndtr(b[:, None] / (K * sigma) - sigma * y)
    z = root * y + b[:, None] / (K * root)
    kernel = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * tail * (db / (K * root))[:, None]
    far = _exp(v[:, None] - b)
    decay = np.exp(-far)
    lost = -np.expm1(-far)

    @cache
    def block(a: int, alpha: int) -> ndarray:
        """E[q^a e^-q z^alpha Q((y - x) / sigma)]."""
        if (a, alpha) == (0, 2):
            # too few nodes lie far to the right, where q is 0, so subtract from the known E[z^2; Y > y]
            above = 1 - ndtr(y) + tau * y * density
            return above - lost @ (z**2 * kernel)
        return (far**a * decay) @ (z**alpha * kernel)

    rest = _rest(ndtr(y) + lost @ kernel, dv[:, None] * density * dy, d)
    return Rule(block, leader, rest)


def _shift_nodes(K: float, tau: float, d: int, first: float, last: float, fineness: float) -> Nodes:
    r"""Nodes and weights in $b = K(x - \tau y)$, $y \ge$ `first`, $v \le$ `last`, fine near 0 and coarser outward."""
    spread = K * math.sqrt(tau * (1 - tau))
    low = K * (1 - tau) * first - REACH * spread
    high = min(K * (REACH * math.sqrt(tau) - tau * first), last + DIGITS + math.log(d))
    scale = 8 * spread
    # the integrand is smoother than in the other directions, so a coarse grid can be coarser here
    step = min(0.7 / 8, 0.3 / math.hypot(scale, 4 + REACH * spread)) / min(fineness, fineness**2)
    xi = np.arange(np.arcsinh(low / scale), np.arcsinh(high / scale) + step, step)
    return scale * np.sinh(xi), scale * np.cosh(xi) * step


def _exp(power: ndarray) -> ndarray:
    """q = e^power, capped where e^-q is 0 to rounding, so that powers of q stay finite."""
    return np.exp(np.minimum(power, 7.0))


def _rest(leave: ndarray, weight: ndarray, d: int) -> Callable[[int], ndarray]:
    log_stay = np.maximum(log_complement(leave), -1e4)  # avoids 0 * inf at c = d

    @cache
    def rest(blocks: int) -> ndarray:
        return math.perm(d, blocks) * np.exp(max(d - blocks, 0) * log_stay) * weight

    return rest
