r"""Expectations over one round: its contributions to the loss, the slope and the curvature.

By the hindsight identity (`losses`) round $t = n + 1$ adds $E[g(z)]$, $g = \|\pi\|^2 - 2\pi_{J^*}$,
$\pi = \mathrm{softmax}(z)$, to the loss. With $\bar\alpha = \sum_i \pi_i\alpha_i$ and $s_2 = \|\pi\|^2$ the derivatives
of $g$ in the logits are

$$\langle\nabla g, \alpha\rangle = 2\textstyle\sum\pi^2\alpha - 2 s_2\bar\alpha + 2\pi_J(\bar\alpha - \alpha_J),$$

$$H[\alpha, \beta] = 4\textstyle\sum\pi^2\alpha\beta - 4\bar\beta\sum\pi^2\alpha - 4\bar\alpha\sum\pi^2\beta
+ 6 s_2\bar\alpha\bar\beta - 2 s_2\overline{\alpha\beta}
+ 2\pi_J\bigl(\overline{\alpha\beta} - 2\bar\alpha\bar\beta
+ \alpha_J\bar\beta + \bar\alpha\beta_J - \alpha_J\beta_J\bigr),$$

so every contraction of $H$ and $\nabla g$ with powers of $z = S_n/\sqrt{n}$ is a polynomial in power sums, whose
expectation `power_sums` computes. The tables below are these polynomials. Time is the fraction $\tau = n/T$ of rounds
played, and steps are scaled, $K = k\sqrt{T}$.
"""

import math
from functools import cache
from typing import NamedTuple

from regrax.theory.power_sums import Factor, Rule, leader_rule, policy_rule

Polynomial = list[tuple[int, list[Factor]]]
"""Terms, each an integer coefficient and the exponents of its power sums."""

Contraction = tuple[Polynomial, Polynomial]
"""The part that involves only the policy, and the part with J*, whose exponents come first."""


class Term(NamedTuple):
    r"""An expectation and its derivative in the scaled step $K$."""

    value: float
    slope: float


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


def _gradient(p: int) -> Contraction:
    r"""$\langle\nabla g, z^p\rangle$."""
    policy = [(2, [(2, p)]), (-2, [(2, 0), (1, p)])]
    leader = [(2, [(1, 0), (1, p)]), (-2, [(1, p)])]
    return policy, leader


def _along(p: int) -> Contraction:
    r"""$H[z^p, z]$."""
    policy = [
        (4, [(2, p + 1)]),
        (-4, [(2, p), (1, 1)]),
        (-4, [(1, p), (2, 1)]),
        (6, [(2, 0), (1, p), (1, 1)]),
        (-2, [(2, 0), (1, p + 1)]),
    ]
    leader = [
        (2, [(1, 0), (1, p + 1)]),
        (-4, [(1, 0), (1, p), (1, 1)]),
        (2, [(1, p), (1, 1)]),
        (2, [(1, 1), (1, p)]),
        (-2, [(1, p + 1)]),
    ]
    return policy, leader


def _diagonal(p: int) -> Contraction:
    r"""$\sum_i H_{ii} z_i^p$."""
    policy = [(4, [(2, p)]), (-8, [(3, p)]), (6, [(2, 0), (2, p)]), (-2, [(2, 0), (1, p)])]
    leader = [(2, [(1, 0), (1, p)]), (-4, [(1, 0), (2, p)]), (4, [(2, p)]), (-2, [(1, p)])]
    return policy, leader


def _times_square(contraction: Contraction) -> Contraction:
    r"""Multiply by $|z|^2$."""
    policy, leader = contraction
    longer = [(coefficient, [*factors, (0, 2)]) for coefficient, factors in policy]
    return longer, [(coefficient, [*factors, (0, 2)]) for coefficient, factors in leader]


@cache
def contractions() -> dict[str, Contraction]:
    """Return the contraction of each moment by name."""
    return {
        "trace": _diagonal(0),
        "along": _along(1),
        "slope": _gradient(1),
        "along_square": _times_square(_along(1)),
        "diagonal_square": _diagonal(2),
        "diagonal": _diagonal(1),
        "slope_square": _gradient(2),
        "skewed": _along(2),
        "trace_square": _times_square(_diagonal(0)),
    }


def collision(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""Compute $A(K, \tau) = E\|\pi\|^2$, the probability that two draws from the policy agree.

    >>> collision(2.0, 0.5, 3).value
    0.5594
    """
    if tau == 0:
        return Term(1 / d, 0.0)
    rule = policy_rule(K * math.sqrt(tau), d, fineness)
    slope = _mean(rule, _gradient(1)[0])
    return Term(rule.mean((2, 0)), -math.sqrt(tau) * slope)


def foresight(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""Compute $B(K, \tau) = E[\pi_{J^*}]$, the probability that the policy draws the action that ends best.

    >>> foresight(2.0, 0.5, 3).value
    0.5462
    """
    if tau == 0:
        return Term(1 / d, 0.0)
    rule = leader_rule(K, tau, d, fineness)
    slope = _mean(rule, _gradient(1)[1]) / -2  # g has -2 pi_J*
    return Term(rule.mean((1, 0)), -math.sqrt(tau) * slope)


def round_loss(K: float, tau: float, d: int, fineness: float = 1.0) -> Term:
    r"""Compute $A - 2B$, a round's contribution to the loss."""
    a = collision(K, tau, d, fineness)
    b = foresight(K, tau, d, fineness)
    return Term(a.value - 2 * b.value, a.slope - 2 * b.slope)


def round_moments(K: float, tau: float, d: int, fineness: float = 1.0) -> Moments:
    r"""Compute a round's contributions to the curvature, for $\tau > 0$.

    >>> round_moments(2.0, 0.5, 3).trace
    0.1329
    """
    alone = policy_rule(K * math.sqrt(tau), d, fineness)
    with_leader = leader_rule(K, tau, d, fineness)
    moments = {}
    for name, (policy, leader) in contractions().items():
        moments[name] = (_mean(alone, policy) + _mean(with_leader, leader)) / (d - 1)
    return Moments(**moments)


def _mean(rule: Rule, polynomial: Polynomial) -> float:
    return math.fsum(coefficient * rule.mean(*factors) for coefficient, factors in polynomial)
