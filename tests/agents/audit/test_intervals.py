"""Regret from received losses: unbiased estimates, and intervals that cover as often as they claim."""

import json

import numpy as np
import pytest
from benchmarks import coverage

from regrax.agents.audit import audit_log
from regrax.agents.audit.intervals import (
    against_interval,
    estimate_losses,
    external_interval,
    interval,
    starting_guesses,
)

pytestmark = pytest.mark.usefixtures("as_users_run_it")
TRIALS = 1000
ROUNDS = 1000
EVERY = np.ones(3, bool)


def simulate(rng, adaptive):
    """Draw actions on fixed losses; return the rounds, and the true regret against every action."""
    t = np.arange(ROUNDS)
    waves = np.stack([np.sin(t / 40), np.cos(t / 25), np.sin(t / 60 + 1)], 1)
    losses = 0.5 + 0.3 * waves + [0, 0.1, -0.05]
    policy = np.tile([0.5, 0.3, 0.2], (ROUNDS, 1))
    if adaptive:  # drifts between two mixtures, never below a tenth
        share = (t / ROUNDS)[:, None]
        policy = (1 - share) * [0.6, 0.3, 0.1] + share * [0.2, 0.2, 0.6]
    action = (rng.random((ROUNDS, 1)) > policy.cumsum(1)).sum(1).clip(0, 2)
    loss = losses[t, action]
    chance = policy[t, action]
    return (action[None], loss[None], chance[None]), loss.sum() - losses.sum(0)


@pytest.mark.parametrize("adaptive", [False, True])
def test_intervals_of_one_long_episode_cover(adaptive):
    rng = np.random.default_rng(0)
    fixed = np.zeros(3)
    regret = 0
    errors = []
    for _ in range(TRIALS):
        (actions, losses, chances), truth = simulate(rng, adaptive)
        drawn = np.eye(3)[actions]
        paid = (drawn * losses[..., None]).sum(1)
        guesses = starting_guesses(paid, drawn.sum(1), losses[:, 0])
        estimates, variance = estimate_losses(actions, losses, chances, guesses)
        against = losses.sum(1)[:, None] - estimates.sum(1)
        low, high = against_interval(against, variance)
        fixed += (low <= truth) & (truth <= high)
        _, low, high = external_interval(against, variance, EVERY)
        regret += low <= truth.max() <= high
        errors.append(against[0] - truth)
    assert np.all(fixed >= 0.93 * TRIALS), fixed
    assert np.all(fixed <= 0.97 * TRIALS), fixed
    assert regret >= 0.93 * TRIALS
    errors = np.array(errors)
    first_round = 0.9  # counts as one without regret
    assert np.all(np.abs(errors.mean(0)) < first_round + 4 * errors.std(0) / TRIALS**0.5)


@pytest.mark.slow
@pytest.mark.parametrize("player", coverage.PLAYERS)
def test_intervals_of_every_kind_cover(player):
    episodes = coverage.pool(player, 10)
    for kind, (covered, width) in coverage.cell(episodes, 50, 300, 0).items():
        if np.isnan(width):  # nothing is random
            assert covered == 1, kind
        else:
            assert 0.91 <= covered <= 0.995, (kind, covered)  # 95 % and room for 300 logs
            assert width >= 0.95, (kind, width)


def write_log(path, rng, episodes, rounds, losses, policy):
    """Write episodes of constant losses, played by a constant policy."""
    names = list(policy)
    rows = []
    for episode in range(episodes):
        for action in rng.choice(len(names), size=rounds, p=list(policy.values())):
            row = {"episode": episode, "action": names[action], "policy": policy}
            rows.append(json.dumps(row | {"loss": losses[action]}))
    path.write_text("\n".join(rows))


def test_regret_of_short_episodes_is_unbiased(tmp_path):
    """Losses (0, 1, 1) in 10 rounds, the best played in two of ten: 8 per episode."""
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
    assert total == pytest.approx(max(measure.total for measure in agent.against.values()))


@pytest.mark.parametrize("mixed", [False, True])
def test_a_bandit_log_is_audited(tmp_path, mixed):
    rng = np.random.default_rng(3)
    policy = {"a": 0.5, "b": 0.3, "c": 0.2}
    path = tmp_path / "log.jsonl"
    paid = 0.0
    with path.open("w") as file:
        for _ in range(600):
            name = rng.choice(list(policy), p=list(policy.values()))
            row = {"action": name, "payoff": float(name == "c") + rng.normal() / 10}
            row |= {"policy": policy} if mixed else {"propensity": policy[name]}
            paid += row["payoff"]
            file.write(json.dumps(row) + "\n")
    agent = audit_log(path).agents[0]
    truth = 600 - paid  # c pays 1 per round, up to noise far below the interval's width
    measure = agent.regret["external"]
    assert measure.low < truth < measure.high
    assert measure.total == pytest.approx(truth, rel=0.1)
    assert set(agent.against) == {"a", "b", "c"}
    assert agent.against["a"].low < truth - 600 < agent.against["a"].high
    assert set(agent.regret) == ({"external", "internal", "swap"} if mixed else {"external"})
    assert agent.learning.verdict == "not learning"
    assert any("dynamic regret and baselines need" in note for note in agent.notes)
    if mixed:
        assert agent.worst_swap.words.startswith("when it played a, c would have saved 0.")


def test_notes_say_what_cannot_be_known(tmp_path):
    path = tmp_path / "log.jsonl"
    row = {"action": "a", "loss": 1.0, "policy": {"a": 1.0, "b": 0.0}}
    path.write_text("\n".join([json.dumps(row)] * 40))
    agent = audit_log(path).agents[0]
    assert "never played, so nothing is known about them: b" in agent.notes
    blind = "could not be played in some rounds, so their losses there are guesses: b"
    assert blind in agent.notes
    assert set(agent.against) == {"a"}


def test_nearly_equal_episodes_have_an_interval_of_their_size():
    """Most resamples of these have no spread but that of rounding."""
    for values in (np.array([0, 0, 0, 0, 0, 4 / 6]), np.array([1 / 3] * 5 + [4 / 6])):
        ends = interval(values[:, None])
        assert ends is not None
        low, high = (float(end.item()) for end in ends)
        assert values.mean() - 1 < low < values.mean() < high < values.mean() + 1
