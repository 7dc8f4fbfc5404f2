"""Regret from received losses alone: unbiased, and intervals that cover as often as they say."""

import json

import numpy as np
import pytest
from benchmarks import coverage

from regrax.agents.audit import audit_log
from regrax.agents.audit._bandit import (
    Weighted,
    against_interval,
    external_interval,
    starting_guesses,
)

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


def weighted_of(received):
    actions, losses, _ = received
    drawn = np.eye(3)[actions]
    totals = (drawn * losses[..., None]).sum(1), drawn.sum(1)
    weighted = Weighted(starting_guesses(*totals, losses[:, 0]))
    weighted.add(*received)
    return weighted


@pytest.mark.parametrize("adaptive", [False, True])
def test_one_long_episode_has_intervals_that_cover(adaptive):
    rng = np.random.default_rng(0)
    fixed, regret, errors = np.zeros(3), 0, []
    for _ in range(TRIALS):
        received, truth = simulate(rng, adaptive)
        weighted = weighted_of(received)
        low, high = against_interval(weighted)
        fixed += (low <= truth) & (truth <= high)
        _, low, high = external_interval(weighted)
        regret += low <= truth.max() <= high
        errors.append(weighted.against[0] - truth)
    assert np.all(fixed >= 0.93 * TRIALS), fixed
    assert np.all(fixed <= 0.97 * TRIALS), fixed
    assert regret >= 0.93 * TRIALS
    errors = np.array(errors)
    first_round = 0.9  # counts as one without regret
    assert np.all(np.abs(errors.mean(0)) < first_round + 4 * errors.std(0) / TRIALS**0.5)


def write_log(path, rng, episodes, rounds, losses, policy):
    """Episodes of constant losses, played by a constant policy."""
    names = list(policy)
    rows = []
    for episode in range(episodes):
        for action in rng.choice(len(names), size=rounds, p=list(policy.values())):
            row = {"episode": episode, "action": names[action], "policy": policy}
            rows.append(json.dumps(row | {"loss": losses[action]}))
    path.write_text("\n".join(rows))


def test_regret_of_short_episodes_is_not_biased(tmp_path):
    """Losses (0, 1, 1) in 10 rounds, best played in two of ten: 8 per episode."""
    path = tmp_path / "log.jsonl"
    policy = {"a": 0.2, "b": 0.4, "c": 0.4}
    write_log(path, np.random.default_rng(0), 1000, 10, (0.0, 1.0, 1.0), policy)
    agent = audit_log(path).agents[0]
    for measure in (agent.regret["external"], agent.regret["swap"], agent.against["a"]):
        assert measure.low - 1e-9 <= 8 <= measure.high + 1e-9
        assert measure.high - measure.low < 0.4
    assert agent.regret["internal"].total == pytest.approx(4)


@pytest.mark.parametrize("rounds", [12, 25])
def test_halves_and_curve_agree_with_the_table(tmp_path, rounds):
    path = tmp_path / "log.jsonl"
    policy = {"a": 0.2, "b": 0.3, "c": 0.5}
    write_log(path, np.random.default_rng(1), 40, rounds, (0.2, 0.5, 0.9), policy)
    agent = audit_log(path).agents[0]
    total = agent.regret["external"].total
    early, late = rounds // 2, rounds - rounds // 2
    assert agent.learning.early * early + agent.learning.late * late == pytest.approx(total)
    assert agent.curve["external"][-1] == pytest.approx(total)
    assert total == pytest.approx(max(one.total for one in agent.against.values()))


@pytest.mark.parametrize("player", coverage.PLAYERS)
def test_intervals_of_every_kind_cover(player):
    episodes = coverage.pool(player, 10)
    for kind, (held, width) in coverage.cell(episodes, 50, 300, 0).items():
        if np.isnan(width):  # nothing is random
            assert held == 1, kind
        else:
            assert 0.91 <= held <= 0.995, (kind, held)  # 95 % and room for 300 logs
            assert width >= 0.95, (kind, width)


def test_pieces_give_what_the_whole_gives():
    received, _ = simulate(np.random.default_rng(2), True)
    whole, pieces = (Weighted(np.full((1, 3), 0.5)) for _ in range(2))
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
