"""Regret from received losses alone: unbiased, and intervals that cover as often as they say."""

import json

import numpy as np
import pytest

from regrax.audit import audit_log
from regrax.audit._bandit import Weighted, against_interval, regret_interval

pytestmark = pytest.mark.usefixtures("as_users_run_it")
TRIALS, ROUNDS = 1000, 1000


def simulate(rng, adaptive):
    """Fixed losses, and an agent that draws; gives rounds, and true regret against every action."""
    t = np.arange(ROUNDS)
    losses = (
        0.5
        + 0.3 * np.stack([np.sin(t / 40), np.cos(t / 25), np.sin(t / 60 + 1)], 1)
        + [0, 0.1, -0.05]
    )
    policy = np.tile([0.5, 0.3, 0.2], (ROUNDS, 1))
    if adaptive:  # drifts between two mixtures, never below a tenth
        share = (t / ROUNDS)[:, None]
        policy = (1 - share) * [0.6, 0.3, 0.1] + share * [0.2, 0.2, 0.6]
    action = (rng.random((ROUNDS, 1)) > policy.cumsum(1)).sum(1).clip(0, 2)
    loss, chance = losses[t, action], policy[t, action]
    return (action[None], loss[None], chance[None]), loss.sum() - losses.sum(0)


@pytest.mark.parametrize("adaptive", [False, True])
def test_intervals_cover_as_often_as_they_say(adaptive):
    rng = np.random.default_rng(0)
    fixed, regret, errors = np.zeros(3), 0, []
    for _ in range(TRIALS):
        received, truth = simulate(rng, adaptive)
        weighted = Weighted(received[1].mean(1), 3)
        weighted.add(*received)
        low, high = against_interval(weighted)
        fixed += (low <= truth) & (truth <= high)
        _, low, high = regret_interval(weighted)
        regret += low <= truth.max() <= high
        errors.append(weighted.against[0] - truth)
    assert np.all(fixed >= 0.93 * TRIALS), fixed
    assert np.all(fixed <= 0.97 * TRIALS), fixed
    assert regret >= 0.93 * TRIALS
    errors = np.array(errors)
    assert np.all(np.abs(errors.mean(0)) < 4 * errors.std(0) / TRIALS**0.5)


def test_the_interval_of_several_episodes_covers_their_mean_regret():
    rng = np.random.default_rng(1)
    covered, trials, episodes = 0, 200, 8
    for _ in range(trials):
        pairs = [simulate(rng, True) for _ in range(episodes)]
        received = [np.concatenate(part) for part in zip(*(p for p, _ in pairs), strict=True)]
        weighted = Weighted(received[1].mean(1), 3)
        weighted.add(*received)
        _, low, high = regret_interval(weighted)
        covered += low <= np.mean([truth.max() for _, truth in pairs]) <= high
    assert covered >= 0.93 * trials


def test_pieces_give_what_the_whole_gives():
    received, _ = simulate(np.random.default_rng(2), True)
    whole, pieces = (Weighted(received[1].mean(1), 3) for _ in range(2))
    losses = whole.add(*received)
    parts = [pieces.add(*(x[:, i : i + 300] for x in received)) for i in range(0, ROUNDS, 300)]
    np.testing.assert_allclose(np.concatenate(parts, 1), losses, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pieces.against, whole.against, rtol=1e-10)
    np.testing.assert_allclose(pieces.variance, whole.variance, rtol=1e-10)


@pytest.mark.parametrize("mixed", [False, True])
def test_a_bandit_log_is_audited(tmp_path, mixed):
    rng = np.random.default_rng(3)
    policy = {"a": 0.5, "b": 0.3, "c": 0.2}
    path, paid = tmp_path / "log.jsonl", {"a": 0.0, "b": 0.0, "c": 0.0}
    with path.open("w") as file:
        for _ in range(600):
            name = rng.choice(list(policy), p=list(policy.values()))
            row = {"action": name, "payoff": float(name == "c") + rng.normal() / 10}
            row |= {"policy": policy} if mixed else {"propensity": policy[name]}
            paid[name] += row["payoff"]
            file.write(json.dumps(row) + "\n")
    agent = audit_log(path).agents[0]
    truth = 600 - sum(
        paid.values()
    )  # c pays 1 per round, up to noise far below the interval's width
    found = agent.regret["external"]
    assert found.low < truth < found.high
    assert found.total == pytest.approx(truth, rel=0.1)
    assert set(agent.against) == {"a", "b", "c"}
    assert agent.against["a"].low < truth - 600 < agent.against["a"].high
    assert set(agent.regret) == ({"external", "internal", "swap"} if mixed else {"external"})
    assert agent.learning.verdict == "not learning"
    assert any("dynamic regret and baselines need" in note for note in agent.notes)
    if mixed:
        assert agent.worst_swap.words.startswith("when it played a it should have played c: 0.")


def test_what_cannot_be_known_is_said(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"action": "a", "loss": 1.0, "policy": {"a": 1.0, "b": 0.0}}
    path.write_text("\n".join([json.dumps(row)] * 40))
    agent = audit_log(path).agents[0]
    assert "never played, so nothing is known of them: b" in agent.notes
    assert "could not be played in some rounds, where their losses are guessed: b" in agent.notes
    assert set(agent.against) == {"a"}
