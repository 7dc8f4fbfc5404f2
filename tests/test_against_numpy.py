"""The public API against plain numpy loops: small cases, drawn ones by their distribution."""

import json
from functools import reduce

import jax
import numpy as np
import pytest

import regrax as rx
from regrax.agents.audit import audit_log

ROUNDING = 1e-12
WEIGHTED_RPS = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]]) / 3


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def hedge(step):
    return lambda losses: softmax(-step * losses.sum(0))


def regret_matching(losses):
    regrets = np.zeros(losses.shape[1])
    for loss in losses:
        regrets += proportional(regrets) @ loss - loss
    return proportional(regrets)


def proportional(regrets):
    positive = np.maximum(regrets, 0)
    if positive.sum() == 0:
        return np.full(len(regrets), 1 / len(regrets))
    return positive / positive.sum()


def play_by_hand(payoffs, rules, rounds):
    """Every player's policies and losses; a rule maps the losses seen so far to a policy."""
    sizes = payoffs.shape[1:]
    policies = [np.zeros((rounds, size)) for size in sizes]
    losses = [np.zeros((rounds, size)) for size in sizes]
    for t in range(rounds):
        for n, rule in enumerate(rules):
            policies[n][t] = rule(losses[n][:t])
        for n in range(len(sizes)):
            against = -payoffs[n]
            for m in reversed(range(len(sizes))):
                if m != n:
                    against = np.tensordot(against, policies[m][t], (m, 0))
            losses[n][t] = against
    return policies, losses


def regrets_by_hand(policies, losses):
    matrix = np.einsum("ti,tj->ij", policies, losses)
    own = np.diag(matrix)
    return {
        "external": own.sum() - losses.sum(0).min(),
        "internal": (own[:, None] - matrix).max(),
        "swap": (own - matrix.min(1)).sum(),
    }


GAMES = {
    "two players": (np.stack([WEIGHTED_RPS, -WEIGHTED_RPS]), 2),
    "other sizes": (np.random.default_rng(1).normal(size=(2, 2, 4)), 2),
    "three players": (np.random.default_rng(2).normal(size=(3, 2, 3, 2)), 3),
}


@pytest.mark.parametrize("name", GAMES)
def test_play_is_the_loop_over_rounds(x64, name):
    payoffs, players = GAMES[name]
    learners = [rx.Hedge(0.4), rx.RegretMatching(), rx.Hedge(0.9)][:players]
    rules = [hedge(0.4), regret_matching, hedge(0.9)][:players]
    policies, losses = play_by_hand(payoffs, rules, 25)
    played = rx.play(rx.Game(payoffs), learners, 25)
    joint = sum(reduce(np.multiply.outer, [rows[t] for rows in policies]) for t in range(25))
    for n in range(players):
        np.testing.assert_allclose(played.policies[n], policies[n], atol=ROUNDING)
        np.testing.assert_allclose(played.losses[n], losses[n], atol=ROUNDING)
    np.testing.assert_allclose(played.joint, joint / 25, atol=ROUNDING)


def test_rollout_is_the_loop_over_rounds(x64):
    losses = np.random.default_rng(0).normal(size=(30, 4))
    for learner, rule in ((rx.Hedge(0.3), hedge(0.3)), (rx.RegretMatching(), regret_matching)):
        expected = [rule(losses[:t]) for t in range(30)]
        np.testing.assert_allclose(rx.rollout(learner, losses), expected, atol=ROUNDING)


def test_more_rounds_do_not_change_earlier_ones():
    few, many = (rx.play("shapley", "hedge(0.3)", rounds, start="random") for rounds in (20, 9000))
    np.testing.assert_array_equal(few.policies[0], many.policies[0][:20])
    np.testing.assert_array_equal(few.losses[1], many.losses[1][:20])
    losses = np.random.default_rng(0).random((9000, 3))
    whole = rx.rollout("hedge(0.1)", losses)
    np.testing.assert_array_equal(rx.rollout("hedge(0.1)", losses[:20]), whole[:20])


@pytest.mark.parametrize("learner", ["hedge(0.3)", "regret_matching_plus()"])
def test_symmetric_game_and_equal_learners_give_equal_bits(learner):
    start = [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]]
    for game in (rx.games.rock_paper_scissors(), rx.games.symmetric(WEIGHTED_RPS)):
        played = rx.play(game, learner, 2000, start=start)
        np.testing.assert_array_equal(played.policies[0], played.policies[1])
        np.testing.assert_array_equal(played.losses[0], played.losses[1])


def test_a_tournament_is_a_loop_over_pairs(x64):
    payoffs = np.random.default_rng(4).random((2, 3, 3))
    scaled = payoffs - payoffs.max((1, 2), keepdims=True)
    scaled /= np.ptp(payoffs.reshape(2, -1), axis=1).reshape(2, 1, 1)
    rules = [hedge(0.5), regret_matching, lambda losses: np.full(3, 1 / 3)]
    names = ["hedge(0.5)", "regret_matching()", "uniform()"]
    result = rx.round_robin(names, {"mine": rx.Game(payoffs)}, 40, start="own")
    for i, mine in enumerate(rules):
        for j, other in enumerate(rules):
            seats = [play_by_hand(scaled, pair, 40) for pair in ((mine, other), (other, mine))]
            regrets = [
                regrets_by_hand(seats[n][0][n], seats[n][1][n])["external"] / 40 for n in range(2)
            ]
            assert result.values["regret"][0, i, j, 0] == pytest.approx(np.mean(regrets), abs=1e-9)


def test_an_audit_is_the_mean_over_episodes(tmp_path, x64):
    rng = np.random.default_rng(5)
    policies, losses = rng.dirichlet(np.ones(3), (6, 20)), rng.random((6, 20, 3))
    rows = [
        {
            "episode": e,
            "round": t,
            "policy": policies[e, t].tolist(),
            "losses": losses[e, t].tolist(),
        }
        for e in range(6)
        for t in range(20)
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)))
    (agent,) = audit_log(log).agents
    parts = [regrets_by_hand(policies[e], losses[e]) for e in range(6)]
    for kind in ("external", "internal", "swap"):
        expected = np.mean([part[kind] for part in parts])
        assert agent.regret[kind].total == pytest.approx(expected)


def exp3_by_hand(losses, step, rng):
    """The policies of one run of Exp3."""
    estimate = np.zeros(losses.shape[1])
    policies = np.zeros_like(losses)
    for t, loss in enumerate(losses):
        policies[t] = softmax(-step * estimate)
        action = rng.choice(len(loss), p=policies[t])
        estimate[action] += loss[action] / policies[t, action]
    return policies


def test_a_bandit_has_the_distribution_of_its_loop():
    losses = np.random.default_rng(6).random((40, 3)) * np.array([0.3, 1.0, 0.8])
    rng = np.random.default_rng(7)
    by_hand = [exp3_by_hand(losses, 0.2, rng)[-1, 0] for _ in range(600)]
    keys = jax.random.split(jax.random.key(0), 600)
    ours = jax.vmap(lambda key: rx.rollout(rx.Exp3(0.2), losses, key=key)[-1, 0])(keys)
    spread = np.sqrt((np.var(by_hand) + np.var(ours)) / 600)
    assert abs(np.mean(by_hand) - np.mean(ours)) < 4.5 * spread
