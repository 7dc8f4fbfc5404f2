"""Verdicts on the paper's numbers, and the summary that counts them."""

import re

import numpy as np
import pytest

from regrax.experiments.runs import Measured
from regrax.paper import (
    REPORTED,
    Depth,
    Equilibrium,
    ReproduceConfig,
    Reproduction,
    StepCell,
    Steps,
    compare,
    count_verdicts,
    line,
    summary_text,
)
from regrax.paper.experiments import Policies

PAIRS = ("linear", "transformer-2", "transformer-4", "calibrated", "uncalibrated", "closed")
FIXED = ("uniform", "hedge", "blum_mansour", "blum_mansour_best")


@pytest.mark.parametrize(
    ("value", "exact", "verdict"),
    [
        (0.0632, 0.05, "same"),
        (0.0501, 0.05, "better: reason"),
        (0.0800, 0.05, "differs: reason"),
        (0.0501, None, "differs: reason"),
    ],
)
def test_verdicts_follow_the_stated_rule(value, exact, verdict):
    row = line("CE gap, calibrated heads", [value], "reason", exact=exact)
    assert row.verdict == verdict
    assert (row.word, row.why) == tuple(verdict.partition(": ")[::2])


def test_other_numbers_have_a_remark_and_an_error():
    row = line("q", [0.1, 0.3], "reason", exact=0.2)
    assert (row.paper, row.verdict, row.ours) == ("", "reason", "0.2000 ± 0.1000")
    values = [0.1, 0.2, 0.3] * 3
    error = np.std(values, ddof=1) / 3**0.5
    assert line("q", values, "", samples=3).ours == f"0.2000 ± {error:.4f}"


def made_up(seed):
    """A reproduction with random numbers around the paper's."""
    rng = np.random.default_rng(seed)

    def curves(count, centre):
        return (centre * rng.uniform(0.5, 1.3) * rng.uniform(0.99, 1.01, (count, 1))).tolist()

    seeds = [Measured(14.8, 0.01, 14.6, *row) for row in rng.uniform(0, 0.5, (3, 3))]
    centres = {"transformer-2": 4.38, "transformer-4": 4.32, "uniform": 7.02}
    policies = {}
    for name in (*centres, "hedge", "optimal"):
        count = 3 if "transformer" in name else 1
        regret = curves(count, centres.get(name, 4.0))
        policies[name] = Policies(regret, [15.0] * count, [0.1] * count, [0.1] * count)
    gaps = {}
    for name in (*PAIRS, *FIXED):
        count = 9 if name in PAIRS else 1
        gaps[name] = {kind: curves(count, 0.08) for kind in ("cce_gap", "ce_gap", "swap_gap")}
    return Reproduction(
        config=ReproduceConfig(quick=True),
        versions={},
        measured={"linear": seeds},
        step_size=[],
        depth=[Depth(14.6, policies)],
        equilibrium=[Equilibrium("weighted-rps", gaps, [20], {}, [])],
        table_one=[],
        generalization=[],
    )


def independent_verdict(row, digits):
    """The rule of the docs, applied to printed numbers."""
    paper, _, spread = row.paper.partition(" ± ")
    ours = float(row.ours.partition(" ± ")[0])
    if abs(ours - float(paper)) <= 2 * float(spread or 0) + 10.0**-digits / 2:
        return "the same"
    if row.exact and abs(ours - float(row.exact)) < float(paper) - float(row.exact):
        return "better"
    return "differ"


@pytest.mark.parametrize("seed", range(5))
def test_totals_agree_with_an_independent_count(seed):
    reproduction = made_up(seed)
    reported = [row for row in compare(reproduction) if row.paper]
    assert len(reported) == len(REPORTED) == 18
    words = []
    for row in reported:
        digits = len(row.ours.partition(" ± ")[0].partition(".")[2])
        words.append(independent_verdict(row, digits))
    totals = ", ".join(f"{words.count(word)} {word}" for word in ("the same", "better", "differ"))
    text = summary_text(reproduction)
    assert f"18 numbers in the paper: {totals}." in " ".join(text.split())
    assert sum(count_verdicts(compare(reproduction)).values()) == 18


def test_the_summary_fits_a_small_terminal():
    text = summary_text(made_up(0), "out/report.html")
    assert max(map(len, text.split("\n"))) <= 78
    assert text.count("\n") < 45
    assert text.endswith("out/report.html (figures)\nEvery number: add --table")
    assert len(re.findall(r"(same|better|differs)$", text, re.MULTILINE)) >= 5


def test_other_sizes_have_no_verdicts():
    reproduction = made_up(0)
    sizes = ReproduceConfig(quick=True, actions=3, horizon=8)
    other = Reproduction(**{**vars(reproduction), "config": sizes})
    assert not any(row.paper or row.verdict for row in compare(other))
    text = summary_text(other)
    assert "R_8, 4 layers" in text
    assert "The paper reports numbers only for 3 actions and 20 rounds." in text


def test_without_a_claim_every_number_is_shown():
    points = [Steps(StepCell("single", 3, T, 3, 9), [T**-0.5] * 3, T**-0.5) for T in (10, 20)]
    only = {"step_size": points, "depth": [], "equilibrium": [], "measured": {}}
    config = ReproduceConfig(only=("step-size",))
    text = summary_text(Reproduction(**{**vars(made_up(0)), **only, "config": config}))
    assert "k*(3, 20), single head" in text
    assert "0.2236 ± 0.0000" in text
    assert "The paper reports no numbers for these experiments." in text
