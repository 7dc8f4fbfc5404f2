"""Gaps against brute force over every deviation, and against the regret of play."""

import itertools
from functools import reduce

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.strategies import distributions, numbers

from regrax import games
from regrax.games import Game, joint_play, play, running_gaps
from regrax.learners import BlumMansour, FollowTheLeader, Hedge, RegretMatching, Uniform
from regrax.regret import external_regret, internal_regret, swap_regret

pytestmark = pytest.mark.usefixtures("x64")
ROUNDING = 1e-12
GAPS = ("nash_gap", "cce_gap", "ce_gap", "swap_gap")


def gaps_by_name(joint, game, reduce="max"):
    return {name: np.asarray(getattr(games, name)(joint, game, reduce)) for name in GAPS}


def by_enumeration(joint, payoffs, player):
    """The gaps of one player straight from their definitions, over all maps of its actions."""
    axes = range(joint.ndim)
    product = reduce(np.multiply.outer, [joint.sum(tuple(m for m in axes if m != n)) for n in axes])
    actions = range(joint.shape[player])

    def gain(distribution, sigma):
        return float((distribution * (np.take(payoffs, sigma, axis=player) - payoffs)).sum())

    constant = [(j,) * len(actions) for j in actions]
    single = [tuple(j if i == a else i for i in actions) for a in actions for j in actions]
    every = itertools.product(actions, repeat=len(actions))
    return {
        "nash_gap": max(gain(product, sigma) for sigma in constant),
        "cce_gap": max(gain(joint, sigma) for sigma in constant),
        "ce_gap": max(gain(joint, sigma) for sigma in single),
        "swap_gap": max(gain(joint, sigma) for sigma in every),
    }


@pytest.mark.parametrize("sizes", [(3, 2), (2, 3, 2), (2, 2, 3, 2)])
@given(data=st.data())
def test_gaps_equal_brute_force_over_deviations(sizes, data):
    players = len(sizes)
    payoffs = data.draw(numbers(players, *sizes))
    joint = data.draw(distributions(int(np.prod(sizes)))).reshape(sizes)
    game = Game(payoffs)
    expected = [by_enumeration(joint, payoffs[n], n) for n in range(players)]
    for name, largest in games.joint_gaps(joint, game).items():
        values = [gaps[name] for gaps in expected]
        for array in (joint, jax.numpy.asarray(joint)):
            gaps = getattr(games, name)(array, game, "none")
            np.testing.assert_allclose(gaps, values, rtol=0, atol=1e-10)
        assert float(largest) == pytest.approx(max(values), abs=1e-10)


def test_gaps_reduce_over_players():
    game, joint = games.random(3, 4, seed=2), np.full((3, 4), 1 / 12)
    per_player, largest, total = (gaps_by_name(joint, game, r) for r in ("none", "max", "sum"))
    for name in GAPS:
        assert largest[name] == per_player[name].max()
        assert total[name] == pytest.approx(per_player[name].sum())
    traced = jax.jit(lambda mu: games.joint_gaps(mu, game))(joint)
    assert {name: pytest.approx(float(gap)) for name, gap in largest.items()} == traced
    positive = np.maximum(per_player["cce_gap"], 0).sum()
    assert float(games.cce_dist(joint, game)) == pytest.approx(positive)  # as in OpenSpiel
    assert float(games.ce_dist(joint, game)) == pytest.approx(total["swap_gap"])


def test_only_requested_gaps_are_returned():
    joint = np.full((2, 2), 0.25)
    assert list(games.joint_gaps(joint, "chicken", ["ce_gap"])) == ["ce_gap"]
    assert list(games.joint_gaps(joint, "chicken", ["nash_gap"])) == ["nash_gap"]
    with pytest.raises(ValueError, match=r"names must be among nash_gap, .* got 'gap'"):
        games.joint_gaps(joint, "chicken", ["gap"])


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (Hedge(0.4479), {"cce_gap": 0.09022, "ce_gap": 0.05915, "swap_gap": 0.09022}),
        (BlumMansour(Hedge(0.99436)), {"ce_gap": 0.06172}),
        (BlumMansour(Hedge(3 * 0.447904905)), {"ce_gap": 0.05010}),
        (Uniform(), {"cce_gap": 1 / 9, "ce_gap": 1 / 9, "swap_gap": 1 / 9}),
    ],
)
def test_gaps_of_weighted_rps_after_twenty_rounds(learner, expected):
    game = games.weighted_rps()
    gaps = gaps_by_name(play(game, learner, 20).joint, game)
    for name, value in expected.items():
        assert gaps[name] == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(
    "sizes", [(3, 4), (2, 3, 2), pytest.param((2, 2, 2, 2), marks=pytest.mark.slow)]
)
def test_a_gap_is_regret_per_round(sizes, seed):
    game, rounds = games.random(*sizes, seed=1), 300
    learners = [Hedge(0.2), RegretMatching(), BlumMansour(Hedge(0.5)), FollowTheLeader()]
    key = None if seed is None else jax.random.key(seed)
    path = play(game, learners[: len(sizes)], rounds, key=key)
    regrets = {"cce_gap": external_regret, "ce_gap": internal_regret, "swap_gap": swap_regret}
    for name, regret in regrets.items():
        expected = [float(regret(p, l)) for p, l in zip(path.played, path.losses, strict=True)]
        gaps = getattr(games, name)(path.joint, game, "none")
        np.testing.assert_allclose(gaps, np.array(expected) / rounds, atol=ROUNDING)


@pytest.mark.parametrize("sizes", [(4,), (3, 2, 2)])
@pytest.mark.parametrize("seed", [None, 3])
def test_running_gaps_are_the_gaps_of_every_prefix(sizes, seed):
    game = games.random(*sizes, seed=4)
    path = play(game, Hedge(0.3), 9, key=None if seed is None else jax.random.key(seed))
    running = running_gaps(path, game)
    some = running_gaps(path, game, [9, 4])
    for t in (1, 4, 9):
        prefix = gaps_by_name(joint_play([rows[:t] for rows in path.played]), game)
        for name in GAPS:
            assert float(running[name][t - 1]) == pytest.approx(float(prefix[name]), abs=ROUNDING)
            np.testing.assert_allclose(some[name], running[name][[8, 3]], atol=ROUNDING)
