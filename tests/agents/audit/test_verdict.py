"""Verdicts: right on known cases, and no more false alarms than claimed."""

from functools import partial

import jax
import numpy as np
import pytest
from benchmarks import verdicts as players
from benchmarks.verdicts import ARMS, OPPONENTS, shares, verdicts
from tests.agents.audit.rows import rows_of

from regrax import FollowTheLeader, Hedge, rollout
from regrax.agents.audit import audit_log
from regrax.agents.audit.verdict import Bins, judge, published_tests, regression, score


def biased(rng, n, T, d=3, gap=0.3):
    chance = np.full(d, 0.6)
    chance[0] -= gap
    return (rng.random((n, T, d)) < chance).astype(float)


def rolled(learner, losses):
    return np.asarray(jax.vmap(partial(rollout, learner))(losses), float)


def hedge(losses):
    T, d = losses.shape[1:]
    return rolled(Hedge(float((8 * np.log(d) / T) ** 0.5)), losses)


def verdict(played, losses, seed=0):
    bins = Bins((played * losses).sum(2), played, losses, 1)
    span = float(np.ptp(losses, axis=2).mean())
    return judge((bins,), (score(bins),), span, seed=seed, curves=0)


@pytest.mark.parametrize("episodes", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_verdicts_on_known_cases(episodes):
    rng = np.random.default_rng(0)
    losses = biased(rng, episodes, 400)
    uniform = np.full_like(losses, 1 / 3)
    stubborn = np.broadcast_to(np.eye(3)[2], losses.shape)
    assert verdict(hedge(losses), losses).verdict == "learning"
    assert verdict(uniform, losses).verdict == "not learning"
    assert verdict(stubborn, losses).verdict == "not learning"
    assert verdict(losses == losses.min(), losses).verdict in ("not learning", "no regret")
    turns = np.zeros((episodes, 401, 2))
    turns[:, 0, 0], turns[:, 1::2, 1], turns[:, 2::2, 0] = 0.5, 1, 1
    assert verdict(rolled(FollowTheLeader(), turns), turns).verdict == "not learning"
    assert verdict(hedge(turns), turns).verdict == "no regret"


NEVER_MOVES = [players.uniform, players.biased, players.constant, players.circling]
NEVER_MOVES += [players.bad_first_round]


@pytest.mark.parametrize("feedback", ["policy", "drawn", "bandit"])
@pytest.mark.parametrize("order", ARMS)
def test_regret_is_against_each_episodes_own_best_action(order, feedback):
    """Best arms differ between episodes: no fixed action beats random play, but each episode's own does."""
    for player in NEVER_MOVES:
        result = shares(verdicts(player, order, feedback, 100, 6))
        assert result["not learning"] == 1, (player, result)
    assert shares(verdicts(players.hedge, order, feedback, 100, 6))["learning"] == 1


@pytest.mark.parametrize("opponent", OPPONENTS)
@pytest.mark.parametrize("player", [*NEVER_MOVES, players.sticky])
def test_reacting_opponents_cause_no_false_alarms(player, opponent):
    few, many = (shares(verdicts(player, opponent, "drawn", episodes, 60)) for episodes in (6, 30))
    for result in (few, many):
        assert result["learning"] <= 0.1, result  # 5 % and room for 60 logs
        assert result["moves"] <= 0.1, result
    assert many["not learning"] + many["no regret"] >= few["not learning"] + few["no regret"] - 0.1


@pytest.mark.parametrize("opponent", OPPONENTS[:3])
def test_lasting_regret_against_an_exploitable_opponent(opponent):
    """Random play against an opponent that follows it has large regret that lasts, and the words say so."""
    result = verdicts(players.uniform, opponent, "drawn", 30, 40)
    assert shares(result)["not learning"] >= 0.95
    lasting = ["regret remains large, at least 0." in learning.words for learning in result]
    assert sum(lasting) >= 38


def test_a_learner_in_self_play_is_not_called_not_learning():
    result = shares(verdicts(players.hedge, players.hedge, "drawn", 30, 60))
    assert result["not learning"] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("world", [*ARMS, *OPPONENTS])
@pytest.mark.parametrize("feedback", ["policy", "drawn"])
def test_more_episodes_do_not_make_verdicts_worse(world, feedback):
    for player in (*NEVER_MOVES, players.sticky, players.hedge):
        rows = [shares(verdicts(player, world, feedback, count, 300)) for count in (6, 12, 30)]
        if player is players.hedge:
            right = [1 - result["not learning"] for result in rows]
        else:
            right = [1 - result["learning"] for result in rows]
            assert min(right) >= 0.94, (player, rows)
        lasting = [result["not learning"] for result in rows]
        for values in (right, lasting if player is not players.hedge else right):
            assert np.all(np.diff(values) >= -0.05), (player, rows)


def test_actions_never_tried_rule_out_no_regret():
    for order in ARMS:
        rng = np.random.default_rng(0)
        result = players.bandit(players.simulate(rng, players.constant, order, 100, 0.0))
        assert result.verdict == "cannot tell"
        assert "played too rarely for a comparison" in result.words


def test_words_and_numbers_of_a_verdict_agree():
    losses = biased(np.random.default_rng(0), 12, 400)
    result = verdict(hedge(losses), losses)
    assert result.words.startswith("learning: regret falls, 0.")
    assert result.p_value == max(result.regret_falls, result.play_moves) <= 0.05
    assert result.early > result.late
    assert result.null == "Student's t over episodes"
    assert 0 < result.exponent < 1


def test_losses_that_favour_no_action_cannot_tell():
    losses = np.random.default_rng(3).random((1, 300, 3))
    assert verdict(np.full_like(losses, 1 / 3), losses).verdict == "cannot tell"
    few = verdict(np.full_like(losses[:, :7], 1 / 3), losses[:, :7])
    assert "8 rounds are needed, got 7" in few.words


def test_losses_that_vanish_for_all_are_not_learning():
    losses = biased(np.random.default_rng(1), 12, 200) * (np.arange(200) < 60)[None, :, None]
    result = verdict(np.full_like(losses, 1 / 3), losses)
    assert result.regret_falls <= 0.05 < result.play_moves
    assert result.verdict != "learning"


def test_published_tests_match_a_calculation_by_hand():
    t = np.arange(1.0, 6.0)
    curve = np.array([[1.0, 1.5, 2.4, 2.0, 3.0]])  # R_t / t: 1, .75, .8, .5, .6, two falls in four
    p = published_tests(curve, t)
    assert p["trend"][0] == pytest.approx(11 / 16)
    slope = np.polyfit(np.log(t), np.log(curve[0]), 1)[0]
    assert regression(curve[0], t)[0] == pytest.approx(slope)
    by_hand = 0.1103  # S = -6, variance 50/3, z = -5/4.08
    assert p["mann_kendall"][0] == pytest.approx(by_hand, abs=5e-4)


def test_regression_leaves_out_rounds_without_regret():
    t = np.arange(1.0, 11.0)
    assert regression(np.where(t < 4, -1.0, t), t) == pytest.approx((1, 0.5, 3), rel=1e-5)
    assert regression(-t, t) == (1, 1, 10)


def test_a_long_episode_is_also_judged_by_its_start(write):
    losses = biased(np.random.default_rng(0), 1, 4000)
    policy = np.broadcast_to(np.eye(3)[0], losses.shape).copy()
    policy[:, :200] = hedge(losses[:, :200])
    learning = audit_log(write(rows_of(policy=policy, losses=losses))).agents[0].learning
    assert learning.verdict == "learning"
    assert set(learning.tests) == {"trend", "regression", "mann_kendall"}


@pytest.mark.slow
@pytest.mark.parametrize(("episodes", "logs"), [(1, 150), (3, 150), (12, 400)])
@pytest.mark.parametrize("player", [*NEVER_MOVES, players.sticky, players.last_best])
def test_false_alarms_stay_below_the_level(player, episodes, logs):
    alarms = shares(verdicts(player, "fixed", "drawn", episodes, logs))["learning"]
    assert alarms <= 0.05 + 3 * (0.05 * 0.95 / logs) ** 0.5
