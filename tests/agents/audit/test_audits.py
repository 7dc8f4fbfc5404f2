"""Audits: the numbers of the library and of the game, for logs of any size and shape."""

import json

import jax
import numpy as np
import pytest
from tests.agents.audit.rows import rows_of

from regrax import exploration, rollout
from regrax.agents.audit import audit_log
from regrax.cli import main
from regrax.learners import BlumMansour, Hedge, Uniform
from regrax.regret import (
    external_regret,
    internal_regret,
    running_external_regret,
    running_swap_regret,
    swap_regret,
)
from regrax.theory import Optimal

EXACT = 1e-12  # sums of the same numbers in another order


def run_json(capsys, *arguments):
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("learner", "seed"),
    [("hedge(0.4479)", ("--seed", "1")), ("blum_mansour(hedge(0.9944))", ())],
)
def test_a_played_log_gives_the_numbers_of_play(capsys, tmp_path, learner, seed):
    log = str(tmp_path / "log.jsonl")
    arguments = ("weighted-rps", "--learners", learner, "--rounds", "50", "--log", log, *seed)
    played = run_json(capsys, "play", *arguments)
    audit = run_json(capsys, "audit", log)
    assert audit["rows"] == 100
    names = {"external": "regret", "internal": "internal_regret", "swap": "swap_regret"}
    for player, agent in zip(played["players"], audit["agents"], strict=True):
        assert agent["agent"] == player["player"]
        for kind, name in names.items():
            assert agent["regret"][kind]["total"] == pytest.approx(player[name], rel=EXACT)
    for gap in ("cce_gap", "ce_gap", "swap_gap"):
        assert audit["gaps"][gap] == pytest.approx(played[gap], rel=EXACT)


def test_many_episodes_give_means_intervals_and_curves(write, x64):
    rng = np.random.default_rng(0)
    policy = rng.dirichlet(np.ones(2), (40, 30))
    losses = rng.random((40, 30, 2))
    agent = audit_log(write(rows_of(policy=policy, losses=losses))).agents[0]
    regrets = {"external": external_regret, "internal": internal_regret, "swap": swap_regret}
    for kind, function in regrets.items():
        exact = np.asarray(jax.vmap(function)(policy, losses))
        measure = agent.regret[kind]
        assert measure.total == pytest.approx(exact.mean(), rel=EXACT)
        assert measure.low < exact.mean() < measure.high
        width = 2 * 1.96 * exact.std() / 40**0.5
        assert measure.high - measure.low == pytest.approx(width, rel=0.3)
    dynamic = ((policy * losses).sum(2) - losses.min(2)).sum(1).mean()
    assert agent.regret["dynamic"].total == pytest.approx(dynamic, rel=EXACT)
    assert agent.exploration is None  # it is of actions
    assert agent.curve["round"] == list(range(1, 31))
    for kind, running in (("external", running_external_regret), ("swap", running_swap_regret)):
        curve = jax.vmap(running)(policy, losses).mean(0)
        np.testing.assert_allclose(agent.curve[kind], curve, rtol=EXACT, atol=EXACT)


