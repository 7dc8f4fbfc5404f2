"""Verdicts: right on known cases, and no more false alarms than claimed."""

import json
from functools import partial

import jax
import numpy as np
import pytest
from benchmarks.verdicts import (
    ARMS,
    OPPONENTS,
    bad_first_round,
    bandit,
    biased as lopsided,
    circling,
    constant,
    hedge as hedging,
    last_best,
    shares,
    simulate,
    sticky as repeating,
    uniform as random_play,
    verdicts,
)

from regrax import FollowTheLeader, Hedge, rollout
from regrax.agents.audit import audit_log
from regrax.agents.audit.verdict import (
    Bins,
    block_length,
    judge,
    published_tests,
    regression,
    score,
)

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def biased(rng, n, T, d=3, gap=0.3):
    chance = np.full(d, 0.6)
    chance[0] -= gap
    return (rng.random((n, T, d)) < chance).astype(float)


def alternating(n, T):
    losses = np.zeros((n, T, 2))
    losses[:, 0, 0], losses[:, 1::2, 1], losses[:, 2::2, 0] = 0.5, 1, 1
    return losses


def rolled(learner, losses):
    return np.asarray(jax.vmap(partial(rollout, learner))(losses), float)


def hedge(losses):
    T, d = losses.shape[1:]
    return rolled(Hedge(float((8 * np.log(d) / T) ** 0.5)), losses)


def uniform(losses):
    return np.full_like(losses, 1 / losses.shape[2])


def stubborn(losses):
    return np.broadcast_to(np.eye(losses.shape[2])[-1], losses.shape).copy()


def verdict(played, losses, seed=0):
    bins = Bins((played * losses).sum(2), played, losses, 1)
    span = float(np.ptp(losses, axis=2).mean())
    return judge((bins,), (score(bins),), span, seed=seed, curves=0)


