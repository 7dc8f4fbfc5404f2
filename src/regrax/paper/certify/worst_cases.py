r"""Proved worst cases: the recursion of `regrax.theory.worst_case` in ball arithmetic.

Every policy is a ball around the true one, and sums and maxima of balls enclose sums and maxima, so the result encloses
the largest regret over all sequences in $\{0, 1\}^d$. Hedge plays $\mathrm{softmax}(-k_t S)$; the perturbed leader
$\pi_j = \int \varphi(z) \prod_{i \ne j} \Phi((S_i - S_j)/\sigma - z)\,dz$, where $|z| > R$ adds at most
$\mathrm{erfc}(R/\sqrt2)$. The minimax value is a maximum of sums with rational weights, so it is computed exactly.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy import ndarray

from regrax.learners import FollowThePerturbedLeader, Hedge, Learner, Schedule
from regrax.paper.certify.balls import Ball, normal_density, precision
from regrax.paper.certify.two_actions import Enclosure
from regrax.specs import as_learner
from regrax.theory import Optimal, balanced_collections
from regrax.theory.lattice import binary_lattice

MAX_ACTIONS = 3
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
    lattice = binary_lattice(actions, rounds, MAX_ACTIONS)
    maximum = np.frompyfunc(arb.max, 2, 1)

    def worst(played: int, later: ndarray) -> Any:
        policies = _policies(learner, lattice.states[: len(later)], played)
        return maximum.reduce(policies @ lattice.losses.T + later, 1)

    with precision(DIGITS):
        return Enclosure(lattice.solve(worst))


def rigorous_minimax(actions: int, rounds: int) -> Fraction:
    """Compute the minimax value exactly, as a fraction.

    >>> rigorous_minimax(3, 4)
    Fraction(9, 8)
    """
    lattice = binary_lattice(actions, rounds, MAX_ACTIONS)
    exact = np.vectorize(lambda share: Fraction(share).limit_denominator(60), otypes=[object])
    probabilities, share = map(exact, balanced_collections(actions))
    return lattice.solve(lambda _, later: (later @ probabilities.T + share).max(1))


def _policies(learner: Learner, sums: ndarray, played: int) -> ndarray:
    """Enclose the policies in all states of a round."""
    from flint import arb

    if isinstance(learner, Hedge) and learner.prior is None:
        step = learner.step_size
        if isinstance(step, Schedule):
            step = step(np.arange(played + 1))[-1]
        weights = np.exp(-arb(float(step)) * sums)
        return weights / weights.sum(1, keepdims=True)
    if isinstance(learner, FollowThePerturbedLeader):
        noise = arb(float(learner.noise))
    elif isinstance(learner, Optimal) and learner.horizon > played:
        noise = arb(float(learner.noise)) * (arb(float(learner.horizon)) - played).sqrt()
    else:
        raise ValueError(
            f"rigorous policies exist only for Hedge and the perturbed leader, got {learner}"
        )
    return np.array([_perturbed_leader(state, noise) for state in sums])


def _perturbed_leader(sums: ndarray, noise: Ball) -> list[Ball]:
    """Compute the probability that each action leads after Gaussian noise is added."""
    from flint import acb, arb

    tail = (arb(REACH) / arb(2).sqrt()).erfc() * arb(0.5, 0.5)
    policy = []
    for leader in range(len(sums) - 1):
        gaps = (np.delete(sums, leader) - sums[leader]) / noise

        def density(z: Any, _: bool, gaps: ndarray = gaps) -> Any:
            behind = [((z - gap) / acb(2).sqrt()).erfc() / 2 for gap in gaps]
            return normal_density(z) * math.prod(behind)

        policy.append(acb.integral(density, -REACH, REACH).real + tail)
    return [*policy, 1 - sum(policy)]
