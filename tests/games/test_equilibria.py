"""Equilibria of every concept: hand-checkable cases, brute-force oracles, and properties of every answer."""

import itertools

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
    nash_equilibria,
    nearest_equilibrium,
    pure_equilibria,
    solve,
    zero_sum_equilibrium,
)
from regrax.specs import parse_game

ROUNDING = 1e-12
EXACT = 1e-9  # the accuracy of linear programs and certificates, for payoffs of range one
GAPS = {"nash": games.nash_gap, "ce": games.ce_gap, "cce": games.cce_gap}
COIN = np.full((2, 2), 0.25)
BEST_FOR_ALL = games.random_coordination(2, 2, 2).equilibria[0].joint((2, 2, 2))
SMALL_GAMES = [
    "chicken",
    "prisoners-dilemma",
    "weighted-rps",
    "shapley",
    "random(3, 4, seed=1)",
    "random(2, 3, 2, seed=2)",
    "random-zero-sum(5, 4, seed=3)",
    "random(4, seed=4)",
    "coordination(3)",
    "bertrand(highest=3)",
]


def entropy(joint):
    p = np.ravel(joint)
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def incentives(game, concept):
    """A row per deviation, a column per joint action, straight from the definition."""
    rows = []
    for n, size in enumerate(game.sizes):
        recommended = np.indices(game.sizes)[n]
        for j in range(size):
            gains = np.take(game.payoffs[n], [j], axis=n) - game.payoffs[n]
            if concept == "cce":
                rows.append(gains.ravel())
            else:
                rows += [(gains * (recommended == i)).ravel() for i in range(size) if i != j]
    return np.array(rows)


@pytest.mark.parametrize("spec", SMALL_GAMES)
@pytest.mark.parametrize("concept", ["ce", "cce"])
def test_solutions_are_equilibria_and_best_by_their_objective(spec, concept):
    game = parse_game(spec)
    values = {
        "any": lambda profile: 0.0,
        "welfare": lambda profile: profile.welfare,
        "minimum": lambda profile: profile.payoffs.min(),
        "entropy": lambda profile: entropy(profile.joint),
    }
    profiles = {objective: solve(game, concept, objective) for objective in values}
    for objective, value in values.items():
        assert profiles[objective].check(concept, EXACT * float(np.ptp(game.payoffs)))
        assert value(profiles[objective]) >= max(map(value, profiles.values())) - 1e-8


def vertices(gains, size):
    """Every vertex of {mu >= 0, sum mu = 1, gains mu <= 0}, from all choices of tight constraints."""
    rows = np.concatenate([gains, -np.eye(size)])
    corners = []
    for tight in itertools.combinations(range(len(rows)), size - 1):
        system = np.concatenate([rows[list(tight)], np.ones((1, size))])
        if abs(np.linalg.det(system)) > 1e-9:
            mu = np.linalg.solve(system, np.append(np.zeros(size - 1), 1.0))
            if (rows @ mu).max() < 1e-9:
                corners.append(mu)
    return np.array(corners)


def distance_to_hull(p, corners):
    """Total variation to the convex hull of points, by an independent program over their weights."""
    k, size = corners.shape
    cost = np.repeat([0, 1], [k, size])
    bound = np.block([[corners.T, -np.eye(size)], [-corners.T, -np.eye(size)]])
    return optimize.linprog(cost, bound, np.append(p, -p), 1 - cost[None], [1.0]).fun / 2


