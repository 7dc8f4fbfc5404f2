"""Worst cases in ball arithmetic: they enclose the floating-point values and refute wrong digits."""

import json
from fractions import Fraction

import pytest

from regrax import theory
from regrax.cli import main
from regrax.paper.certify import rigorous_minimax, rigorous_worst_case

SIZE = ["--actions", "3", "--horizon", "6", "--worst-case"]


def test_the_minimax_value_is_a_fraction():
    assert rigorous_minimax(3, 20) == Fraction(1893749, 786432)
    assert float(rigorous_minimax(2, 15)) == pytest.approx(theory.minimax(2, 15), abs=1e-13)


def test_the_command_prints_worst_cases(capsys):
    main(["certify", *SIZE, "--learners", "hedge(0.9)", "minimax(6)", "--json"])
    rows = json.loads(capsys.readouterr().out)["worst_cases"]
    assert [row["learner"] for row in rows] == ["minimax", "hedge(0.9)", "minimax(6)"]
    assert rows[1]["regret"] == pytest.approx(theory.worst_case("hedge(0.9)", 3, 6).regret)
    assert rows[2]["regret"] == pytest.approx(rows[0]["regret"])
    main(["certify", *SIZE])
    assert "optimal(6, 0.68)" in capsys.readouterr().out


@pytest.mark.extras
@pytest.mark.parametrize("actions", [2, 3])
@pytest.mark.parametrize(
    "learner",
    [
        "hedge(0.66)",
        "hedge(inverse_sqrt(1.0))",
        "optimal(6, 0.68)",
        "follow_the_perturbed_leader(1.5)",
    ],
)
def test_enclosures_contain_the_floating_point_values(actions, learner):
    pytest.importorskip("flint")
    proved = rigorous_worst_case(learner, actions, 6)
    computed = theory.worst_case(learner, actions, 6).regret
    assert proved.width < 1e-20
    assert float(proved.ball.mid()) == pytest.approx(computed, abs=1e-12)
    assert proved.verdict(f"{computed:.11f}") == "proved"
    assert proved.verdict(f"{computed + 1e-9:.11f}") == "refuted"


@pytest.mark.extras
def test_the_command_prints_proofs(capsys):
    pytest.importorskip("flint")
    assert rigorous_worst_case("hedge(0.66)", 3, 20).verdict("3.0772088966") == "proved"
    main(["certify", *SIZE, "--learners", "hedge(0.9)", "--rigorous"])
    printed = capsys.readouterr().out
    assert str(rigorous_minimax(3, 6)) in printed
    assert "+/-" in printed
    with pytest.raises(ValueError, match="only for Hedge and the perturbed leader"):
        rigorous_worst_case("fictitious_play()", 2, 3)
    with pytest.raises(ValueError, match="actions must be at most 3"):
        rigorous_worst_case("hedge(0.5)", 4, 3)
