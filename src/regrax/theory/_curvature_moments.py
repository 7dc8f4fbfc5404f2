r"""The nine expectations that one round adds to the curvature at a step $k$.

Round $t = n + 1$ adds $E[g(z)]$, $g = \|\pi\|^2 - 2\pi_{J^*}$, $\pi = \mathrm{softmax}(z)$, to the loss (the hindsight
identity). With $\bar\alpha = \sum_i \pi_i\alpha_i$ and $s_2 = \|\pi\|^2$ its derivatives in the logits are

$$\langle\nabla g, \alpha\rangle = 2\textstyle\sum\pi^2\alpha - 2 s_2\bar\alpha + 2\pi_J(\bar\alpha - \alpha_J),$$

$$H[\alpha, \beta] = 4\textstyle\sum\pi^2\alpha\beta - 4\bar\beta\sum\pi^2\alpha - 4\bar\alpha\sum\pi^2\beta
+ 6 s_2\bar\alpha\bar\beta - 2 s_2\overline{\alpha\beta}
+ 2\pi_J\bigl(\overline{\alpha\beta} - 2\bar\alpha\bar\beta
+ \alpha_J\bar\beta + \bar\alpha\beta_J - \alpha_J\beta_J\bigr),$$

so every contraction of $H$ and $\nabla g$ with powers of $z = S_n/\sqrt{n}$ is a polynomial in power sums, whose
expectation `regrax.theory._power_sums` gives. The tables below are those polynomials.
"""

import math
from typing import NamedTuple

from regrax.theory._power_sums import Factor, Rule, leader_rule, policy_rule

Polynomial = tuple[tuple[int, *tuple[Factor, ...]], ...]
"""Terms: an integer coefficient, then the exponents of each power sum."""


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


def _with_square(both: tuple[Polynomial, Polynomial]) -> tuple[Polynomial, Polynomial]:
    """Every term times |z|^2."""
    policy, leader = (tuple((*term, (0, 2)) for term in polynomial) for polynomial in both)
    return policy, leader


def _gradient(p: int) -> tuple[Polynomial, Polynomial]:
    r"""$\langle\nabla g, z^p\rangle$."""
    return ((2, (2, p)), (-2, (2, 0), (1, p))), ((2, (1, 0), (1, p)), (-2, (1, p)))


def _along(p: int) -> tuple[Polynomial, Polynomial]:
    r"""$H[z^p, z]$."""
    # for p = 1 both terms are the same moment, which is computed once
    crossed = ((-4, (2, p), (1, 1)), (-4, (1, p), (2, 1)))
    policy = (
        (4, (2, p + 1)),
        *(crossed if p > 1 else ((-8, (2, 1), (1, 1)),)),
        (6, (2, 0), (1, p), (1, 1)),
        (-2, (2, 0), (1, p + 1)),
    )
    leader = (
        (2, (1, 0), (1, p + 1)),
        (-4, (1, 0), (1, p), (1, 1)),
        (2, (1, p), (1, 1)),
        (2, (1, 1), (1, p)),
        (-2, (1, p + 1)),
    )
    return policy, leader


def _on_diagonal(alpha: int) -> tuple[Polynomial, Polynomial]:
    r"""$\sum_i H_{ii} z_i^\alpha$."""
    policy = (
        (4, (2, alpha)),
        (-8, (3, alpha)),
        (6, (2, 0), (2, alpha)),
        (-2, (2, 0), (1, alpha)),
    )
    leader = (
        (2, (1, 0), (1, alpha)),
        (-4, (1, 0), (2, alpha)),
        (4, (2, alpha)),
        (-2, (1, alpha)),
    )
    return policy, leader


_TRACE = ((2, (2, 0)), (-8, (3, 0)), (6, (2, 0), (2, 0))), ((4, (2, 0)), (-4, (1, 0), (2, 0)))

POLYNOMIALS: dict[str, tuple[Polynomial, Polynomial]] = {
    "trace": _TRACE,
    "along": _along(1),
    "slope": _gradient(1),
    "along_square": _with_square(_along(1)),
    "diagonal_square": _on_diagonal(2),
    "diagonal": _on_diagonal(1),
    "slope_square": _gradient(2),
    "skewed": _along(2),
    "trace_square": _with_square(_TRACE),
}
"""For each moment the part of the policy alone, and the part with J*, whose exponents come first."""


def round_moments(K: float, tau: float, d: int, fineness: float = 1.0) -> Moments:
    r"""The moments at the scaled step $K = k\sqrt{T}$ when a share $\tau > 0$ of the rounds is played.

    >>> round_moments(2.0, 0.5, 3).trace
    0.1329
    """
    policy = policy_rule(K * math.sqrt(tau), d, fineness)
    leader = leader_rule(K, tau, d, fineness)
    parts = {
        name: (_value(policy, alone) + _value(leader, chosen)) / (d - 1)
        for name, (alone, chosen) in POLYNOMIALS.items()
    }
    return Moments(**parts)


def _value(rule: Rule, polynomial: Polynomial) -> float:
    return math.fsum(coefficient * rule.mean(*factors) for coefficient, *factors in polynomial)
