"""The audit's numbers: those of the library, of the game, and of streams too long to hold."""

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
        for e, (pi, l) in enumerate(zip(played.tolist(), losses.tolist(), strict=True)):
            for t in range(len(pi)):
                row = {
                    "episode": first + e,
                    "round": t + 1,
                    "policy": pi[t],
                    "losses": l[t],
                    **more,
                }
                file.write(json.dumps(row) + "\n")
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
def test_a_played_log_gives_the_numbers_of_play_to_rounding(capsys, tmp_path, learner, seed):
    log = str(tmp_path / "log.jsonl")
    arguments = ("weighted-rps", "--learners", learner, "--rounds", "50", "--log", log, *seed)
    played, audit = run_json(capsys, "play", *arguments), run_json(capsys, "audit", log)
    assert audit["rows"] == 100
    for player, agent in zip(played["players"], audit["agents"], strict=True):
        assert agent["agent"] == player["player"]
        for kind, name in (
            ("external", "regret"),
            ("internal", "internal_regret"),
            ("swap", "swap_regret"),
        ):
            assert agent["regret"][kind]["total"] == pytest.approx(player[name], rel=EXACT)
    for gap in ("cce_gap", "ce_gap", "swap_gap"):
        assert audit["gaps"][gap] == pytest.approx(played[gap], rel=EXACT)


def test_many_episodes_give_means_curves_and_baselines(tmp_path, x64):
    rng = np.random.default_rng(0)
    played, losses = rng.dirichlet(np.ones(2), (40, 30)), rng.random((40, 30, 2))
    agent = audit_log(write(tmp_path / "log.jsonl", played, losses)).agents[0]
    for kind, measure in (
        ("external", external_regret),
        ("internal", internal_regret),
        ("swap", swap_regret),
    ):
        each = np.array([float(measure(p, l)) for p, l in zip(played, losses, strict=True)])
        found = agent.regret[kind]
        assert found.total == pytest.approx(each.mean(), rel=EXACT)
        assert found.low < each.mean() < found.high
        assert found.high - found.low == pytest.approx(2 * 1.96 * each.std() / 40**0.5, rel=0.3)
    assert agent.regret["dynamic"].total == pytest.approx(
        ((played * losses).sum(2) - losses.min(2)).sum(1).mean(), rel=EXACT
    )
    assert agent.curve["round"] == list(range(1, 31))
    for kind, running in (("external", running_external_regret), ("swap", running_swap_regret)):
        curve = jax.vmap(running)(played, losses).mean(0)
        np.testing.assert_allclose(agent.curve[kind], curve, rtol=EXACT, atol=EXACT)
    assert agent.baselines["uniform"]["external"] == pytest.approx(
        np.mean([float(external_regret(np.full((30, 2), 1 / 2), l)) for l in losses]), rel=EXACT
    )


def test_baselines_are_the_librarys_learners_on_scaled_losses(tmp_path, x64):
    rng = np.random.default_rng(1)
    losses = 5 + 2 * rng.random((1, 37, 3))
    agent = audit_log(write(tmp_path / "log.jsonl", np.full((1, 37, 3), 1 / 3), losses)).agents[0]
    low, width = losses.min(), np.ptp(losses)
    deviation = losses[0].var(1, ddof=1).mean() ** 0.5
    steps = (8 * np.log(3) / 37) ** 0.5, 3 * (2 * np.log(3) / 37) ** 0.5
    baselines = {
        "hedge": (Hedge(steps[0]), width),
        "blum_mansour": (BlumMansour(Hedge(steps[1]), tolerance=1e-6), width),
        "best possible": (Optimal(37.0), deviation),
        "uniform": (Uniform(), 1.0),
    }
    for name, (learner, scale) in baselines.items():
        played = rollout(learner, (losses[0] - low) / scale)
        expected = float(external_regret(played, losses[0]))
        assert agent.baselines[name]["external"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_a_long_log_walks_through_pieces_and_the_disk(tmp_path, monkeypatch, x64):
    rng = np.random.default_rng(2)
    played, losses = rng.dirichlet(np.ones(2), (2, 3000)), rng.random((2, 3000, 2))
    path = write(tmp_path / "log.jsonl", played, losses)
    whole = audit_log(path).agents[0]
    monkeypatch.setattr("regrax.agents.audit._accumulate.MAX_BATCH_NUMBERS", 512)
    monkeypatch.setattr("regrax.agents.audit._log.SpillBuffer.__init__.__defaults__", (20_000,))
    pieces = audit_log(path).agents[0]
    for kind in ("external", "internal", "swap", "dynamic"):
        assert pieces.regret[kind].total == pytest.approx(whole.regret[kind].total, rel=1e-10)
        np.testing.assert_allclose(pieces.curve[kind], whole.curve[kind], rtol=1e-9, atol=1e-9)
    for name in whole.baselines:
        assert pieces.baselines[name]["swap"] == pytest.approx(
            whole.baselines[name]["swap"], rel=1e-6
        )
    assert pieces.learning == whole.learning


def test_the_worst_swap_is_said_in_words(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [{"action": "rock", "losses": {"rock": 1.0, "paper": 0.88}} for _ in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)))
    swap = audit_log(path).agents[0].worst_swap
    assert swap.words == "when it played rock it should have played paper: 0.12 per round"


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


