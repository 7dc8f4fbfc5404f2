"""Exact equilibria: hand-checkable cases, brute-force oracles on tiny games, and what every answer must satisfy."""

import itertools
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import optimize
from tests.strategies import distributions, numbers

from regrax import games
from regrax.games import (
    CorrelatedProfile,
    Game,
    SolverError,
    cce_dist,
    cce_gap,
    ce_dist,
    nash_equilibria,
    nash_gap,
    nearest_equilibrium,
    play,
    pure_equilibria,
    solve,
    swap_gap,
    zero_sum_equilibrium,
)
from regrax.games.formats import game_from_json, game_to_json
from regrax.games.linear_programs import incentives
from regrax.learners import Hedge

ROUNDING = 1e-12
EXACT = 1e-9  # what linear programs and certificates promise, of payoffs of span one
GAPS = {"nash": games.nash_gap, "ce": games.ce_gap, "cce": games.cce_gap}
ENUMERABLE_GAMES = [
    games.chicken(),
    games.prisoners_dilemma(),
    games.battle_of_the_sexes(),
    games.matching_pennies(),
    games.weighted_rps(),
    games.shapley(),
    games.random(3, 4, seed=1),
    games.random(2, 3, 2, seed=2),
    games.random_zero_sum(5, 4, seed=3),
    games.random(4, seed=4),
]


def entropy(joint):
    p = np.ravel(joint)
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def worth(profile, objective):
    return {
        "any": 0.0,
        "welfare": profile.welfare,
        "minimum": profile.payoffs.min(),
        "entropy": entropy(profile.joint),
    }[objective]


@pytest.mark.parametrize("game", ENUMERABLE_GAMES, ids=str)
@pytest.mark.parametrize("concept", ["ce", "cce"])
def test_correlated_solutions_are_equilibria_and_best_at_what_they_are_for(x64, game, concept):
    found = {o: solve(game, concept, o) for o in ("any", "welfare", "minimum", "entropy")}
    for profile in found.values():
        assert profile.check(concept, EXACT * float(np.ptp(game.payoffs)))
    for objective, other in itertools.product(found, found):
        assert worth(found[objective], objective) >= worth(found[other], objective) - 1e-8


def vertices(gains, size):
    """Every vertex of {mu >= 0, sum mu = 1, gains mu <= 0}, from all choices of tight constraints."""
    rows = np.concatenate([gains, -np.eye(size)])
    found = []
    for tight in itertools.combinations(range(len(rows)), size - 1):
        system = np.concatenate([rows[list(tight)], np.ones((1, size))])
        if abs(np.linalg.det(system)) > 1e-9:
            mu = np.linalg.solve(system, np.append(np.zeros(size - 1), 1.0))
            if (rows @ mu).max() < 1e-9:
                found.append(mu)
    return np.array(found)


@pytest.mark.parametrize("concept", ["ce", "cce"])
@settings(max_examples=12)
@given(payoffs=numbers(2, 2, 2), joint=distributions(4))
def test_linear_objectives_equal_the_best_vertex(concept, payoffs, joint):
    game, exact = Game(payoffs), EXACT * max(1.0, np.abs(payoffs).max())
    corners = vertices(incentives(game, concept).toarray(), 4)
    assert len(corners)
    welfare = (corners @ payoffs.sum(0).ravel()).max()
    assert solve(game, concept, "welfare").welfare == pytest.approx(welfare, abs=exact)
    # the max-min payoff is the value of a game of corners against players
    paid = corners @ payoffs.reshape(2, -1).T
    value = zero_sum_equilibrium(games.zero_sum(paid)).payoffs[0]
    assert solve(game, concept, "minimum").payoffs.min() == pytest.approx(value, abs=10 * exact)
    distance = nearest_equilibrium(joint.reshape(2, 2), game, concept).distance
    assert distance == pytest.approx(distance_to_hull(joint, corners), abs=1e-8)


def distance_to_hull(p, corners):
    """Total variation to the convex hull of points, by an independent program over their weights."""
    k, size = corners.shape
    cost = np.append(np.zeros(k), np.ones(size))
    bound = np.block([[corners.T, -np.eye(size)], [-corners.T, -np.eye(size)]])
    total = np.append(np.ones(k), np.zeros(size))[None, :]
    found = optimize.linprog(cost, bound, np.append(p, -p), total, [1.0])
    return found.fun / 2


