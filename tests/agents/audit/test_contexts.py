"""Regret by context: doubly robust estimates, replayed learners and checks of propensities, computed by hand."""

import numpy as np
import pytest
from tests.agents.audit.rows import rows_of

from regrax import rollout
from regrax.agents.audit import audit_log, compare_logs
from regrax.cli import main
from regrax.learners import Hedge, RegretMatching
from regrax.show.report import audit_page

MEANS = np.array([[0.2, 0.8], [0.7, 0.3], [0.5, 0.1]])
POLICIES = np.array([[0.5, 0.5], [0.6, 0.4], [0.3, 0.7]])


def played(episodes, rounds):
    rng = np.random.default_rng(0)
    rows = []
    for e, _ in np.ndindex(episodes, rounds):
        c = int(rng.integers(3))
        a = int(rng.random() > POLICIES[c, 0])
        row = {"episode": e, "context": f"c{c}", "action": f"a{a}", "propensity": POLICIES[c, a]}
        rows.append({**row, "loss": float(rng.random() < MEANS[c, a])})
    return rows


def estimates(rows):
    """Doubly robust losses, round by round; guesses are the means of other episodes and of earlier rounds."""
    result = []
    for t, row in enumerate(rows):
        known = [o for s, o in enumerate(rows) if o["episode"] != row["episode"] or s < t]
        mean = np.mean([other["loss"] for other in known]) if known else row["loss"]
        losses = []
        for action in ("a0", "a1"):
            cell = (row["context"], action)
            same = [other["loss"] for other in known if (other["context"], other["action"]) == cell]
            guess = (sum(same) + mean) / (len(same) + 1)
            error = (row["loss"] - guess) / row["propensity"]
            losses.append(guess + error * (action == row["action"]))
        result.append(losses)
    return np.array(result)


@pytest.mark.parametrize(("episodes", "rounds"), [(6, 12), (1, 110)])
def test_estimates_equal_a_computation_by_hand(write, episodes, rounds):
    rows = played(episodes, rounds)
    contexts = audit_log(write(rows)).agents[0].contexts
    losses = estimates(rows)
    suffered = np.array([row["loss"] for row in rows])
    total = 0.0
    for context in contexts.contexts:
        inside = np.array([row["context"] == context.context for row in rows])
        regrets = (suffered[:, None] - losses)[inside].sum(0)
        total += regrets.max()
        assert context.best == f"a{regrets.argmax()}"
        assert context.regret.per_round == pytest.approx(regrets.max() / inside.sum())
        assert context.loss_per_round == pytest.approx(suffered[inside].mean())
    assert contexts.regret.total == pytest.approx(total / episodes)
    assert contexts.regret.low < contexts.regret.total < contexts.regret.high
    assert contexts.replayed["uniform"].per_round == pytest.approx(losses.mean())
    saved = suffered.mean() - losses.mean()
    assert contexts.saved["uniform"].per_round == pytest.approx(saved)


def test_a_single_round_may_have_a_context(write):
    regret = audit_log(write(played(1, 1))).agents[0].contexts.regret
    assert (regret.total, regret.low) == (0, None)


def test_known_losses_are_compared_with_the_best_policy(write, x64):
    rng = np.random.default_rng(1)
    context, action = rng.integers(2, size=(2, 5, 20))
    losses = rng.random((5, 20, 3))
    rows = rows_of(context=context, action=action, losses=losses)
    contexts = audit_log(write(rows)).agents[0].contexts
    suffered = np.take_along_axis(losses, action[..., None], 2).sum()
    best = sum(losses[context == c].sum(0).min() for c in (0, 1))
    assert contexts.regret.total == pytest.approx((suffered - best) / 5)
    replayed = {"hedge": 0.0, "regret_matching": 0.0, "hedge without contexts": 0.0}

    def replay(name, learner, own):
        replayed[name] += float((rollout(learner, own) * own).sum()) / 5

    for e in range(5):
        step = 8**0.5 * np.log(3) ** 0.5 / np.ptp(losses)
        replay("hedge without contexts", Hedge(step / 20**0.5), losses[e])
        for c in (0, 1):
            own = losses[e][context[e] == c]
            replay("hedge", Hedge(step / len(own) ** 0.5), own)
            replay("regret_matching", RegretMatching(), own)
    for name, loss in replayed.items():
        assert contexts.replayed[name].total == pytest.approx(loss)


def test_propensities_are_checked(write):
    def notes(rows):
        return " ".join(audit_log(write(rows)).agents[0].notes)

    rows = played(10, 40)
    right = notes(rows)
    assert "propensit" not in right
    assert "pairs of context" not in right
    uneven = [row for place, row in enumerate(rows) if row["action"] == "a0" or place % 3 == 0]
    assert "every propensity is 0.5, but a" in notes([{**row, "propensity": 0.5} for row in uneven])
    wrong = [{**row, "propensity": 0.5 * row["propensity"]} for row in rows]
    assert "inverse propensities of" in notes(wrong)
    alone = [row for row in rows if row["action"] == "a0"]
    certain = [{**row, "propensity": 1.0} for row in [*alone, {**alone[0], "action": "a1"}]]
    assert "every propensity is 1" in notes(certain)
    rare = notes([row for row in rows if (row["context"], row["action"]) != ("c1", "a1")])
    assert "1 of 6 pairs of context and action were never played in their context" in rare
    assert "the first is c1, a1" in rare


def test_contexts_are_given_always_or_never(write):
    rows = played(2, 10)
    mixed = [rows[0], {**rows[1], "context": None}, {**rows[2], "context": [1]}, *rows[3:]]
    assert [entry["reason"] for entry in audit_log(write(mixed)).bad] == [
        "either every row of an agent must give its context, or none",
        "context must be of type int | float | str, got array",
    ]
    many = audit_log(write([{**rows[0], "context": c} for c in range(1001)]))
    reason = "an agent must have at most 1000 contexts, got one more: '1000'"
    assert many.bad[0]["reason"] == reason


def test_a_router_is_gated_by_its_policy_regret(write, capsys):
    path = write(played(6, 40))
    main(["audit", str(path)])
    out = capsys.readouterr().out
    assert "3 contexts, most regret first" in out
    assert "replayed on this log" in out
    audit = audit_log(path)
    assert "replayed on this log" in audit_page(audit, "log")
    comparison = compare_logs([path], measure="policy")
    assert comparison.contestants[0].value == audit.agents[0].contexts.regret
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(path), "--measure", "policy", "--fail-above", "0.01"])
    assert stopped.value.code == 1
    plain = write([{"action": 0, "losses": [0, 1]}] * 9, "plain.jsonl")
    with pytest.raises(ValueError, match="must give contexts and propensities"):
        compare_logs([plain], measure="policy")
