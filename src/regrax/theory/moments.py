r"""Expectations over one round: its contributions to the loss, the slope and the curvature.

By the hindsight identity (`losses`) round $t = n + 1$ adds $E[g(z)]$, $g = \|\pi\|^2 - 2\pi_{J^*}$,
$\pi = \mathrm{softmax}(z)$, to the loss. Both terms are power sums $f = \sum_i \pi_i^a$: the first with $a = 2$, over
all actions, the second with $a = 1$, over $i = J^*$ alone. With $\bar\alpha = \sum_i \pi_i\alpha_i$ the derivatives of
$f$ in the logits are

$$\langle\nabla f, \alpha\rangle = a\,\Bigl(\textstyle\sum\pi^a\alpha - f\bar\alpha\Bigr),$$

$$H[\alpha, \beta] = a^2\Bigl(\textstyle\sum\pi^a\alpha\beta - \bar\beta\sum\pi^a\alpha
- \bar\alpha\sum\pi^a\beta\Bigr) + a(a + 1) f\bar\alpha\bar\beta - a f\,\overline{\alpha\beta},$$

so every contraction of $H$ and $\nabla f$ with powers of $z = S_n/\sqrt{n}$ is a polynomial in power sums, whose
expectation `power_sums` computes. Time is the fraction $\tau = n/T$ of rounds played, and steps are scaled,
$K = k\sqrt{T}$.
"""

import math
from functools import cache
from typing import NamedTuple

from regrax.theory.power_sums import Factor, Rule, leader_rule, policy_rule

Polynomial = list[tuple[int, list[Factor]]]
"""Terms, each an integer coefficient and the exponents of its power sums."""


class Terms(NamedTuple):
    r"""The terms of the loss in one round, or their means over rounds, with derivatives in the scaled step $K$.

    Attributes:
        collision: $A = E \|\pi\|^2$, the probability that two draws from the policy agree.
        foresight: $B = E[\pi_{J^*}]$, the probability that the policy draws the action that ends best.
        collision_slope: $A'$.
        foresight_slope: $B'$.
    """

    collision: float
    foresight: float
    collision_slope: float
    foresight_slope: float

    @property
    def loss(self) -> float:
        r"""$A - 2B$."""
        return self.collision - 2 * self.foresight

    @property
    def slope(self) -> float:
        r"""$A' - 2B'$."""
        return self.collision_slope - 2 * self.foresight_slope


class Moments(NamedTuple):
    r"""Expectations over one round, each divided by $d - 1$; $z = S_n/\sqrt{n}$ is standard normal."""

    trace: float  # tr H
    along: float  # z^T H z
    slope: float  # <grad g, z>
    along_square: float  # |z|^2 z^T H z
    diagonal_square: float  # sum_i H_ii z_i^2
    diagonal: float  # sum_i H_ii z_i
    slope_square: float  # sum_i (grad g)_i z_i^2
    skewed: float  # sum_i z_i^2 (H z)_i
    trace_square: float  # |z|^2 tr H


def _gradient(a: int, p: int) -> Polynomial:
    r"""$\langle\nabla f, z^p\rangle$."""
    return [(a, [(a, p)]), (-a, [(a, 0), (1, p)])]


def _along(a: int, p: int) -> Polynomial:
    r"""$H[z^p, z]$."""
    return [
        (a * a, [(a, p + 1)]),
        (-a * a, [(a, p), (1, 1)]),
        (-a * a, [(a, 1), (1, p)]),
        (a * (a + 1), [(a, 0), (1, p), (1, 1)]),
        (-a, [(a, 0), (1, p + 1)]),
    ]


def _diagonal(a: int, p: int) -> Polynomial:
    r"""$\sum_i H_{ii} z_i^p$."""
    return [
        (a * a, [(a, p)]),
        (-2 * a * a, [(a + 1, p)]),
        (a * (a + 1), [(a, 0), (2, p)]),
        (-a, [(a, 0), (1, p)]),
    ]


def _times_square(polynomial: Polynomial) -> Polynomial:
    r"""Multiply by $|z|^2$."""
    return [(coefficient, [*factors, (0, 2)]) for coefficient, factors in polynomial]


@cache
def contractions(a: int) -> tuple[Polynomial, ...]:
    """Return the polynomials of all moments of the power sum with exponent $a$, in the order of `Moments`."""
    trace = _diagonal(a, 0)
    along = _along(a, 1)
    return (
        trace,
        along,
        _gradient(a, 1),
        _times_square(along),
        _diagonal(a, 2),
        _diagonal(a, 1),
        _gradient(a, 2),
        _along(a, 2),
        _times_square(trace),
    )


def round_terms(K: float, tau: float, d: int, fineness: float = 1.0) -> Terms:
    """Compute a round's contributions to the loss and to its slope.

    >>> terms = round_terms(2.0, 0.5, 3)
    >>> terms.collision, terms.foresight
    (0.5594, 0.5462)
    """
    if tau == 0:
        return Terms(1 / d, 1 / d, 0.0, 0.0)
    alone = policy_rule(K, tau, d, fineness)
    with_leader = leader_rule(K, tau, d, fineness)
    return Terms(
        alone.mean((2, 0)),
        with_leader.mean((1, 0)),
        -math.sqrt(tau) * _mean(alone, _gradient(2, 1)),
        -math.sqrt(tau) * _mean(with_leader, _gradient(1, 1)),
    )


def round_moments(K: float, tau: float, d: int, fineness: float = 1.0) -> Moments:
    r"""Compute a round's contributions to the curvature, for $\tau > 0$.

    >>> round_moments(2.0, 0.5, 3).trace
    0.1329
    """
    alone = policy_rule(K, tau, d, fineness)
    with_leader = leader_rule(K, tau, d, fineness)
    moments = []
    for square, best in zip(contractions(2), contractions(1), strict=True):
        moments.append((_mean(alone, square) - 2 * _mean(with_leader, best)) / (d - 1))
    return Moments(*moments)


def _mean(rule: Rule, polynomial: Polynomial) -> float:
    return math.fsum(coefficient * rule.mean(*factors) for coefficient, factors in polynomial)