@pytest.mark.parametrize("concept", ["ce", "cce"])
@pytest.mark.parametrize(
    "game", [games.chicken(), games.random(2, 3, seed=4), games.random(2, 2, 2, seed=3)], ids=str
)
def test_entropy_equals_a_general_purpose_optimiser(game, concept):
    gains = incentives(game, concept).toarray()
    size = gains.shape[1]
    found = optimize.minimize(
        lambda p: float((p * np.log(p)).sum()),
        np.full(size, 1 / size),
        jac=lambda p: np.log(p) + 1,
        bounds=[(1e-12, 1)] * size,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "ineq", "fun": lambda p: -gains @ p, "jac": lambda p: -gains},
        ],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert found.success
    assert entropy(solve(game, concept, "entropy").joint) == pytest.approx(-found.fun, abs=1e-6)


def test_chicken_by_hand():
    """With a on (swerve, swerve) and b on each split, nobody told swerve leaves if a <= 2b: a = 1/2, b = 1/4."""
    best = solve(games.chicken(), "ce", "welfare")
    np.testing.assert_allclose(best.joint, [[0.5, 0.25], [0.25, 0]], atol=EXACT)
    assert solve(games.chicken(), "ce", "minimum").payoffs.min() == pytest.approx(5.25)
    assert solve(games.chicken(), "nash", "welfare").welfare == pytest.approx(28 / 3)


@pytest.mark.parametrize(
    ("game", "concept", "joint"),
    [
        (games.prisoners_dilemma(), "ce", [[0, 0], [0, 1]]),
        (games.prisoners_dilemma(), "cce", [[0, 0], [0, 1]]),
        (games.matching_pennies(), "ce", np.full((2, 2), 1 / 4)),
        (games.matching_pennies(), "nash", np.full((2, 2), 1 / 4)),
        (games.weighted_rps(), "ce", np.outer([3, 2, 1], [3, 2, 1]) / 36),
        (games.weighted_rps(), "nash", np.outer([3, 2, 1], [3, 2, 1]) / 36),
        (games.shapley(), "nash", np.full((3, 3), 1 / 9)),
    ],
    ids=str,
)
def test_games_with_one_equilibrium(game, concept, joint):
    np.testing.assert_allclose(solve(game, concept).joint, joint, atol=1e-8)


def test_shapley_has_correlated_equilibria_off_its_losing_cells():
    """The six cells that pay anyone, each with probability 1/6, are an equilibrium of total payoff 1."""
    best = solve(games.shapley(), "ce", "welfare")
    np.testing.assert_allclose(best.joint, (games.shapley().payoffs.sum(0) > 0) / 6, atol=EXACT)


def test_one_player_takes_the_best_action():
    game = Game([[1.0, 5.0, 2.0]])
    for concept in ("nash", "ce", "cce"):
        assert solve(game, concept).joint.tolist() == [0, 1, 0]


def test_every_player_with_one_action():
    profile = solve(Game(np.ones((2, 1, 1))), "ce", "entropy")
    assert profile.joint.tolist() == [[1.0]]
    assert solve(Game(np.ones((2, 1, 1))), "cce", "welfare").welfare == 2


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_the_unit_of_payoffs_does_not_matter(scale):
    game = games.chicken()
    moved = Game(game.payoffs * scale + 3 * scale)
    for concept, objective in itertools.product(("ce", "cce"), ("welfare", "minimum", "entropy")):
        expected = solve(game, concept, objective).joint
        np.testing.assert_allclose(solve(moved, concept, objective).joint, expected, atol=1e-6)
    assert len(nash_equilibria(moved)) == 3


@pytest.mark.parametrize("seed", range(6))
def test_nash_equilibria_of_random_games_are_odd_in_number_and_exact(seed):
    game = games.random(4, 5, seed=seed)
    found = nash_equilibria(game)
    assert len(found) % 2 == 1
    assert all(profile.check("nash", EXACT) for profile in found)
    pure = [tuple(int(m.argmax()) for m in p.marginals) for p in found if p.joint.max() > 1 - EXACT]
    assert sorted(pure) == pure_equilibria(game)
    assert solve(game, "nash", "welfare").welfare == max(p.welfare for p in found)
    assert solve(game, "nash", "minimum").payoffs.min() == max(p.payoffs.min() for p in found)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_coordination_has_an_equilibrium_for_every_support(d):
    found = nash_equilibria(games.symmetric(np.eye(d)))
    assert len(found) == 2**d - 1
    for profile in found:
        np.testing.assert_allclose(*profile.marginals, atol=EXACT)


