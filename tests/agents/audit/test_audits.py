"""Audits: the numbers of the library and of the game, for logs of any size and shape."""

import json

import jax
import numpy as np
import pytest

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

pytestmark = pytest.mark.usefixtures("as_users_run_it")
EXACT = 1e-12  # sums of the same numbers in another order


def run_json(capsys, *arguments):
    main([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def write(path, played, losses, first=0, **more):
    """Append episodes of shape `(n, T, d)`."""
    with path.open("a") as file:
        for e, t in np.ndindex(losses.shape[:2]):
            row = {"episode": first + e, "round": t + 1, "policy": played[e, t].tolist()}
            file.write(json.dumps({**row, "losses": losses[e, t].tolist(), **more}) + "\n")
    return path


@pytest.mark.parametrize(
    ("learner", "seed"),
    [
        ("hedge(0.4479)", ("--seed", "1")),
        ("blum_mansour(hedge(0.9944))", ()),
        pytest.param("hedge(0.4479)", (), marks=pytest.mark.slow),
        pytest.param("blum_mansour(hedge(0.9944))", ("--seed", "1"), marks=pytest.mark.slow),
    ],
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


def test_many_episodes_give_means_intervals_and_curves(tmp_path, x64):
    rng = np.random.default_rng(0)
    played = rng.dirichlet(np.ones(2), (40, 30))
    losses = rng.random((40, 30, 2))
    agent = audit_log(write(tmp_path / "log.jsonl", played, losses)).agents[0]
    for kind, function in (
        ("external", external_regret),
        ("internal", internal_regret),
        ("swap", swap_regret),
    ):
        exact = np.array([float(function(p, l)) for p, l in zip(played, losses, strict=True)])
        measure = agent.regret[kind]
        assert measure.total == pytest.approx(exact.mean(), rel=EXACT)
        assert measure.low < exact.mean() < measure.high
        width = 2 * 1.96 * exact.std() / 40**0.5
        assert measure.high - measure.low == pytest.approx(width, rel=0.3)
    dynamic = ((played * losses).sum(2) - losses.min(2)).sum(1).mean()
    assert agent.regret["dynamic"].total == pytest.approx(dynamic, rel=EXACT)
    assert agent.curve["round"] == list(range(1, 31))
    for kind, running in (("external", running_external_regret), ("swap", running_swap_regret)):
        curve = jax.vmap(running)(played, losses).mean(0)
        np.testing.assert_allclose(agent.curve[kind], curve, rtol=EXACT, atol=EXACT)


def test_baselines_are_learners_on_scaled_losses(tmp_path, x64):
    rng = np.random.default_rng(1)
    losses = 5 + 2 * rng.random((1, 37, 3))
    agent = audit_log(write(tmp_path / "log.jsonl", np.full((1, 37, 3), 1 / 3), losses)).agents[0]
    width = np.ptp(losses)
    deviation = losses[0].var(1, ddof=1).mean() ** 0.5
    hedge = Hedge((8 * np.log(3) / 37) ** 0.5)
    copies = Hedge(3 * (2 * np.log(3) / 37) ** 0.5)
    baselines = {
        "hedge": (hedge, width),
        "blum_mansour": (BlumMansour(copies, tolerance=1e-6), width),
        "best possible": (Optimal(37.0), deviation),
        "uniform": (Uniform(), 1.0),
    }
    for name, (learner, scale) in baselines.items():
        played = rollout(learner, (losses[0] - losses.min()) / scale)
        expected = float(external_regret(played, losses[0]))
        assert agent.baselines[name]["external"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_an_episode_of_many_rounds_has_the_same_numbers(tmp_path, x64):
    """More rounds than bins, checkpoints or rounds of a baseline, read in many chunks."""
    rng = np.random.default_rng(2)
    rounds = 140_000
    losses = rng.random((1, rounds, 2))
    played = np.eye(2)[rng.integers(2, size=(1, rounds))]
    (agent,) = audit_log(write(tmp_path / "log.jsonl", played, losses)).agents
    external = (played * losses).sum() - losses[0].sum(0).min()
    assert agent.regret["external"].total == pytest.approx(external, rel=1e-9)
    assert agent.curve["external"][-1] == pytest.approx(external, rel=1e-9)
    assert agent.curve["round"][-1] == agent.baseline_curves["round"][-1] == rounds
    uniform = losses.mean(2).sum() - losses[0].sum(0).min()
    assert agent.baselines["uniform"]["external"] == pytest.approx(uniform, rel=1e-9)
    assert "baselines change their play only every 2 rounds" in agent.notes


def test_the_worst_swap_is_a_sentence(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"action": "rock", "losses": {"rock": 1.0, "paper": 0.88}} for _ in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)))
    swap = audit_log(path).agents[0].worst_swap
    assert swap.words == "when it played rock, paper would have saved 0.12 per round"


def test_shorter_episodes_count_in_totals_only(tmp_path):
    path = tmp_path / "log.jsonl"
    write(path, np.full((7, 20, 2), 0.5), np.tile([1.0, 0.0], (7, 20, 1)))
    write(path, np.full((2, 4, 2), 0.5), np.tile([1.0, 0.0], (2, 4, 1)), first=7)
    agent = audit_log(path).agents[0]
    assert agent.regret["external"].total == pytest.approx((7 * 10 + 2 * 2) / 9)
    assert agent.curve["external"][-1] == pytest.approx(10)
    assert any("2 episodes have fewer than 20 rounds" in note for note in agent.notes)


def test_gaps_need_agents_that_share_their_rounds(tmp_path):
    path = tmp_path / "log.jsonl"
    even = np.full((1, 10, 2), 0.5)
    write(path, even, even, agent="a")
    write(path, even[:, :9], even[:, :9], agent="b")
    assert audit_log(path).gaps is None


def test_hostile_names_do_not_break_tables_or_pages(capsys, tmp_path):
    path = tmp_path / "log.jsonl"
    page = tmp_path / "page.html"
    name = "<script>\x1b[31m\ud800"
    rows = [{"agent": name, "action": name, "losses": {name: 1, "b": 0}} for _ in range(12)]
    path.write_text("\n".join([*map(json.dumps, rows), "nonsense"]))
    main(["audit", str(path), "--html", str(page)])
    out = capsys.readouterr().out
    assert "\x1b[31m" not in out
    assert "when it played <script>" in out
    html = page.read_text()
    assert "<script>\\x1b" not in html
    assert "&lt;script&gt;" in html
    bad = [{"lines": "13", "reason": "not JSON: Expecting value at character 1"}]
    assert run_json(capsys, "audit", str(path))["bad"] == bad


@pytest.mark.parametrize(("rounds", "actions"), [(1, 1), (1, 2), (7, 2), (8, 2)])
def test_tiny_logs_are_audited_and_printed(capsys, tmp_path, rounds, actions):
    losses = np.random.default_rng(0).random((1, rounds, actions))
    path = write(tmp_path / "log.jsonl", np.full_like(losses, 1 / actions), losses)
    main(["audit", str(path), "--html", str(tmp_path / "page.html")])
    capsys.readouterr()
    assert run_json(capsys, "audit", str(path))["rows"] == rounds


@pytest.mark.parametrize("size", [1e-300, 1e50])
def test_losses_of_any_size_give_finite_numbers(capsys, tmp_path, size):
    losses = size * np.random.default_rng(0).random((6, 12, 3))
    path = write(tmp_path / "log.jsonl", np.full_like(losses, 1 / 3), losses)
    assert run_json(capsys, "audit", str(path))["agents"][0]["regret"]["external"]["total"] > 0


def test_an_unreadable_log_is_one_line_of_error(capsys, tmp_path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(SystemExit) as stopped:
            main(["audit", str(path)])
        assert stopped.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("bandit", [False, True], ids=["full", "bandit"])
def test_exploration_is_that_of_the_library(tmp_path, bandit):
    rng = np.random.default_rng(0)
    losses = rng.random((5, 40, 3)).round(3)
    actions = rng.integers(3, size=(5, 40))
    actions[0, 20:] = (losses[0].sum(0).argmin() + 1) % 3  # its suffix fails
    with (tmp_path / "log.jsonl").open("w") as file:
        for e, t in np.ndindex(5, 40):
            action = int(actions[e, t])
            row = {"episode": e, "action": action, "losses": losses[e, t].tolist()}
            if bandit:
                row |= {"loss": losses[e, t, action], "propensity": 1 / 3}
                del row["losses"]
            file.write(json.dumps(row) + "\n")
    measures = audit_log(tmp_path / "log.jsonl").agents[0].exploration
    exact = exploration(actions, losses, bandit=bandit)._asdict()
    assert exact["suffix_failure"] >= 0.2
    if bandit:  # the best action of a bandit log is an estimate
        del exact["suffix_failure"]
    for name, value in exact.items():
        assert measures[name] == pytest.approx(value, abs=1e-12)


def test_a_log_of_policies_has_no_exploration(tmp_path):
    write(tmp_path / "log.jsonl", np.full((2, 5, 2), 0.5), np.ones((2, 5, 2)))
    assert audit_log(tmp_path / "log.jsonl").agents[0].exploration is None


def test_tables_give_regret_and_its_interval_per_round(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "log.jsonl"
    for first, rounds in ((0, 50), (20, 30)):
        losses = rng.random((20, rounds, 2)) + np.array([1.0, 0.0])
        write(path, np.full_like(losses, 0.5), losses, first=first)
    audit = audit_log(path)
    table = audit.columns()
    for kind, measure in audit.agents[0].regret.items():
        (value,) = table[f"{kind}_regret_per_round"]
        (low,) = table[f"{kind}_regret_per_round_low"]
        (high,) = table[f"{kind}_regret_per_round_high"]
        assert low < value < high
        ends = [measure.low, measure.total, measure.high]
        assert [40 * low, 40 * value, 40 * high] == pytest.approx(ends)
    header, row = audit.to_csv().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True)).keys() == table.keys()
    assert all(name.endswith("per_round") for name in table if name.endswith(("loss", "regret")))
