"""Regret from received losses: unbiased estimates, and intervals that cover as often as they claim."""

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

TRIALS = 1000
ROUNDS = 1000


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
        _, low, high = external_interval(against, variance, np.ones(3, bool))
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


def played(seed, episodes, rounds, losses, policy):
    """Episodes of constant losses, played by a constant policy over the actions a, b and c."""
    rng = np.random.default_rng(seed)
    row = {"policy": dict(zip("abc", policy, strict=True))}
    rows = []
    for episode in range(episodes):
        for action in rng.choice(3, size=rounds, p=policy):
            rows.append(
                {**row, "episode": episode, "action": "abc"[action], "loss": losses[action]}
            )
    return rows


def test_regret_of_short_episodes_is_unbiased(write):
    """Losses (0, 1, 1) in 10 rounds, the best played in two of ten: 8 per episode."""
    agent = audit_log(write(played(0, 1000, 10, (0, 1, 1), (0.2, 0.4, 0.4)))).agents[0]
    for measure in (agent.regret["external"], agent.regret["swap"], agent.against["a"]):
        assert measure.low - 1e-9 <= 8 <= measure.high + 1e-9
        assert measure.high - measure.low < 0.4
    assert agent.regret["internal"].total == pytest.approx(4)


@pytest.mark.parametrize("rounds", [12, 25])
def test_halves_and_curve_agree_with_the_table(write, rounds):
    agent = audit_log(write(played(1, 40, rounds, (0.2, 0.5, 0.9), (0.2, 0.3, 0.5)))).agents[0]
    total = agent.regret["external"].total
    early, late = rounds // 2, rounds - rounds // 2
    assert agent.learning.early * early + agent.learning.late * late == pytest.approx(total)
    assert agent.curve["external"][-1] == pytest.approx(total)
    assert total == pytest.approx(max(measure.total for measure in agent.against.values()))


@pytest.mark.parametrize("mixed", [False, True])
def test_a_bandit_log_is_audited(write, mixed):
    """Losses (1, 1, 0) and noise far below the interval's width: regret is the loss suffered."""
    rows = played(3, 1, 600, (1, 1, 0), (0.5, 0.3, 0.2))
    rng = np.random.default_rng(3)
    rows = [{**row, "loss": row["loss"] + rng.normal() / 10} for row in rows]
    if not mixed:
        for row in rows:
            row["propensity"] = row.pop("policy")[row["action"]]
    agent = audit_log(write(rows)).agents[0]
    truth = sum(row["loss"] for row in rows)
    measure = agent.regret["external"]
    assert measure.low < truth < measure.high
    assert measure.total == pytest.approx(truth, rel=0.1)
    assert agent.against["a"].low < truth - 600 < agent.against["a"].high
    assert set(agent.regret) == ({"external", "internal", "swap"} if mixed else {"external"})
    assert agent.learning.verdict == "not learning"
    assert any("dynamic regret and baselines need" in note for note in agent.notes)
    if mixed:
        assert agent.worst_swap.words.startswith("when it played a, c would have saved 0.")


def test_notes_say_what_cannot_be_known(write):
    row = {"action": "a", "loss": 1.0, "policy": {"a": 1.0, "b": 0.0}}
    agent = audit_log(write([row] * 40)).agents[0]
    assert "never played, so nothing is known about them: b" in agent.notes
    blind = "could not be played in some rounds, so their losses there are guesses: b"
    assert blind in agent.notes
    assert set(agent.against) == {"a"}


@pytest.mark.parametrize("values", [[0, 0, 0, 0, 0, 4 / 6], [1 / 3] * 5 + [4 / 6]])
def test_nearly_equal_episodes_have_an_interval_of_their_size(values):
    """Most resamples of these have no spread but that of rounding."""
    low, high = (float(end.item()) for end in interval(np.array(values)[:, None]))
    mean = np.mean(values)
    assert mean - 1 < low < mean < high < mean + 1