def test_tables_and_page_for_people_stay_whole_with_hostile_names(capsys, tmp_path):
    path, page = tmp_path / "log.jsonl", tmp_path / "page.html"
    name = "<script>\x1b[31m\ud800"
    rows = [{"agent": name, "action": name, "losses": {name: 1, "b": 0}} for _ in range(12)]
    path.write_text("\n".join([*map(json.dumps, rows), "nonsense"]))
    main(["audit", str(path), "--html", str(page)])
    out = capsys.readouterr().out
    assert "\x1b[31m" not in out
    assert "worst swap: when it played <script>" in out
    assert "1 bad row left out" in out
    html = page.read_text()
    assert "<script>\\x1b" not in html
    assert "&lt;script&gt;" in html
    assert "Rows left out" in html
    assert run_json(capsys, "audit", str(path))["bad"] == [
        {"lines": "13", "reason": "not JSON: Expecting value at character 1"}
    ]


@pytest.mark.parametrize(("rounds", "actions"), [(1, 1), (1, 2), (7, 2), (8, 2)])
def test_tiny_logs_are_audited_and_printed(capsys, tmp_path, rounds, actions):
    losses = np.random.default_rng(0).random((1, rounds, actions))
    path = write(tmp_path / "log.jsonl", np.full_like(losses, 1 / actions), losses)
    main(["audit", str(path), "--html", str(tmp_path / "page.html")])
    capsys.readouterr()
    assert run_json(capsys, "audit", str(path))["rows"] == rounds


@pytest.mark.parametrize("size", [1e-300, 1e50])
def test_losses_of_any_size_stay_finite(capsys, tmp_path, size):
    losses = size * np.random.default_rng(0).random((6, 12, 3))
    path = write(tmp_path / "log.jsonl", np.full_like(losses, 1 / 3), losses)
    assert run_json(capsys, "audit", str(path))["agents"][0]["regret"]["external"]["total"] > 0


def test_errors_are_one_line(capsys, tmp_path):
    for arguments in (["audit", str(tmp_path / "none.jsonl")], ["audit", str(tmp_path)]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("piece", [None, 7], ids=["whole", "in pieces"])
@pytest.mark.parametrize("bandit", [False, True], ids=["full", "bandit"])
def test_measures_of_exploration_are_those_of_the_library(tmp_path, monkeypatch, piece, bandit):
    if piece:
        monkeypatch.setattr("regrax.agents.audit._accumulate.MAX_BATCH_NUMBERS", piece)
    rng = np.random.default_rng(0)
    losses, actions = rng.random((5, 40, 3)).round(3), rng.integers(3, size=(5, 40))
    actions[0, 20:] = (losses[0].sum(0).argmin() + 1) % 3  # its suffix fails
    with (tmp_path / "log.jsonl").open("w") as file:
        for e, t in np.ndindex(5, 40):
            a, row = int(actions[e, t]), {"episode": int(e), "round": int(t) + 1}
            seen = (
                {"action": a, "loss": losses[e, t, a], "propensity": 1 / 3, "actions": [0, 1, 2]}
                if bandit
                else {"action": a, "losses": losses[e, t].tolist()}
            )
            file.write(json.dumps(row | seen) + "\n")
    found = audit_log(tmp_path / "log.jsonl").agents[0].exploration
    exact = exploration(actions, losses, bandit=bandit)._asdict()
    same = ("minimum_fraction", "greedy_fraction", *(() if bandit else ("suffix_failure",)))
    for name in same:  # the best action of a bandit log is an estimate
        assert found[name] == pytest.approx(exact[name], abs=1e-12)
    assert exact["suffix_failure"] >= 0.2


def test_logs_of_policies_have_no_measures_of_drawn_actions(tmp_path):
    write(tmp_path / "log.jsonl", np.full((2, 5, 2), 0.5), np.ones((2, 5, 2)))
    assert audit_log(tmp_path / "log.jsonl").agents[0].exploration is None


def test_tables_have_one_unit(tmp_path):
    """A regret per round lies in its interval, which is that of the episodes divided by their mean length."""
    rng = np.random.default_rng(0)
    path = tmp_path / "log.jsonl"
    for first, rounds in ((0, 50), (20, 30)):
        losses = rng.random((20, rounds, 2)) + np.array([1.0, 0.0])
        write(path, np.full_like(losses, 0.5), losses, first=first)
    audit = audit_log(path)
    table, agent = audit.columns(), audit.agents[0]
    for kind, measure in agent.regret.items():
        (value,) = table[f"{kind}_regret_per_round"]
        (low,) = table[f"{kind}_regret_per_round_low"]
        (high,) = table[f"{kind}_regret_per_round_high"]
        assert low < value < high
        assert [40 * low, 40 * value, 40 * high] == pytest.approx(
            [measure.low, measure.total, measure.high]
        )
    header, row = audit.to_csv().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True)).keys() == table.keys()
    assert all(name.endswith("per_round") for name in table if name.endswith(("loss", "regret")))
