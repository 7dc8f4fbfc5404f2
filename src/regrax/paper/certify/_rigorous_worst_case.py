r"""Worst cases that are proofs: the recursion of `regrax.theory.worst_case` in ball arithmetic.

Every policy is a ball around the true one, and sums and maxima of balls enclose sums and maxima, so the result encloses
the largest regret over all sequences in $\{0, 1\}^d$. Hedge plays $\mathrm{softmax}(-k_t S)$; the perturbed leader
$\pi_j = \int \varphi(z) \prod_{i \ne j} \Phi((S_i - S_j)/\sigma - z)\,dz$, where $|z| > R$ adds at most
$\mathrm{erfc}(R/\sqrt2)$. The minimax value is a maximum of sums with rational weights: it is computed exactly.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from operator import add, mul
from typing import Any

import numpy as np

from regrax import _checks as checks
from regrax.learners import FollowThePerturbedLeader, Hedge, Learner, Schedule
from regrax.paper.certify._rigorous import Enclosure
from regrax.paper.certify._trapezoid import precision
from regrax.specs import as_learner
from regrax.theory import Optimal, balanced_collections

Sums = tuple[int, ...]
DIGITS = 20  # that policies are computed to
REACH = 12  # standard deviations: the normal distribution has 4e-33 beyond


def rigorous_worst_case(learner: Learner | str, actions: int, rounds: int) -> Enclosure:
    r"""Enclose the largest regret over all sequences in $\{0, 1\}^d$: a proof.

    For Hedge without a prior, the Gaussian perturbed leader and `Optimal`, with two or three actions.

    Args:
        learner: the learner, or its spec; its step or noise is taken as the float that it is.
        actions: number of actions $d$, 2 or 3.
        rounds: number of rounds $T$.

    >>> rigorous_worst_case("hedge(0.66)", 3, 20).verdict("3.0772088965639")  # doctest: +SKIP
    'proved'
    """
    from flint import arb

    learner = as_learner(learner)

    def worst(sums: Sums, played: int, later: list[Any]) -> Any:
        policy = policy_ball(learner, sums, played)
        largest = later[0]  # of no losses at all
        for loss, value in zip(_losses(actions)[1:], later[1:], strict=True):
            paid = sum((policy[action] for action in np.flatnonzero(loss)), arb(0))
            largest = largest.max(paid + value)
        return largest

    with precision(DIGITS):
        return Enclosure(_first_value(actions, rounds, arb(0), worst))


def rigorous_minimax(actions: int, rounds: int) -> Fraction:
    """The minimax value, exactly: a fraction.

    >>> rigorous_minimax(3, 4)
    Fraction(9, 8)
    """
    rows, shares = balanced_collections(actions)
    chances = [[Fraction(p).limit_denominator(60) for p in row] for row in rows]
    shares = [Fraction(share).limit_denominator(60) for share in shares]

    def best(_sums: Sums, _played: int, later: list[Fraction]) -> Fraction:
        sums = [sum(map(mul, row, later)) for row in chances]
        return max(map(add, shares, sums))

    return _first_value(actions, rounds, Fraction(0), best)


def _first_value(
    actions: int, rounds: int, zero: Any, solve: Callable[[Sums, int, list[Any]], Any]
) -> Any:
    """Run the recursion; `solve` gives a state's value from its sums, the round and the values after each loss."""
    checks.at_least("actions", actions, 2, 3)
    checks.at_least("rounds", rounds, 1)
    values: dict[Sums, Any] = dict.fromkeys(_sorted_sums(actions, rounds), zero)
    for played in reversed(range(rounds)):
        after = values
        values = {}
        for sums in _sorted_sums(actions, played):
            later = []
            for loss in _losses(actions):
                moved = sorted(map(add, sums, loss))
                later.append(after[tuple(total - moved[0] for total in moved)] - moved[0])
            values[sums] = solve(sums, played, later)
    return values[(0,) * actions]


def _losses(actions: int) -> Sequence[Sums]:
    return list(product((0, 1), repeat=actions))[:-1]  # all ones is a shift of all zeros


def _sorted_sums(actions: int, top: int) -> list[Sums]:
    return [(0, *gaps) for gaps in combinations_with_replacement(range(top + 1), actions - 1)]


def policy_ball(learner: Learner, sums: Sums, played: int) -> list[Any]:
    """The policy in balls of `flint.arb`."""
    from flint import arb

    if isinstance(learner, Hedge) and learner.prior is None:
        step = learner.step_size
        if isinstance(step, Schedule):
            step = step(np.arange(played + 1))[-1]
        weights = [(-arb(float(step)) * total).exp() for total in sums]
        return [weight / sum(weights, arb(0)) for weight in weights]
    if isinstance(learner, FollowThePerturbedLeader):
        return _leader(sums, arb(float(learner.noise)))
    if isinstance(learner, Optimal) and learner.horizon > played:
        left = arb(float(learner.horizon)) - played
        return _leader(sums, arb(float(learner.noise)) * left.sqrt())
    raise ValueError(f"only Hedge and the perturbed leader have rigorous policies, got {learner}")


def _leader(sums: Sums, noise: Any) -> list[Any]:
    """The chance of each action to lead after Gaussian noise."""
    from flint import acb, arb

    def chance(leader: int) -> Any:
        others = sums[:leader] + sums[leader + 1 :]

        def density(z: Any, _: bool) -> Any:
            value = (-z * z / 2).exp() / (2 * acb.pi()).sqrt()
            for total in others:
                value *= ((z - (total - sums[leader]) / noise) / acb(2).sqrt()).erfc() / 2
            return value

        tail = (arb(REACH) / arb(2).sqrt()).erfc()
        return acb.integral(density, -REACH, REACH).real + tail * arb(0.5, 0.5)

    chances = [chance(leader) for leader in range(len(sums) - 1)]
    return [*chances, 1 - sum(chances, arb(0))]
