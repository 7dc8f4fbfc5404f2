"""Nash equilibria against definitions and exact brute force, degenerate and badly scaled games included."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import numbers

from regrax import games
from regrax.games import Game, nash_equilibria, pure_equilibria, solve, zero_sum_equilibrium

EXACT = 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_random_games_have_an_odd_number_of_equilibria(seed):
    game = games.random(4, 5, seed=seed)
    profiles = nash_equilibria(game)
    assert len(profiles) % 2 == 1
    assert all(profile.check("nash", EXACT) for profile in profiles)
    pure = [profile for profile in profiles if profile.joint.max() > 1 - EXACT]
    actions = [tuple(int(m.argmax()) for m in profile.marginals) for profile in pure]
    assert sorted(actions) == pure_equilibria(game)
    assert solve(game, "nash", "welfare").welfare == max(p.welfare for p in profiles)
    assert solve(game, "nash", "minimum").payoffs.min() == max(p.payoffs.min() for p in profiles)


@pytest.mark.parametrize("seed", range(3))
def test_linear_program_agrees_with_supports(seed):
    row = games.random_zero_sum(4, 6, seed=seed).payoffs[0]
    game = games.bimatrix(row, 7 - row)  # a constant sum counts as zero-sum
    by_program = zero_sum_equilibrium(game)
    (by_supports,) = nash_equilibria(game)
    np.testing.assert_allclose(by_program.joint, by_supports.joint, atol=1e-8)
    assert by_program.check("nash", EXACT)


@given(payoffs=numbers(3, 2, 2, 2))
def test_pure_equilibria_by_definition(payoffs):
    expected = []
    for a in np.ndindex(2, 2, 2):
        other = [(*a[:n], 1 - a[n], *a[n + 1 :]) for n in range(3)]
        if all(payoffs[n][a] >= payoffs[n][other[n]] for n in range(3)):
            expected.append(a)
    assert pure_equilibria(Game(payoffs)) == expected


@pytest.mark.parametrize("kind", [Fraction, int])
def test_pure_equilibria_compare_exact_payoffs(kind):
    game = Game([[[kind(10**17 + 1), 0], [kind(10**17), 0]], [[1, 0], [1, 0]]])
    assert pure_equilibria(game) == [(0, 0)]


def solve_fractions(rows):
    """Gauss-Jordan elimination in fractions; None for a singular system."""
    rows = [[Fraction(value) for value in row] for row in rows]
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for r in range(len(rows)):
            if r != k:
                rows[r] = [a - rows[r][k] * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def worth(own, other):
    return [sum(Fraction(u) * w for u, w in zip(row, other, strict=True)) for row in own]


def all_vertices(replies):
    n, m = len(replies), len(replies[0])
    for size in range(1, min(n, m) + 1):
        supports = (itertools.combinations(range(count), size) for count in (n, m))
        for equal, played in itertools.product(*supports):
            rows = [[*(replies[j][i] for i in played), -1, 0] for j in equal]
            solution = solve_fractions([*rows, [1] * size + [0, 1]])
            if solution is None or min(solution[:-1]) < 0:
                continue
            weights = dict(zip(played, solution, strict=False))
            x = tuple(weights.get(i, Fraction(0)) for i in range(m))
            if max(worth(replies, x)) == solution[-1]:
                yield x


def by_brute_force(first, second):
    def is_best_reply(own, x, y):
        values = worth(own, y)
        return all(not weight or values[i] == max(values) for i, weight in enumerate(x))

    turned = [list(column) for column in zip(*second, strict=True)]
    pairs = itertools.product(set(all_vertices(turned)), set(all_vertices(first)))
    return [p for p in pairs if is_best_reply(first, *p) and is_best_reply(turned, *p[::-1])]


SINGULAR = np.array([[3, 1, 2, 2], [1, 3, 2, 2], [2, 2, 1, 3], [2, 2, 3, 1]], float)
SMALL_NEXT_TO_LARGE = np.array([[[2, 0], [1, 1e10]], [[1, 0], [1, 0]]])


def degenerate_games():
    yield np.stack([SINGULAR, 4 - SINGULAR])
    yield SMALL_NEXT_TO_LARGE
    rng = np.random.default_rng(1)
    for trial in range(60):
        shape = tuple(rng.integers(1, 5, 2))
        payoffs = rng.integers(0, rng.integers(2, 4), (2, *shape)).astype(float)
        if trial % 2:
            payoffs[0] *= 10.0 ** rng.integers(-8, 11, shape)
        yield payoffs


def test_degenerate_and_badly_scaled_games_match_fractions():
    for payoffs in degenerate_games():
        profiles = nash_equilibria(Game(payoffs))
        exact = by_brute_force(*payoffs.tolist())
        assert len(profiles) == len(exact)
        strategies = {tuple(np.concatenate(p.marginals).round(12).tolist()) for p in profiles}
        assert strategies == {tuple(round(float(w), 12) for w in (*x, *y)) for x, y in exact}
