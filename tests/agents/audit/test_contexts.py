"""Regret by context: doubly robust estimates, replayed learners and checks of propensities, computed by hand."""

import json

import numpy as np
import pytest

from regrax import rollout
from regrax.agents.audit import audit_log, compare_logs
from regrax.cli import main
from regrax.learners import Hedge, RegretMatching
from regrax.show.report import audit_page

pytestmark = pytest.mark.usefixtures("as_users_run_it")
MEANS = np.array([[0.2, 0.8], [0.7, 0.3], [0.5, 0.1]])
POLICIES = np.array([[0.5, 0.5], [0.6, 0.4], [0.3, 0.7]])


def played(episodes, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for e in range(episodes):
        for _ in range(rounds):
            c = int(rng.integers(3))
            a = int(rng.random() > POLICIES[c, 0])
            loss = float(rng.random() < MEANS[c, a])
            yield {
                "episode": e,
                "context": f"c{c}",
                "action": f"a{a}",
                "loss": loss,
                "propensity": POLICIES[c, a],
            }


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def estimates(rows):
    """Doubly robust losses, round by round; guesses are the means of other episodes and of earlier rounds."""
    found = []
    for t, row in enumerate(rows):
        known = [
            other for s, other in enumerate(rows) if other["episode"] != row["episode"] or s < t
        ]
        mean = np.mean([other["loss"] for other in known]) if known else row["loss"]
        losses = []
        for action in ("a0", "a1"):
            same = [
                o["loss"] for o in known if (o["context"], o["action"]) == (row["context"], action)
            ]
            guess = (sum(same) + mean) / (len(same) + 1)
            error = (row["loss"] - guess) / row["propensity"]
            losses.append(guess + error * (action == row["action"]))
        found.append(losses)
    return np.array(found)


@pytest.mark.parametrize(("episodes", "rounds"), [(6, 12), (1, 110)])
def test_estimates_equal_a_computation_by_hand(tmp_path, episodes, rounds):
    rows = list(played(episodes, rounds))
    found = audit_log(write(tmp_path / "log.jsonl", rows)).agents[0].contexts
    losses = estimates(rows)
    suffered = np.array([row["loss"] for row in rows])
    total = 0.0
    for context in found.contexts:
        inside = np.array([row["context"] == context.context for row in rows])
        regrets = (suffered[:, None] - losses)[inside].sum(0)
        total += regrets.max()
        assert context.best == f"a{regrets.argmax()}"
        assert context.regret.per_round == pytest.approx(regrets.max() / inside.sum())
        assert context.loss_per_round == pytest.approx(suffered[inside].mean())
    assert found.regret.total == pytest.approx(total / episodes)
    assert found.regret.low < found.regret.total < found.regret.high
    assert found.replayed["uniform"].per_round == pytest.approx(losses.mean())
    saved = suffered.mean() - losses.mean()
    assert found.saved["uniform"].per_round == pytest.approx(saved)


def test_known_losses_are_compared_with_the_best_policy(tmp_path, x64):
    rng = np.random.default_rng(1)
    contexts, actions = rng.integers(2, size=(2, 5, 20))
    losses = rng.random((5, 20, 3))
    rows = [
        {"episode": e, "context": int(contexts[e, t]), "action": int(actions[e, t]), "losses": losses[e, t].tolist()}
        for e, t in np.ndindex(5, 20)
    ]  # fmt: skip
    found = audit_log(write(tmp_path / "log.jsonl", rows)).agents[0].contexts
    suffered = np.take_along_axis(losses, actions[..., None], 2).sum()
    best = sum(losses[contexts == c].sum(0).min() for c in (0, 1))
    assert found.regret.total == pytest.approx((suffered - best) / 5)
    replayed = {"hedge": 0.0, "regret_matching": 0.0}
    for e, c in np.ndindex(5, 2):
        own = losses[e][contexts[e] == c]
        step = (8 * np.log(3) / len(own)) ** 0.5 / np.ptp(losses)
        learners = {"hedge": Hedge(step), "regret_matching": RegretMatching()}
        for name, learner in learners.items():
            replayed[name] += float((rollout(learner, own) * own).sum()) / 5
    for name, loss in replayed.items():
        assert found.replayed[name].total == pytest.approx(loss)


def notes(path, rows):
    return " ".join(audit_log(write(path, rows)).agents[0].notes)


def test_propensities_are_checked(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = list(played(10, 40))
    right = notes(path, rows)
    assert "propensit" not in right
    assert "pairs of context" not in right
    uneven = [row for place, row in enumerate(rows) if row["action"] == "a0" or place % 3 == 0]
    constant = notes(path, [{**row, "propensity": 0.5} for row in uneven])
    assert "every propensity is 0.5, but a" in constant
    wrong = [{**row, "propensity": 0.5 * row["propensity"]} for row in rows]
    assert "inverse propensities of" in notes(path, wrong)
    alone = [row for row in rows if row["action"] == "a0"]
    certain = [{**row, "propensity": 1.0} for row in [*alone, {**alone[0], "action": "a1"}]]
    assert "every propensity is 1" in notes(path, certain)
    rare = notes(path, [row for row in rows if (row["context"], row["action"]) != ("c1", "a1")])
    assert "1 of 6 pairs of context and action were never played in their context" in rare
    assert "the first is c1, a1" in rare


def test_contexts_are_given_always_or_never(tmp_path):
    rows = list(played(2, 10))
    mixed = [rows[0], {**rows[1], "context": None}, {**rows[2], "context": [1]}, *rows[3:]]
    audit = audit_log(write(tmp_path / "log.jsonl", mixed))
    reasons = [entry["reason"] for entry in audit.bad]
    assert reasons == [
        "either every row of an agent must give its context, or none",
        "context must be of type int | float | str, got array",
    ]
    many = [{**rows[0], "context": c} for c in range(1001)]
    audit = audit_log(write(tmp_path / "log.jsonl", many))
    assert (
        audit.bad[0]["reason"] == "an agent must have at most 1000 contexts, got one more: '1000'"
    )


def test_a_router_is_gated_by_its_policy_regret(tmp_path, capsys):
    path = write(tmp_path / "log.jsonl", played(6, 40))
    main(["audit", str(path)])
    out = capsys.readouterr().out
    assert "3 contexts, most regret first" in out
    assert "replayed on this log" in out
    assert "replayed on this log" in audit_page(audit_log(path), "log")
    comparison = compare_logs([path], measure="policy")
    regret = audit_log(path).agents[0].contexts.regret
    assert comparison.contestants[0].value == regret
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(path), "--measure", "policy", "--fail-above", "0.01"])
    assert stopped.value.code == 1
    plain = write(tmp_path / "plain.jsonl", [{"action": 0, "losses": [0, 1]}] * 9)
    with pytest.raises(ValueError, match="must give contexts and propensities"):
        compare_logs([plain], measure="policy")
