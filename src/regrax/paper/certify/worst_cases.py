r"""Proved worst cases: the recursion of `regrax.theory.worst_case` in ball arithmetic.

Every policy is a ball around the true one, and sums and maxima of balls enclose sums and maxima, so the result encloses
the largest regret over all sequences in $\{0, 1\}^d$. Hedge plays $\mathrm{softmax}(-k_t S)$; the perturbed leader
$\pi_j = \int \varphi(z) \prod_{i \ne j} \Phi((S_i - S_j)/\sigma - z)\,dz$, where $|z| > R$ adds at most
$\mathrm{erfc}(R/\sqrt2)$. The minimax value is a maximum of sums with rational weights, so it is computed exactly.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from regrax import _checks as checks
from regrax.learners import FollowThePerturbedLeader, Hedge, Learner, Schedule
from regrax.paper.certify.balls import Ball, normal_density, precision
from regrax.paper.certify.two_actions import Enclosure
from regrax.specs import as_learner
from regrax.theory import Optimal, balanced_collections

Sums = tuple[int, ...]
DIGITS = 20  # precision of the policies
REACH = 12  # standard deviations; the normal tails beyond have probability 4e-33


def rigorous_worst_case(learner: Learner | str, actions: int, rounds: int) -> Enclosure:
    r"""Enclose the largest regret over all sequences in $\{0, 1\}^d$, with proof.

    Supports Hedge without a prior, the Gaussian perturbed leader and `Optimal`, with two or three actions.

    Args:
        learner: a learner, or its spec; its step or noise is taken to be exactly the stored float.
        actions: number of actions $d$, 2 or 3.
        rounds: number of rounds $T$.

    >>> rigorous_worst_case("hedge(0.66)", 3, 20).verdict("3.0772088965639")  # doctest: +SKIP
    'proved'
    """
    from flint import arb

    learner = as_learner(learner)

    def worst(sums: Sums, played: int, later: dict[Sums, Ball]) -> Ball:
        policy = _policy(learner, sums, played)
        options = []
        for loss, value in later.items():
            options.append(sum((policy[action] for action in np.flatnonzero(loss)), value))
        largest = options[0]
        for option in options[1:]:
            largest = largest.max(option)
        return largest

    with precision(DIGITS):
        return Enclosure(_first_value(actions, rounds, arb(0), worst))


def rigorous_minimax(actions: int, rounds: int) -> Fraction:
    """Compute the minimax value exactly, as a fraction.

    >>> rigorous_minimax(3, 4)
    Fraction(9, 8)
    """
    rows, shares = balanced_collections(actions)
    vertices = []
    for share, row in zip(shares, rows, strict=True):
        exact = [Fraction(p).limit_denominator(60) for p in row]
        vertices.append((Fraction(share).limit_denominator(60), exact))

    def best(sums: Sums, played: int, later: dict[Sums, Fraction]) -> Fraction:
        values = []
        for share, row in vertices:
            values.append(share + sum(p * v for p, v in zip(row, later.values(), strict=True)))
        return max(values)

    return _first_value(actions, rounds, Fraction(0), best)


def _first_value(
    actions: int, rounds: int, zero: Any, solve: Callable[[Sums, int, dict[Sums, Any]], Any]
) -> Any:
    """Run the recursion; `solve` computes a state's value from its sums, the round and the values after each loss."""
    checks.at_least("actions", actions, 2, 3)
    checks.at_least("rounds", rounds, 1)
    losses = list(product((0, 1), repeat=actions))[:-1]  # all ones is all zeros plus a shift
    values: dict[Sums, Any] = {}
    for played in reversed(range(rounds)):
        after = values
        values = {}
        for gaps in combinations_with_replacement(range(played + 1), actions - 1):
            sums = (0, *gaps)
            later = {}
            for loss in losses:
                moved = sorted(total + step for total, step in zip(sums, loss, strict=True))
                state = tuple(total - moved[0] for total in moved)
                later[loss] = after.get(state, zero) - moved[0]
            values[sums] = solve(sums, played, later)
    return values[(0,) * actions]


def _policy(learner: Learner, sums: Sums, played: int) -> list[Ball]:
    from flint import arb

    if isinstance(learner, Hedge) and learner.prior is None:
        step = learner.step_size
        if isinstance(step, Schedule):
            step = step(np.arange(played + 1))[-1]
        weights = [(-arb(float(step)) * total).exp() for total in sums]
        return [weight / sum(weights, arb(0)) for weight in weights]
    if isinstance(learner, FollowThePerturbedLeader):
        return _perturbed_leader(sums, arb(float(learner.noise)))
    if isinstance(learner, Optimal) and learner.horizon > played:
        left = arb(float(learner.horizon)) - played
        return _perturbed_leader(sums, arb(float(learner.noise)) * left.sqrt())
    raise ValueError(
        f"rigorous policies exist only for Hedge and the perturbed leader, got {learner}"
    )


def _perturbed_leader(sums: Sums, noise: Ball) -> list[Ball]:
    """Compute the probability that each action leads after Gaussian noise is added."""
    from flint import acb, arb

    tail = (arb(REACH) / arb(2).sqrt()).erfc() * arb(0.5, 0.5)
    policy = []
    for leader in range(len(sums) - 1):
        gaps = [(total - sums[leader]) / noise for total in sums[:leader] + sums[leader + 1 :]]

        def density(z: Any, _: bool, gaps: list[Ball] = gaps) -> Any:
            value = normal_density(z)
            for gap in gaps:
                value *= ((z - gap) / acb(2).sqrt()).erfc() / 2
            return value

        policy.append(acb.integral(density, -REACH, REACH).real + tail)
    return [*policy, 1 - sum(policy, arb(0))]