def test_extreme_equilibria_of_a_degenerate_game_by_hand():
    """Against the left column both rows are best: a segment of equilibria from (1, 0) to (1/2, 1/2)."""
    game = games.bimatrix([[1, 0], [1, -1]], [[1, 0], [0, 1]])
    found = [[m.tolist() for m in profile.marginals] for profile in nash_equilibria(game)]
    assert found == [[[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [1.0, 0.0]]]


def test_a_constant_game_has_its_pure_profiles():
    assert len(nash_equilibria(games.bimatrix(np.zeros((2, 3)), np.zeros((2, 3))))) == 6


@pytest.mark.parametrize("seed", range(3))
def test_zero_sum_program_agrees_with_supports(seed):
    game = games.random_zero_sum(4, 6, seed=seed)
    by_program = zero_sum_equilibrium(game)
    (by_supports,) = nash_equilibria(game)
    np.testing.assert_allclose(by_program.joint, by_supports.joint, atol=1e-8)
    assert by_program.check("nash", EXACT)


def test_constant_sum_counts_as_zero_sum():
    row = games.weighted_rps().payoffs[0]
    profile = solve(games.bimatrix(row, 7 - row), "nash")
    np.testing.assert_allclose(profile.marginals[1], np.array([3, 2, 1]) / 6, atol=1e-8)
    assert profile.welfare == pytest.approx(7)


@given(payoffs=numbers(3, 2, 2, 2))
def test_pure_equilibria_by_definition(payoffs):
    expected = [
        a
        for a in np.ndindex(2, 2, 2)
        if all(payoffs[n][a] >= payoffs[n][(*a[:n], 1 - a[n], *a[n + 1 :])] for n in range(3))
    ]
    assert pure_equilibria(Game(payoffs)) == expected


@settings(max_examples=12)
@given(payoffs=numbers(2, 3, 3))
def test_equilibria_of_any_small_game_are_equilibria(payoffs):
    """Small integers make degenerate games: ties, duplicate actions, whole faces of equilibria."""
    game = Game(payoffs)
    exact = EXACT * max(1.0, float(np.ptp(payoffs)))
    found = nash_equilibria(game)
    assert found
    assert all(profile.check("nash", exact) for profile in found)
    for concept, objective in itertools.product(("ce", "cce"), ("welfare", "minimum")):
        assert solve(game, concept, objective).check(concept, exact)


def test_nash_of_three_players_takes_a_pure_one():
    game = Game(np.stack([np.arange(8.0).reshape(2, 2, 2)] * 3))
    assert solve(game, "nash").joint[1, 1, 1] == 1


@pytest.mark.parametrize("concept", ["nash", "ce", "cce"])
def test_a_profiles_gap_is_the_gap_of_its_joint_play(x64, concept):
    game = games.random(3, 2, 4, seed=2)
    joint = play(game, Hedge(0.3), 7).joint
    profile = CorrelatedProfile(joint, game)
    found = profile.worst_deviation(concept)
    assert found.gain == pytest.approx(float(GAPS[concept](joint, game)), abs=ROUNDING)
    assert profile.gap(concept) == found.gain
    assert profile.check(concept, found.gain)
    assert not profile.check(concept, found.gain / 2)
    assert profile.product.gap("cce") == pytest.approx(float(games.nash_gap(joint, game)))


def test_worst_deviation_really_gains_that(x64):
    game = games.random(3, 4, seed=9)
    profile = CorrelatedProfile(np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4), game)
    player, told, instead, gain = profile.worst_deviation("ce")
    moved = np.moveaxis(profile.joint.copy(), player, 0)
    moved[instead] += moved[told]
    moved[told] = 0
    after = CorrelatedProfile(np.moveaxis(moved, 0, player), game).payoffs[player]
    assert after - profile.payoffs[player] == pytest.approx(gain, abs=ROUNDING)
    assert "instead of" in profile.explain(profile.worst_deviation("ce"))


def test_payoffs_and_marginals_of_three_players():
    game = games.random(2, 3, 2, seed=1)
    rng = np.random.default_rng(0)
    mixed = [rng.dirichlet(np.ones(d)) for d in game.sizes]
    profile = CorrelatedProfile(np.einsum("a,b,c->abc", *mixed), game)
    for found, expected in zip(profile.marginals, mixed, strict=True):
        np.testing.assert_allclose(found, expected, atol=ROUNDING)
    np.testing.assert_allclose(profile.payoffs, np.einsum("nabc,a,b,c->n", game.payoffs, *mixed))
    assert profile.welfare == pytest.approx(profile.payoffs.sum())
    assert profile.product.check("nash", 10.0)
    np.testing.assert_allclose(profile.product.joint, profile.joint, atol=ROUNDING)


