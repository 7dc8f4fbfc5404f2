"""Comparisons: scipy's numbers, pairing by shared losses, calibration, Holm, the page and the exit codes."""

import json

import numpy as np
import pytest
from benchmarks.compare import rates
from scipy import stats

from regrax.agents.audit import compare_logs
from regrax.agents.audit.compare import difference, holm
from regrax.cli import main
from regrax.show.report import compare_page

pytestmark = pytest.mark.usefixtures("as_users_run_it")
GOOD, BAD = 0.2, 0.8  # chances to play the worse action


def write(path, losses, rng, wrong=GOOD, agent="model"):
    """Episodes of two actions, of which the second is better by one."""
    rows = []
    for e, t in np.ndindex(losses.shape[:2]):
        row = {"episode": e, "agent": agent, "action": int(rng.random() >= wrong)}
        rows.append({**row, "losses": losses[e, t].tolist()})
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def drawn(rng, episodes=12, rounds=10):
    return rng.random((episodes, rounds, 2)).round(3) + np.array([1.0, 0.0])


def test_intervals_and_p_values_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), 2 * rng.normal(size=25) + 1
    told, exact = difference(x, y, paired=False), stats.ttest_ind(y, x, equal_var=False)
    ends = exact.confidence_interval()
    assert (told.low, told.high) == pytest.approx((ends.low, ends.high))
    assert told.p_value == pytest.approx(exact.pvalue, abs=0.02)
    x, y = rng.normal(size=20), rng.normal(size=20) + 0.5
    told, exact = difference(x, y, paired=True), stats.ttest_rel(y, x)
    ends = exact.confidence_interval()
    assert (told.low, told.high) == pytest.approx((ends.low, ends.high))
    assert told.p_value == pytest.approx(exact.pvalue, abs=0.02)
    d = y - x
    assert told.effect_size == pytest.approx(d.mean() / d.std(ddof=1) * (1 - 3 / (4 * 19 - 1)))
    many = difference(rng.normal(size=3000), rng.normal(size=3000), paired=False)
    assert 0 < many.p_value <= 1


def test_few_episodes_are_tested_by_flipping_signs():
    d = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert difference(np.zeros(6), d, paired=True).p_value == pytest.approx(2 / 64, abs=0.02)
    assert difference(np.zeros(6), np.zeros(6), paired=True)[:4] == (0, 0, 0, 1)
    assert difference(np.zeros(4), d[:4], paired=True)[1:] == (None,) * 4
    same = difference(np.zeros(8), np.ones(8), paired=True)  # no spread at all
    assert (same.low, same.high, same.effect_size) == (1, 1, None)
    assert same.p_value < 0.05


