"""Comparisons: scipy's numbers, pairing by shared losses, calibration, Holm, the page and the exit codes."""

import json

import numpy as np
import pytest
from benchmarks.compare import rates
from scipy import stats
from tests.agents.audit.rows import rows_of

from regrax.agents.audit import compare_logs
from regrax.agents.audit.compare import difference, holm
from regrax.cli import main
from regrax.show.report import compare_page

GOOD, BAD = 0.2, 0.8  # chances to play the worse action


def drawn(seed, episodes=12):
    """Losses of two actions, of which the second is better by one."""
    losses = np.random.default_rng(seed).random((episodes, 10, 2)).round(3)
    return losses + np.array([1.0, 0.0])


def rows(losses, wrong, seed=0, agent="model"):
    actions = (np.random.default_rng([seed, int(10 * wrong)]).random(losses.shape[:2]) >= wrong) + 0
    return rows_of(action=actions, losses=losses, fields={"agent": agent})


@pytest.mark.parametrize("paired", [True, False])
def test_intervals_and_p_values_are_those_of_scipy(paired):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), 2 * rng.normal(size=25) + 1
    exact = stats.ttest_ind(y, x, equal_var=False)
    if paired:
        y = rng.normal(size=20) + 0.5
        exact = stats.ttest_rel(y, x)
    result = difference(x, y, paired)
    ends = exact.confidence_interval()
    assert (result.low, result.high) == pytest.approx((ends.low, ends.high))
    assert result.p_value == pytest.approx(exact.pvalue, abs=0.02)
    if paired:
        d = y - x
        effect = d.mean() / d.std(ddof=1) * (1 - 3 / (4 * 19 - 1))
        assert result.effect_size == pytest.approx(effect)
    many = difference(rng.normal(size=3000), rng.normal(size=3000), paired)
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
    covered, alarms = rates("hedge", "hedge", paired, 12, 400, pool=20_000)
    assert 0.95 - 3 * 0.011 <= covered <= 0.95 + 3 * 0.011
    assert alarms <= 0.05 + 3 * 0.011


def test_episodes_with_the_same_losses_are_paired(write):
    paths = [write(rows(drawn(1), wrong), f"{wrong}.jsonl") for wrong in (GOOD, BAD)]
    comparison = compare_logs(paths)
    (pair,) = comparison.pairs
    good, bad = (contestant.audit.regret["external"] for contestant in comparison.contestants)
    assert pair.paired
    assert pair.difference == pytest.approx(bad.total - good.total)
    assert pair.words.startswith("0.8.jsonl is worse than 0.2.jsonl (p = ")
    assert comparison.worse() == ["0.8.jsonl"]
    assert not compare_logs(paths[::-1]).worse()
    write(rows(drawn(2), BAD), "0.8.jsonl")
    alone = compare_logs(paths).pairs[0]
    assert not alone.paired
    assert alone.low < alone.difference < alone.high
    assert compare_logs(paths, measure="loss").measure == "loss"


def test_agents_of_one_log_or_of_several(write):
    losses = drawn(2)
    agents = {"x": (GOOD, 1), "y": (GOOD, 2), "z": (BAD, 3)}
    several = write([row for name, how in agents.items() for row in rows(losses, *how, name)])
    comparison = compare_logs([several])
    assert [(p.first, p.second) for p in comparison.pairs] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert all(pair.adjusted >= pair.p_value for pair in comparison.pairs)
    assert comparison.worse() == ["z"]
    other = write(rows(losses, GOOD, agent="x"), "other.jsonl")
    chosen = compare_logs([several, other], agent="x").contestants
    assert [contestant.name for contestant in chosen] == ["log.jsonl", "other.jsonl"]
    with pytest.raises(ValueError, match=r"has 3 agents \(x, y, z\): choose which one"):
        compare_logs([several, other])
    with pytest.raises(ValueError, match="has no agent 'q'"):
        compare_logs([several], agent="q")
    twice = compare_logs([several, several], agent="x").contestants
    assert twice[0].name != twice[1].name


@pytest.mark.parametrize("propensity", [0.5, None])
def test_losses_are_compared_if_regret_is_unknown(write, propensity):
    rng = np.random.default_rng(3)
    paths = []
    for wrong in (GOOD, BAD):
        actions = (rng.random((10, 12)) >= wrong) + 0
        loss = 1 - actions + rng.random((10, 12))
        fields = {} if propensity is None else {"propensity": propensity}
        paths.append(write(rows_of(action=actions, loss=loss, fields=fields), f"{wrong}.jsonl"))
    comparison = compare_logs(paths)
    assert comparison.measure == "loss"
    assert comparison.worse() == ["0.8.jsonl"]
    assert comparison.notes[0].startswith("losses are compared, not regrets: ")
    assert "cannot tell" in compare_page(comparison) or propensity


def test_a_gate_that_holds_lets_the_command_end(write, capsys):
    good, bad = (str(write(rows(drawn(4), w), f"{w}.jsonl")) for w in (GOOD, BAD))
    main(["compare", bad, good, "--fail-if-worse", "--fail-above", "5"])
    main(["compare", good, "--fail-above", "0.5"])  # one log alone


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["good", "bad", "--fail-if-worse"], 1, "bad.jsonl is worse than good.jsonl"),
        (["good", "bad", "--fail-above", "0.5"], 1, "bad.jsonl has more than 0.5 per round"),
        (["good", "few", "--fail-if-worse"], 2, "each must have at least five episodes"),
        (["none"], 2, "none.jsonl: No such file"),
        ([], 2, "at least one log must be given"),
    ],
)
def test_exit_codes_of_the_command(write, tmp_path, capsys, options, code, why):
    losses = drawn(4)
    write(rows(losses, GOOD), "good.jsonl")
    write(rows(losses, BAD), "bad.jsonl")
    write(rows(losses[:3], GOOD), "few.jsonl")
    names = ("good", "bad", "few", "none")
    paths = [str(tmp_path / f"{part}.jsonl") if part in names else part for part in options]
    with pytest.raises(SystemExit) as stopped:
        main(["compare", *paths, "--json"])
    assert stopped.value.code == code
    printed = capsys.readouterr()
    assert why in printed.err
    if code == 1:
        assert printed.err.strip() == f"regrax: failed: {why}"
        assert json.loads(printed.out)["failed"] == [why]


def test_the_page_in_a_browser(write, browse):
    names = (("plain", GOOD), ("<b>&name", BAD), ("third", 0.5))
    paths = [write(rows(drawn(5), wrong), f"{name}.jsonl") for name, wrong in names]
    seen = browse(compare_page(compare_logs(paths)), "compare", size=(900, 1400))
    assert {name for name, *_ in seen.figures} == {"pairs", "time"}
    assert seen.overflow <= 0
    assert not seen.console