def test_baselines_are_learners_on_scaled_losses(write, x64):
    losses = 5 + 2 * np.random.default_rng(1).random((1, 37, 3))
    agent = audit_log(write(rows_of(policy=np.full((1, 37, 3), 1 / 3), losses=losses))).agents[0]
    width = np.ptp(losses)
    copies = BlumMansour(Hedge(3 * (2 * np.log(3) / 37) ** 0.5), tolerance=1e-6)
    baselines = {
        "hedge": (Hedge((8 * np.log(3) / 37) ** 0.5), width),
        "blum_mansour": (copies, width),
        "best possible": (Optimal(37.0), losses[0].var(1, ddof=1).mean() ** 0.5),
        "uniform": (Uniform(), 1.0),
    }
    for name, (learner, scale) in baselines.items():
        played = rollout(learner, (losses[0] - losses.min()) / scale)
        expected = float(external_regret(played, losses[0]))
        assert agent.baselines[name]["external"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_an_episode_of_many_rounds_has_the_same_numbers(write, x64):
    """More rounds than bins, checkpoints or rounds of a baseline, read in many chunks."""
    rng = np.random.default_rng(2)
    rounds = 140_000
    losses = rng.random((1, rounds, 2))
    policy = np.eye(2)[rng.integers(2, size=(1, rounds))]
    (agent,) = audit_log(write(rows_of(policy=policy, losses=losses))).agents
    external = (policy * losses).sum() - losses[0].sum(0).min()
    assert agent.regret["external"].total == pytest.approx(external, rel=1e-9)
    assert agent.curve["external"][-1] == pytest.approx(external, rel=1e-9)
    assert agent.curve["round"][-1] == agent.baseline_curves["round"][-1] == rounds
    uniform = losses.mean(2).sum() - losses[0].sum(0).min()
    assert agent.baselines["uniform"]["external"] == pytest.approx(uniform, rel=1e-9)
    assert "baselines change their play only every 2 rounds" in agent.notes


def test_shorter_episodes_count_in_totals_only(write):
    rows = []
    for first, episodes, rounds in ((0, 7, 20), (7, 2, 4)):
        losses = np.tile([1.0, 0.0], (episodes, rounds, 1))
        rows += rows_of(first, policy=np.full_like(losses, 0.5), losses=losses)
    agent = audit_log(write(rows)).agents[0]
    assert agent.regret["external"].total == pytest.approx((7 * 10 + 2 * 2) / 9)
    assert agent.curve["external"][-1] == pytest.approx(10)
    assert any("2 episodes have fewer than 20 rounds" in note for note in agent.notes)


def test_gaps_need_agents_that_share_their_rounds(write):
    even = np.full((1, 10, 2), 0.5)
    rows = rows_of(policy=even, losses=even, fields={"agent": "a"})
    rows += rows_of(policy=even[:, :9], losses=even[:, :9], fields={"agent": "b"})
    assert audit_log(write(rows)).gaps is None


def test_hostile_names_do_not_break_tables_or_pages(capsys, write, tmp_path):
    page = tmp_path / "page.html"
    name = "<script>\x1b[31m\ud800"
    rows = [{"agent": name, "action": name, "losses": {name: 1, "b": 0.12}} for _ in range(12)]
    path = write([*rows, b"nonsense"])
    main(["audit", str(path), "--html", str(page)])
    out = capsys.readouterr().out
    assert "\x1b[31m" not in out
    assert "when it played <script>\\x1b[31m\\ud800, b would have saved 0.88 per round" in (
        " ".join(out.split())
    )
    html = page.read_text()
    assert "<script>\\x1b" not in html
    assert "&lt;script&gt;" in html
    bad = [{"lines": "13", "reason": "not JSON: Expecting value at character 1"}]
    assert run_json(capsys, "audit", str(path))["bad"] == bad


@pytest.mark.parametrize(
    ("shape", "size"),
    [((1, 1, 1), 1), ((1, 7, 2), 1), ((1, 8, 2), 1), ((6, 12, 3), 1e-300), ((6, 12, 3), 1e50)],
)
def test_any_size_is_audited_and_printed(capsys, write, tmp_path, shape, size):
    losses = size * np.random.default_rng(0).random(shape)
    path = write(rows_of(policy=np.full(shape, 1 / shape[2]), losses=losses))
    main(["audit", str(path), "--html", str(tmp_path / "page.html")])
    capsys.readouterr()
    result = run_json(capsys, "audit", str(path))
    assert result["rows"] == shape[0] * shape[1]
    assert shape[0] == 1 or result["agents"][0]["regret"]["external"]["total"] > 0


@pytest.mark.parametrize("bandit", [False, True], ids=["full", "bandit"])
def test_exploration_is_that_of_the_library(write, bandit):
    rng = np.random.default_rng(0)
    losses = rng.random((5, 40, 3)).round(3)
    actions = rng.integers(3, size=(5, 40))
    actions[0, 20:] = (losses[0].sum(0).argmin() + 1) % 3  # its suffix fails
    rows = rows_of(action=actions, losses=losses)
    if bandit:
        loss = np.take_along_axis(losses, actions[..., None], 2)[..., 0]
        rows = rows_of(action=actions, loss=loss, fields={"propensity": 1 / 3})
    measures = audit_log(write(rows)).agents[0].exploration
    exact = exploration(actions, losses, bandit=bandit)._asdict()
    assert exact["suffix_failure"] >= 0.2
    if bandit:  # the best action of a bandit log is an estimate
        del exact["suffix_failure"]
    for name, value in exact.items():
        assert measures[name] == pytest.approx(value, abs=1e-12)


def test_tables_give_regret_and_its_interval_per_round(write):
    rng = np.random.default_rng(0)
    rows = []
    for first, rounds in ((0, 50), (20, 30)):
        losses = rng.random((20, rounds, 2)) + np.array([1.0, 0.0])
        rows += rows_of(first, policy=np.full_like(losses, 0.5), losses=losses)
    audit = audit_log(write(rows))
    table = audit.columns()
    for kind, measure in audit.agents[0].regret.items():
        ends = [table[f"{kind}_regret_per_round{end}"][0] for end in ("_low", "", "_high")]
        assert ends == sorted(set(ends))
        totals = [measure.low, measure.total, measure.high]
        assert [40 * end for end in ends] == pytest.approx(totals)
    header, row = audit.to_csv().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True)).keys() == table.keys()
    assert all(name.endswith("per_round") for name in table if name.endswith(("loss", "regret")))
