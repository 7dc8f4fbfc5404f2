r"""Expectations of products of power sums of a softmax policy, with or without the action that ends best.

With $z_i$ standard normal, $\pi_i = w_i/W$, $w_i = e^{-s z_i}$, $W = \sum_i w_i$, a power sum is
$p_{a,\alpha} = \sum_i \pi_i^a z_i^\alpha$. A product of them is a sum over set partitions of its factors: factors in
one block share their index, different blocks have different ones. Since
$1/W^m = \int_0^\infty \lambda^{m-1} e^{-\lambda W} d\lambda/(m-1)!$, coordinates separate: with $q = \lambda w$,
$u = \log\lambda$, $F_{a,\alpha} = E[q^a e^{-q} z^\alpha]$ and $m$ the sum of all $a$

$$E\Bigl[\prod_r p_{a_r,\alpha_r}\Bigr] = \frac{1}{(m-1)!} \int \sum_{\text{partitions}} \frac{d!}{(d-c)!}
\prod_{\text{blocks } \beta} F_{a_\beta,\alpha_\beta}\, F_{0,0}^{d-c}\, du,$$

$c$ the number of blocks and $a_\beta, \alpha_\beta$ sums over a block. With a factor $\pi_{J^*}^a z_{J^*}^\alpha$,
$J^*$ the action whose final value is least, the integral is over that value $y$ too: the block of $J^*$ has the density
of $y$ for its factor and every other coordinate the probability of ending above $y$ (`regrax.theory._integrals`, whose
variables $v = u - K\tau y$ and $b = K(x - \tau y)$ are used here).
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax.theory._integrals import (
    REACH,
    exp,
    leader_nodes,
    log_stay,
    lowest,
    normal_nodes,
    policy_nodes,
    product,
    shift_nodes,
)

POWERS = np.arange(5)
"""The powers of a coordinate, and of a weight, in any product that is asked for."""

Factor = tuple[int, int]
"""The two exponents of a power sum: of the weight, and of the coordinate."""


class Rule(NamedTuple):
    """Everything a product needs on the nodes of one integral: factors of blocks, and of all other coordinates."""

    blocks: Float[ndarray, "a alpha *nodes"]  # F
    chosen: Float[ndarray, "a alpha *nodes"] | None  # the same for J*
    # d!/(d-c)! F_00^(d-c), times the weights of the nodes; c = 0, 1, ...
    rest: Float[ndarray, "c *nodes"]

    def mean(self, *factors: Factor) -> float:
        r"""$E[\prod_r p_{a_r,\alpha_r}]$; in a rule with `chosen`, the first factor is $\pi_{J^*}^a z_{J^*}^\alpha$."""
        total = math.fsum(self._part(factors, blocks) for blocks in partitions(len(factors)))
        return total / math.factorial(sum(a for a, _ in factors) - 1)

    def _part(self, factors: tuple[Factor, ...], blocks: tuple[tuple[int, ...], ...]) -> float:
        integrand = self.rest[len(blocks)]
        for block in blocks:
            table = self.chosen if self.chosen is not None and 0 in block else self.blocks
            a, alpha = (sum(factors[i][side] for i in block) for side in (0, 1))
            integrand = integrand * table[a, alpha]
        return float(integrand.sum())


@cache
def partitions(count: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """All ways to split 0 .. count - 1 into blocks; 0 is in the first of them.

    >>> partitions(2)
    (((0, 1),), ((0,), (1,)))
    >>> [len(partitions(n)) for n in (1, 2, 3, 4)]
    [1, 2, 5, 15]
    """

    def extend(blocks: tuple[tuple[int, ...], ...], new: int) -> Iterator[tuple]:
        for i, block in enumerate(blocks):
            yield (*blocks[:i], (*block, new), *blocks[i + 1 :])
        yield (*blocks, (new,))

    found: list[tuple] = [()]
    for new in range(count):
        found = [longer for blocks in found for longer in extend(blocks, new)]
    return tuple(found)


def policy_rule(spread: float, d: int, fineness: float) -> Rule:
    r"""The rule for products of power sums alone; `spread` is $s$, the standard deviation of a logit.

    >>> policy_rule(1.0, 3, 1.0).mean((2, 0))  # E ||pi||^2
    0.4816
    """
    z, weight = normal_nodes(1.6 * spread, lowest(d), fineness)  # finer: q^4 grows off the line
    u, du = policy_nodes(spread, d, 6, fineness)
    q = exp(u[:, None] - spread * z)
    moments = (z[:, None] ** POWERS) * weight[:, None]
    blocks = np.array([product(part, moments).T for part in _weights(q)])
    return Rule(blocks, None, _rest(product(-np.expm1(-q), weight), du, d))


def leader_rule(K: float, tau: float, d: int, fineness: float) -> Rule:
    r"""The rule for products with $J^*$ at the scaled step $K$ after a share $\tau$ of the rounds; $z = x/\sqrt{\tau}$.

    >>> leader_rule(2.0, 0.5, 3, 1.0).mean((1, 0))  # E[pi_J*]
    0.5462
    """
    from scipy.special import ndtr

    v, dv, y, weight = leader_nodes(K, tau, d, 6, fineness)
    blocks, lost = _tails(v, y, K, tau, d, fineness)
    chosen = _densities(v, y, K, tau, fineness)
    return Rule(blocks, chosen, _rest(ndtr(y) + lost, dv[:, None] * weight, d))


def _rest(
    leave: Float[ndarray, "*nodes"], weight: Float[ndarray, "*nodes"], d: int
) -> Float[ndarray, "c *nodes"]:
    """The factor of all coordinates outside the blocks, from 1 - F_00, exact for small ones and large d."""
    stay = np.maximum(log_stay(leave), -1e4)  # no 0 * inf at c = d
    return np.array([math.perm(d, c) * np.exp(max(d - c, 0) * stay) * weight for c in range(5)])


def _weights(q: Float[ndarray, "n m"]) -> Iterator[Float[ndarray, "n m"]]:
    """$q^a e^{-q}$ for every power."""
    part = np.exp(-q)
    for _ in POWERS:
        yield part
        part = part * q


def _densities(
    v: Float[ndarray, "v"], y: Float[ndarray, "y"], K: float, tau: float, fineness: float
) -> Float[ndarray, "a alpha v y"]:
    r"""$E_g[q^a e^{-q} (\sqrt{\tau} y + \sigma g)^\alpha]$, $q = e^{v - K\rho g}$: given $y$, $x = \tau y + \rho g$."""
    sigma = np.sqrt(1 - tau)
    g, weight = normal_nodes(1.4 * K * sigma * np.sqrt(tau), REACH, fineness)
    q = exp(v[:, None] - K * sigma * np.sqrt(tau) * g)
    ends = (np.sqrt(tau) * y + sigma * g[:, None]) ** POWERS[:, None, None] * weight[:, None]
    return np.array([[product(part, end) for end in ends] for part in _weights(q)])


def _tails(
    v: Float[ndarray, "v"], y: Float[ndarray, "y"], K: float, tau: float, d: int, fineness: float
) -> tuple[Float[ndarray, "a alpha v y"], Float[ndarray, "v y"]]:
    r"""$E[q^a e^{-q} z^\alpha Q((y - x)/\sigma)]$, and $E[(1 - e^{-q})\, Q((y - x)/\sigma)]$."""
    from scipy.special import ndtr

    b, db, tail = shift_nodes(v, y, K, tau, d, fineness)
    z = np.sqrt(tau) * y + (b / (K * np.sqrt(tau)))[:, None]
    kernel = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * tail * (db / (K * np.sqrt(tau)))[:, None]
    q = exp(v[:, None] - b)
    ends = z ** POWERS[:, None, None] * kernel
    blocks = np.array([[product(part, end) for end in ends] for part in _weights(q)])
    lost, square_lost = (product(-np.expm1(-q), ends[alpha]) for alpha in (0, 2))
    # far to the right, where q is 0, the nodes are too few: E[z^2; Y < y] is known, what e^{-q} takes away is near
    below = ndtr(y) - tau * y * np.exp(-y * y / 2) / np.sqrt(2 * np.pi)
    blocks[0, 2] = 1 - below - square_lost
    return blocks, lost