def test_holm_is_the_published_procedure():
    assert holm([0.01, 0.02, 0.03, 0.04]) == [0.04, 0.06, 0.06, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_and_tests_are_calibrated(paired):
    held, found = rates("hedge", "hedge", paired, 12, 400, pool=20_000)
    assert 0.95 - 3 * 0.011 <= held <= 0.95 + 3 * 0.011
    assert found <= 0.05 + 3 * 0.011


def test_episodes_with_the_same_losses_are_paired(tmp_path):
    rng = np.random.default_rng(1)
    losses = drawn(rng)
    paths = [
        write(tmp_path / f"{n}.jsonl", losses, rng, wrong) for n, wrong in (("a", GOOD), ("b", BAD))
    ]
    found = compare_logs(paths)
    (pair,) = found.pairs
    a, b = (contestant.audit for contestant in found.contestants)
    assert pair.paired
    assert pair.difference == pytest.approx(b.regret["external"].total - a.regret["external"].total)
    assert pair.words.startswith("b.jsonl is worse than a.jsonl (p = ")
    assert found.worse() == ["b.jsonl"]
    assert not compare_logs(paths[::-1]).worse()
    write(paths[1], drawn(rng), rng, BAD)
    alone = compare_logs(paths).pairs[0]
    assert not alone.paired
    assert alone.low < alone.difference < alone.high
    # of the same losses the regrets differ as the losses do, but one pair is more precise
    assert compare_logs(paths, measure="loss").measure == "loss"


def test_agents_of_one_log_or_of_several(tmp_path):
    rng = np.random.default_rng(2)
    losses = drawn(rng)
    one = tmp_path / "all.jsonl"
    texts = [
        write(one, losses, rng, wrong, agent=n).read_text()
        for n, wrong in (("x", GOOD), ("y", GOOD), ("z", BAD))
    ]
    one.write_text("\n".join(texts))
    found = compare_logs([one])
    assert [(p.first, p.second) for p in found.pairs] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert all(p.adjusted >= p.p_value for p in found.pairs)
    assert found.worse() == ["z"]
    other = write(tmp_path / "other.jsonl", losses, rng, agent="x")
    assert [o.name for o in compare_logs([one, other], agent="x").contestants] == [
        "all.jsonl",
        "other.jsonl",
    ]
    with pytest.raises(ValueError, match=r"has 3 agents \(x, y, z\): choose which one"):
        compare_logs([one, other])
    with pytest.raises(ValueError, match="has no agent 'q'"):
        compare_logs([one], agent="q")
    assert len({o.name for o in compare_logs([one, one], agent="x").contestants}) == 2


@pytest.mark.parametrize("propensity", [0.5, None])
def test_losses_are_compared_if_regret_is_unknown(tmp_path, propensity):
    rng, paths = np.random.default_rng(3), []
    for name, wrong in (("a", GOOD), ("b", BAD)):
        rows = []
        for e, t in np.ndindex(10, 12):
            action = int(rng.random() >= wrong)
            rows.append(
                {"episode": e, "round": t, "action": action, "loss": 1.0 - action + rng.random()}
            )
            rows[-1] |= {} if propensity is None else {"propensity": propensity}
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("\n".join(map(json.dumps, rows)))
    found = compare_logs(paths)
    assert found.measure == "loss"
    assert found.worse() == ["b.jsonl"]
    assert found.notes[0].startswith("losses are compared, not regrets: ")
    assert "cannot tell" in compare_page(found) or propensity


def test_exit_codes_of_the_command(tmp_path, capsys):
    rng = np.random.default_rng(4)
    losses = drawn(rng)
    good, bad = (
        str(write(tmp_path / f"{n}.jsonl", losses, rng, w))
        for n, w in (("good", GOOD), ("bad", BAD))
    )
    page = tmp_path / "page.html"
    main(["compare", good, bad, "--html", str(page)])
    assert "bad.jsonl is worse than good.jsonl" in capsys.readouterr().out
    assert "bad.jsonl regrets" in page.read_text()
    main(["compare", bad, good, "--fail-if-worse", "--fail-above", "5"])
    main(["compare", good, "--fail-above", "0.5"])  # one log alone
    capsys.readouterr()
    for options, why in (
        ([good, bad, "--fail-if-worse"], "regrax: failed: bad.jsonl is worse than good.jsonl"),
        (
            [good, bad, "--fail-above", "0.5"],
            "regrax: failed: bad.jsonl has more than 0.5 per round",
        ),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["compare", *options, "--json"])
        assert stopped.value.code == 1
        told = capsys.readouterr()
        assert told.err.strip() == why
        assert json.loads(told.out)["failed"] == [why.removeprefix("regrax: failed: ")]
    write(tmp_path / "few.jsonl", losses[:3], rng)
    for options, why in (
        (
            [good, str(tmp_path / "few.jsonl"), "--fail-if-worse"],
            "each must have at least five episodes",
        ),
        ([str(tmp_path / "none.jsonl")], "none.jsonl: No such file"),
        ([], "compare needs at least one log"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["compare", *options])
        assert stopped.value.code == 2
        assert why in capsys.readouterr().err


def test_the_page_in_a_browser(tmp_path, browse):
    rng = np.random.default_rng(5)
    losses = drawn(rng)
    names = (("plain", GOOD), ("<b>&name", BAD), ("third", 0.5))
    paths = [write(tmp_path / f"{n}.jsonl", losses, rng, w) for n, w in names]
    found = browse(compare_page(compare_logs(paths)), "compare", size=(900, 1400))
    assert {name for name, *_ in found.figures} == {"pairs", "time"}
    assert found.overflow <= 0
    assert not found.console