@pytest.mark.parametrize("episodes", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_verdicts_on_known_cases(episodes):
    rng = np.random.default_rng(0)
    losses = biased(rng, episodes, 400)
    assert verdict(hedge(losses), losses).verdict == "learning"
    assert verdict(uniform(losses), losses).verdict == "not learning"
    assert verdict(stubborn(losses), losses).verdict == "not learning"
    assert verdict(losses == losses.min(), losses).verdict in ("not learning", "no regret")
    turns = alternating(episodes, 401)
    assert verdict(rolled(FollowTheLeader(), turns), turns).verdict == "not learning"
    assert verdict(hedge(turns), turns).verdict == "no regret"


NEVER_MOVES = (random_play, lopsided, constant, circling, bad_first_round)
FEEDBACK = ("policy", "drawn", "bandit")


@pytest.mark.parametrize("feedback", FEEDBACK)
@pytest.mark.parametrize("order", ARMS)
def test_regret_is_against_each_episodes_own_best_action(order, feedback):
    """Best arms differ between episodes: no fixed action beats random play, but each episode's own does."""
    for player in NEVER_MOVES:
        found = shares(verdicts(player, order, feedback, 100, 6))
        assert found["not learning"] == 1, (player, found)
    assert shares(verdicts(hedging, order, feedback, 100, 6))["learning"] == 1


@pytest.mark.parametrize("opponent", OPPONENTS)
@pytest.mark.parametrize("player", [*NEVER_MOVES, repeating])
def test_reacting_opponents_cause_no_false_alarms(player, opponent):
    few, many = (shares(verdicts(player, opponent, "drawn", episodes, 60)) for episodes in (6, 30))
    for found in (few, many):
        assert found["learning"] <= 0.1, found  # 5 % and room for 60 logs
        assert found["moves"] <= 0.1, found
    assert many["not learning"] + many["no regret"] >= few["not learning"] + few["no regret"] - 0.1


@pytest.mark.parametrize("opponent", OPPONENTS[:3])
def test_lasting_regret_against_an_exploitable_opponent(opponent):
    """Random play against an opponent that follows it has large regret that lasts, and the words say so."""
    found = verdicts(random_play, opponent, "drawn", 30, 40)
    assert shares(found)["not learning"] >= 0.95
    lasting = ["regret remains large, at least 0." in learning.words for learning in found]
    assert sum(lasting) >= 38


def test_a_learner_in_self_play_is_not_called_not_learning():
    found = shares(verdicts(hedging, hedging, "drawn", 30, 60))
    assert found["not learning"] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("world", [*ARMS, *OPPONENTS])
@pytest.mark.parametrize("feedback", ["policy", "drawn"])
def test_more_episodes_do_not_make_verdicts_worse(world, feedback):
    for player in (*NEVER_MOVES, repeating, hedging):
        rows = [
            shares(verdicts(player, world, feedback, episodes, 300)) for episodes in (6, 12, 30)
        ]
        if player is hedging:
            right = [1 - found["not learning"] for found in rows]
        else:
            right = [1 - found["learning"] for found in rows]
            assert min(right) >= 0.94, (player, rows)
        lasting = [found["not learning"] for found in rows]
        for values in (right, lasting if player is not hedging else right):
            assert np.all(np.diff(values) >= -0.05), (player, rows)


def test_actions_never_tried_rule_out_no_regret():
    for order in ARMS:
        found = bandit(simulate(np.random.default_rng(0), constant, order, 100, 0.0))
        assert found.verdict == "cannot tell"
        assert "played too rarely for a comparison" in found.words


def test_words_and_numbers_of_a_verdict_agree():
    losses = biased(np.random.default_rng(0), 12, 400)
    found = verdict(hedge(losses), losses)
    assert found.words.startswith("learning: regret falls, 0.")
    assert found.p_value == max(found.regret_falls, found.play_moves) <= 0.05
    assert found.early > found.late
    assert found.null == "Student's t over episodes"
    assert 0 < found.exponent < 1


def test_losses_that_favour_no_action_cannot_tell():
    rng = np.random.default_rng(3)
    losses = rng.random((1, 300, 3))
    assert verdict(uniform(losses), losses).verdict == "cannot tell"


def test_losses_that_vanish_for_all_are_not_learning():
    losses = biased(np.random.default_rng(1), 12, 200) * (np.arange(200) < 60)[None, :, None]
    found = verdict(uniform(losses), losses)
    assert found.regret_falls <= 0.05 < found.play_moves
    assert found.verdict != "learning"


def test_too_few_rounds_cannot_tell():
    losses = np.random.default_rng(0).random((1, 7, 2))
    assert "8 rounds are needed, got 7" in verdict(uniform(losses), losses).words


def test_published_tests_match_a_calculation_by_hand():
    t = np.arange(1.0, 6.0)
    curve = np.array([[1.0, 1.5, 2.4, 2.0, 3.0]])  # R_t / t: 1, .75, .8, .5, .6, two falls in four
    p = published_tests(curve, t)
    assert p["trend"][0] == pytest.approx(11 / 16)
    slope = np.polyfit(np.log(t), np.log(curve[0]), 1)[0]
    assert regression(curve, t)[0][0] == pytest.approx(slope)
    assert p["mann_kendall"][0] == pytest.approx(
        0.1103, abs=5e-4
    )  # S = -6, variance 50/3, z = -5/4.08


def test_regression_leaves_out_rounds_without_regret():
    t = np.arange(1.0, 11.0)
    slope, p, left_out = regression(np.stack([np.where(t < 4, -1.0, t), -t]), t)
    assert slope.tolist() == pytest.approx([1, 1])
    assert left_out.tolist() == [3, 10]
    assert p[1] == 1


def test_blocks_are_as_long_as_correlations():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=400)
    slow = np.zeros(400)
    for t in range(1, 400):
        slow[t] = 0.7 * slow[t - 1] + noise[t]
    assert block_length(noise[None]) == 1
    assert 4 <= block_length(slow[None]) <= 8


def test_a_long_episode_is_also_judged_by_its_start(tmp_path):
    rng = np.random.default_rng(0)
    losses = biased(rng, 1, 4000)
    played = hedge(losses[:, :200])
    played = np.concatenate([played, np.broadcast_to(np.eye(3)[0], (1, 3800, 3))], 1)
    path = tmp_path / "log.jsonl"
    rounds = zip(played[0].tolist(), losses[0].tolist(), strict=True)
    rows = [json.dumps({"policy": policy, "losses": loss}) for policy, loss in rounds]
    path.write_text("\n".join(rows))
    learning = audit_log(path).agents[0].learning
    assert learning.verdict == "learning"
    assert set(learning.tests) == {"trend", "regression", "mann_kendall"}


@pytest.mark.slow
@pytest.mark.parametrize(("episodes", "logs"), [(1, 150), (3, 150), (12, 400)])
@pytest.mark.parametrize("player", [*NEVER_MOVES, repeating, last_best])
def test_false_alarms_stay_below_the_level(player, episodes, logs):
    alarms = shares(verdicts(player, "fixed", "drawn", episodes, logs))["learning"]
    assert alarms <= 0.05 + 3 * (0.05 * 0.95 / logs) ** 0.5


@pytest.mark.slow
def test_plain_regression_has_many_false_alarms():
    rng = np.random.default_rng(0)
    t = np.arange(1.0, 101.0)
    curves = np.cumsum(0.3 + rng.normal(size=(2000, 100)), 1)
    assert 0.3 < np.mean(regression(curves, t)[1] <= 0.05) < 0.7