@pytest.mark.parametrize("concept", ["ce", "cce"])
@settings(max_examples=12)
@given(payoffs=numbers(2, 2, 2), joint=distributions(4))
def test_linear_objectives_equal_the_best_vertex(concept, payoffs, joint):
    game, scale = Game(payoffs), max(1.0, np.abs(payoffs).max())
    corners = vertices(incentives(game, concept) / scale, 4)
    assert len(corners)
    welfare = (corners @ payoffs.sum(0).ravel()).max()
    assert solve(game, concept, "welfare").welfare == pytest.approx(welfare, abs=1e-8 * scale)
    # the max-min payoff is the value of a game of corners against players
    paid = corners @ payoffs.reshape(2, -1).T
    lowest = zero_sum_equilibrium(games.zero_sum(paid)).payoffs[0]
    minimum = solve(game, concept, "minimum").payoffs.min()
    assert minimum == pytest.approx(lowest, abs=1e-8 * scale)
    distance = nearest_equilibrium(joint.reshape(2, 2), game, concept).distance
    assert distance == pytest.approx(distance_to_hull(joint, corners), abs=1e-7)


@pytest.mark.parametrize("concept", ["ce", "cce"])
@pytest.mark.parametrize(
    "game", [games.chicken(), games.random(2, 3, seed=4), games.random(2, 2, 2, seed=3)], ids=str
)
def test_entropy_equals_a_general_purpose_optimiser(game, concept):
    gains = incentives(game, concept)
    size = gains.shape[1]
    result = optimize.minimize(
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
    assert result.success
    assert entropy(solve(game, concept, "entropy").joint) == pytest.approx(-result.fun, abs=1e-6)


@pytest.mark.parametrize(
    ("game", "concept", "objective", "joint"),
    [
        # with a on (swerve, swerve) and b on each split, nobody told to swerve dares if a <= 2b
        ("chicken", "ce", "welfare", [[0.5, 0.25], [0.25, 0]]),
        ("chicken", "nash", "welfare", np.outer([2, 1], [2, 1]) / 9),
        ("chicken", "nash", [[0, 0], [0, 1]], np.outer([2, 1], [2, 1]) / 9),
        ("prisoners-dilemma", "ce", "any", [[0, 0], [0, 1]]),
        ("prisoners-dilemma", "cce", "any", [[0, 0], [0, 1]]),
        ("weighted-rps", "nash", "any", np.outer([3, 2, 1], [3, 2, 1]) / 36),
        ("shapley", "nash", "any", np.full((3, 3), 1 / 9)),
        ("shapley", "ce", "welfare", (games.shapley().payoffs.sum(0) > 0) / 6),
        ("coordination(40)", "ce", "entropy", np.full((40, 40), 1 / 1600)),
        (Game([[1.0, 5.0, 2.0]]), "nash", "any", [0, 1, 0]),
        (Game([[1.0, 5.0, 2.0]]), "ce", [1, 0, 0], [0, 1, 0]),
        (Game(np.ones((2, 1, 1))), "ce", "entropy", [[1]]),
        (Game(np.ones((2, 1, 1))), "cce", "welfare", [[1]]),
        ("random-coordination(2, 2, 2)", "nash", "any", BEST_FOR_ALL),
    ],
)
def test_equilibria_known_by_hand(game, concept, objective, joint):
    np.testing.assert_allclose(solve(game, concept, objective).joint, joint, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_the_unit_of_payoffs_does_not_matter(scale):
    game = games.chicken()
    moved = Game(game.payoffs * scale + 3 * scale)
    for concept, objective in itertools.product(("ce", "cce"), ("welfare", "minimum", "entropy")):
        expected = solve(game, concept, objective).joint
        np.testing.assert_allclose(solve(moved, concept, objective).joint, expected, atol=1e-6)
    assert len(nash_equilibria(moved)) == 3


def test_any_equilibrium_of_a_large_game_is_pure_if_possible():
    game = games.random(300, 300, seed=2)
    for concept in ("nash", "ce", "cce"):
        profile = solve(game, concept)
        assert profile.joint[pure_equilibria(game)[0]] == 1
        assert profile.check(concept, 0)


@pytest.mark.parametrize("concept", ["nash", "ce", "cce"])
def test_the_worst_deviation_gains_the_gap(concept):
    game = games.random(3, 2, 4, seed=2)
    joint = np.random.default_rng(1).dirichlet(np.ones(24)).reshape(3, 2, 4)
    profile = CorrelatedProfile(joint, game)
    tested = profile.product if concept == "nash" else profile
    player, recommended, instead, gain = profile.worst_deviation(concept)
    assert gain == profile.gap(concept) == pytest.approx(GAPS[concept](joint, game), abs=ROUNDING)
    assert tested.check(concept, gain + ROUNDING)
    assert not tested.check(concept, gain / 2)
    actions = np.arange(game.sizes[player])
    replaced = np.isin(actions, actions if recommended is None else recommended)
    rows = np.moveaxis(game.payoffs, player + 1, 1)
    moved = np.where(replaced[:, None, None], rows[:, [instead]], rows)
    after = (np.moveaxis(tested.joint, player, 0) * moved[player]).sum()
    assert after - tested.payoffs[player] == pytest.approx(gain, abs=ROUNDING)


def test_a_correlated_profile_is_not_nash():
    split = CorrelatedProfile([[0, 0.5], [0.5, 0]], games.chicken())
    assert split.check("ce")
    assert not split.check("nash", 0.4)
    coin = CorrelatedProfile([[0.5, 0], [0, 0.5]], games.matching_pennies())
    assert coin.gap("nash") == 0
    assert not coin.check("nash")


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve("chicken", "kant"), "concept must be one of nash, ce, cce, got 'kant'"),
        (lambda: solve("chicken", "ce", "fame"), 'objective must be "any", "welfare", .* \'fame\''),
        (lambda: solve("chicken", "ce", [1, 2]), r"objective must have shape \(2, 2\)"),
        (lambda: solve("chicken", "nash", "entropy"), '"entropy" requires concept "ce" or "cce"'),
        (lambda: solve("random(50, 50)", "nash"), "supports, more than the limit of 200,000"),
        (lambda: solve("random(400, 400)", "ce", "welfare"), "128,000,000 entries, more than"),
        (lambda: solve("random(70, 70)", "ce", "entropy"), "up to 4,096 joint actions"),
        (lambda: solve("random(2, 2, 2)", "nash"), "with 3 players, a Nash equilibrium can be"),
        (lambda: solve("random(2, 2, 2, seed=1)", "nash", "welfare"), 'the objective is "any"'),
        (lambda: nash_equilibria("random(2, 2, 2)"), "must have two players, but .* has 3"),
        (lambda: zero_sum_equilibrium("chicken"), "payoffs with a constant sum, got chicken"),
        (lambda: nearest_equilibrium(COIN, "chicken", "nash"), "must be one of ce, cce"),
        (lambda: nearest_equilibrium(2 * COIN, "chicken"), "joint must sum to 1"),
        (lambda: CorrelatedProfile(jnp.ones(4) / 4, "chicken"), r"joint must have shape \(2, 2\)"),
        (lambda: CorrelatedProfile([[1, 0], [0, 0]], "chicken").gap("me"), "concept must be"),
    ],
)
def test_bad_input_is_reported_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        (4, "Numerical\n trouble (HiGHS 5)", r"highs-ds at 1e-10: Numerical trouble \(HiGHS 5\)"),
        (1, "Time limit reached.", r"not solved within 300 seconds; .* \(regrax solve --by\)"),
    ],
)
def test_a_failed_program_reports_the_reason(monkeypatch, status, reason, message):
    result = optimize.OptimizeResult(status=status, message=reason)
    monkeypatch.setattr(optimize, "linprog", lambda *a, **k: result)
    with pytest.raises(SolverError, match=message):
        solve(games.chicken(), "ce", "welfare")


def test_entropy_that_cannot_be_certified_is_an_error():
    row = [[2e-5, 2e-6, 1], [1, 20, 0], [0.02, 0, 100]]
    column = [[0.2, 1e6, 0], [1000, 1000, 0.002], [1e-5, 0.02, 0.2]]
    with pytest.raises(SolverError, match="not certified to 1e-09 in 100 steps: deviations still"):
        solve(games.bimatrix(row, column), "ce", "entropy")
