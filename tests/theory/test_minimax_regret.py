"""The minimax value and its learner against linear programs and known limits."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from regrax import theory


def minimax_by_programs(actions, rounds):
    """A linear program in every state, on whole sums."""
    losses = np.array(list(itertools.product((0, 1), repeat=actions)))

    @cache
    def value(sums, played):
        if played == rounds:
            return -min(sums)
        later = [value(tuple(sums + loss), played + 1) for loss in losses]
        found = linprog(
            [0] * actions + [1],
            np.column_stack([losses, -np.ones(len(losses))]),
            -np.array(later),
            [[1] * actions + [0]],
            [1],
            [(0, None)] * actions + [(None, None)],
        )
        return found.fun

    return value((0,) * actions, 0)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 8), (3, 6), (4, 3)])
def test_minimax_agrees_with_linear_programs(actions, rounds):
    expected = minimax_by_programs(actions, rounds)
    assert theory.minimax(actions, rounds) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 40), (3, 30), (4, 12), (5, 6)])
def test_the_minimax_learner_attains_the_value(actions, rounds):
    found = theory.worst_case(theory.Minimax(rounds), actions, rounds)
    assert found.regret == pytest.approx(theory.minimax(actions, rounds), abs=1e-10)


@pytest.mark.parametrize("rounds", [1, 2, 7, 50, pytest.param(10_000, marks=pytest.mark.slow)])
def test_two_actions_have_covers_value(rounds):
    """Half the mean distance of a random walk from where it began."""
    ups = np.arange(rounds + 1)
    logs = [math.lgamma(rounds + 1) - math.lgamma(k + 1) - math.lgamma(rounds - k + 1) for k in ups]
    chances = np.exp(np.array(logs) - rounds * math.log(2))
    expected = chances @ np.abs(2 * ups - rounds) / 2
    assert theory.minimax(2, rounds) == pytest.approx(expected, rel=1e-9)


def test_three_actions_approach_the_known_limit():
    ratios = [theory.minimax(3, n) / math.sqrt(8 * n / (9 * math.pi)) for n in (20, 80, 320)]
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] == pytest.approx(1, abs=1e-3)


def test_no_learner_beats_minimax():
    least = theory.minimax(4, 9)
    for learner in ("hedge(0.7)", "optimal(9, 0.7)", "follow_the_perturbed_leader(2.0)"):
        assert theory.worst_case(learner, 4, 9).regret > least