def test_a_correlated_profile_is_not_nash_even_without_gains():
    split = CorrelatedProfile([[0, 0.5], [0.5, 0]], games.chicken())
    assert split.check("ce")
    assert not split.check("nash", 0.4)
    coin = CorrelatedProfile([[0.5, 0], [0, 0.5]], games.matching_pennies())
    assert coin.gap("nash") == 0
    assert not coin.check("nash")


def test_the_nearest_equilibrium():
    third = [[1 / 3, 1 / 3], [1 / 3, 0]]
    assert nearest_equilibrium(third, games.chicken(), "ce").distance == pytest.approx(0, abs=EXACT)
    found = nearest_equilibrium(np.full((3, 3), 1 / 9), games.weighted_rps(), "ce")
    expected = np.abs(1 / 9 - np.outer([3, 2, 1], [3, 2, 1]) / 36).sum() / 2
    assert found.distance == pytest.approx(expected, abs=1e-8)
    assert found.profile.check("ce", EXACT)
    joint = play(games.chicken(), Hedge(0.1), 20).joint
    ce, cce = (
        nearest_equilibrium(joint, games.chicken(), concept).distance for concept in ("ce", "cce")
    )
    assert cce <= ce + EXACT


def test_any_equilibrium_is_pure_where_one_is_and_of_most_entropy_uniform_where_it_may():
    """At once, however large the program would be."""
    game = games.random(300, 300, seed=2)
    for concept in ("nash", "ce", "cce"):
        found = solve(game, concept)
        assert found.joint[pure_equilibria(game)[0]] == 1
        assert found.check(concept, 0)
    even = solve(games.coordination(40), "ce", "entropy")
    np.testing.assert_allclose(even.joint, 1 / 1600, rtol=EXACT)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve(games.chicken(), "kant"), 'concept must be "nash", "ce" or "cce"'),
        (lambda: solve(games.chicken(), "ce", "fame"), 'objective must be "any", "welfare"'),
        (
            lambda: solve(games.chicken(), "nash", "entropy"),
            '"entropy" requires concept "ce" or "cce"',
        ),
        (
            lambda: solve(games.random(50, 50), "nash"),
            "pairs of supports, more than the limit of 200,000",
        ),
        (
            lambda: solve(games.random(400, 400), "ce", "welfare"),
            "128,000,000 entries, more than the limit",
        ),
        (lambda: solve(games.random(70, 70), "ce", "entropy"), "allows up to 4,096 joint actions"),
        (
            lambda: solve(games.random(2, 2, 2), "nash"),
            "of 3 players can be computed only if it is pure",
        ),
        (
            lambda: solve(games.random(2, 2, 2, seed=1), "nash", "welfare"),
            'the objective is "any"',
        ),
        (
            lambda: nash_equilibria(games.random(2, 2, 2)),
            "game must have two players, but .* has 3",
        ),
        (lambda: zero_sum_equilibrium(games.chicken()), "payoffs of constant sum, got chicken"),
        (
            lambda: nearest_equilibrium(np.full((2, 2), 0.25), games.chicken(), "nash"),
            'concept must be "ce" or "cce", got \'nash\'',
        ),
        (lambda: nearest_equilibrium(np.full((2, 2), 0.5), games.chicken()), "joint must sum to 1"),
        (
            lambda: CorrelatedProfile(jnp.ones(4) / 4, games.chicken()),
            r"joint must have shape \(2, 2\)",
        ),
        (lambda: CorrelatedProfile([[1, 0], [0, 0]], games.chicken()).gap("me"), "concept must be"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_failed_solve_gives_the_solvers_reason(monkeypatch):
    gave_up = optimize.OptimizeResult(status=4, message="Numerical\n trouble (HiGHS Status 5)")
    with monkeypatch.context() as patch:
        patch.setattr(optimize, "linprog", lambda *a, **k: gave_up)
        with pytest.raises(
            SolverError, match=r"highs-ds at 1e-10: Numerical trouble \(HiGHS Status 5\); hi"
        ):
            solve(games.chicken(), "ce", "welfare")
        slow = optimize.OptimizeResult(status=1, message="Time limit reached.")
        patch.setattr(optimize, "linprog", lambda *a, **k: slow)
        with pytest.raises(
            SolverError, match=r"not solved within 300 seconds; .* \(regrax solve --by\)"
        ):
            solve(games.chicken(), "ce", "welfare")
    row = [[2e-5, 2e-6, 1], [1, 20, 0], [0.02, 0, 100]]
    column = [[0.2, 1e6, 0], [1000, 1000, 0.002], [1e-5, 0.02, 0.2]]
    with pytest.raises(SolverError, match="not certified to 1e-09 in 100 steps: deviations still"):
        solve(games.bimatrix(row, column), "ce", "entropy")


def _solve_fractions(rows):
    """Gauss-Jordan in fractions; None of a singular system."""
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


def _all_vertices(replies):
    n, m = len(replies), len(replies[0])
    for size in range(1, min(n, m) + 1):
        for equal in itertools.combinations(range(n), size):
            for played in itertools.combinations(range(m), size):
                rows = [[*(replies[j][i] for i in played), -1, 0] for j in equal]
                found = _solve_fractions([*rows, [1] * size + [0, 1]])
                if found is None or min(found[:-1]) < 0:
                    continue
                x = [Fraction(0)] * m
                for i, weight in zip(played, found[:-1], strict=True):
                    x[i] = weight
                if max(_worth(replies, x)) == found[-1]:
                    yield tuple(x)


def _worth(own, other):
    return [sum(Fraction(u) * w for u, w in zip(row, other, strict=True)) for row in own]


def _by_brute_force(first, second):
    def replies_best(own, x, y):
        worth = _worth(own, y)
        return all(not weight or worth[i] == max(worth) for i, weight in enumerate(x))

    turned = [list(column) for column in zip(*second, strict=True)]
    pairs = itertools.product(set(_all_vertices(turned)), set(_all_vertices(first)))
    return [p for p in pairs if replies_best(first, *p) and replies_best(turned, *p[::-1])]


def test_degenerate_and_badly_scaled_games_have_the_equilibria_that_fractions_give():
    rng = np.random.default_rng(1)
    for trial in range(60):
        shape = tuple(rng.integers(1, 5, 2))
        first, second = rng.integers(0, rng.integers(2, 4), (2, *shape)).astype(float)
        if trial % 2:
            first *= 10.0 ** rng.integers(-8, 11, shape)
        found = nash_equilibria(Game([first, second]))
        exact = _by_brute_force(first.tolist(), second.tolist())
        assert len(found) == len(exact)
        sides = {tuple(np.concatenate(one.marginals).round(12).tolist()) for one in found}
        assert sides == {tuple(round(float(w), 12) for side in one for w in side) for one in exact}


def test_the_extreme_equilibria_of_a_singular_game_are_four():
    first = np.array([[3, 1, 2, 2], [1, 3, 2, 2], [2, 2, 1, 3], [2, 2, 3, 1]], float)
    found = nash_equilibria(Game([first, 4 - first]))
    assert len(found) == 4
    assert all(float(nash_gap(one.joint, one.game)) <= 1e-15 for one in found)


def test_a_small_difference_beside_a_large_payoff_decides():
    (only,) = nash_equilibria(Game([[[2, 0], [1, 1e10]], [[1, 0], [1, 0]]]))
    assert [side.tolist() for side in only.marginals] == [[1, 0], [1, 0]]


@pytest.mark.parametrize("kind", [Fraction, int])
def test_pure_equilibria_see_what_doubles_cannot(kind):
    game = Game([[[kind(10**17 + 1), 0], [kind(10**17), 0]], [[1, 0], [1, 0]]])
    assert pure_equilibria(game) == [(0, 0)]


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(-7, 10), 10**17 + 1, Fraction(2**70 + 1, 3)]
)
def test_json_keeps_what_doubles_cannot(value):
    game = Game([[[value, 0], [1, 0.5]], [[1, 0], [1, 0]]])
    again = game_from_json(game_to_json(game))
    assert again.exact == game.exact
    assert again == game or np.array_equal(again.payoffs, game.payoffs)


def test_openspiels_distances_are_sums_of_positive_and_of_swap_gaps():
    game = Game([[[0, 1], [3, -1]], [[2, -1], [0, 1]]])
    joint = np.array([[0.1, 0.2], [0.3, 0.4]])
    cce, swap = cce_gap(joint, game, "none"), swap_gap(joint, game, "none")
    assert float(cce_dist(joint, game)) == pytest.approx(sum(max(0, float(g)) for g in cce))
    assert float(ce_dist(joint, game)) == pytest.approx(float(sum(swap)))
