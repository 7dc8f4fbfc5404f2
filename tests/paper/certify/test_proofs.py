"""Proofs in ball arithmetic: they enclose, they refute, and they fail where their conditions fail."""

import json

import pytest

from regrax import theory
from regrax.cli import main
from regrax.paper.certify import (
    Enclosure,
    NotProved,
    rigorous_certificate,
    rigorous_minimax,
    rigorous_worst_case,
    three_action_step,
)
from regrax.paper.certify.balls import StripError, round_sums
from regrax.paper.certify.two_actions import prove_sign

pytest.importorskip("flint")
pytestmark = pytest.mark.extras

STEP_2_20 = "0.41490690335518356798"
WORST_CASE = ["certify", "--actions", "3", "--horizon", "6", "--worst-case"]


@pytest.fixture(scope="module")
def certificate():
    return rigorous_certificate(20)


def test_the_step_is_enclosed_to_25_digits(certificate):
    assert certificate.step.width < 1e-25
    assert certificate.step.verdict(STEP_2_20) == "proved"
    low, high = certificate.only_root_on
    assert low < 0.21
    assert high > 0.82
    longer = certificate.step.ball.mid().str(60, radius=False)
    assert certificate.step.verdict(longer) == "undecided"
    for place in (3, 10, 15, 20):
        digits = list(STEP_2_20)
        digits[place] = str((int(digits[place]) + 5) % 10)
        assert certificate.step.verdict("".join(digits)) == "refuted"


def test_enclosures_contain_the_floating_point_values(certificate):
    exact = theory.curvature(2, 20)
    proved = sorted(float(e.ball.mid()) for _, e in certificate.eigenvalues)
    assert proved == pytest.approx([e.value for e in exact.eigenvalues], rel=1e-11)
    assert all(e.width < 1e-24 for _, e in certificate.eigenvalues)
    losses = [float(e.ball.mid()) for e in (certificate.loss, certificate.optimal_loss)]
    expected = [theory.loss(exact.step, 2, 20), theory.optimal_loss(2, 20)]
    assert losses == pytest.approx(expected, rel=1e-12)
    assert certificate.is_minimum


@pytest.mark.parametrize("widen", [1.001, 3.0])
def test_a_strip_beyond_the_poles_fails(widen):
    with pytest.raises(StripError, match="the strip's half-width must be at most"):
        rigorous_certificate(20, digits=15, reach=1.05, widen=widen)


def test_error_bounds_hold_on_coarse_grids_and_wide_strips():
    from flint import arb

    good = round_sums(arb("0.4149"), 7, 20, 30)
    rough = round_sums(arb("0.4149"), 7, 20, 5)  # a third of the nodes
    for exact, bounded in zip(good, rough, strict=True):
        assert bounded.overlaps(exact)
        assert bounded.rad() > 1e3 * exact.rad()
    small, useless = (round_sums(arb(0.05), 19, 20, 20, widen) for widen in (1.0, 3.0))
    assert all(ball.rad() < 1e-18 for ball in small)
    assert all(ball.rad() > 1 for ball in useless)


def test_a_false_sign_is_not_proved():
    step = theory.step_size(2, 3)
    with pytest.raises(NotProved, match="the sign of L'"):
        prove_sign(3, 0.99 * step, 1.01 * step, -1, 1e-4)


@pytest.mark.parametrize("claim", ["x", "4149", "0.4 "])
def test_a_claim_must_be_a_number(claim):
    with pytest.raises(ValueError, match="claim must be a decimal number"):
        Enclosure(None).verdict(claim)


def test_three_actions_are_enclosed_and_a_wide_strip_fails():
    step = three_action_step(3)
    assert step.width < 1e-13
    assert step.verdict(f"{theory.step_size(3, 3):.12f}") == "proved"
    with pytest.raises(StripError, match="the proof does not extend past them"):
        three_action_step(3, widen=1.01)
    good, rough = (three_action_step(2, digits=digits).ball for digits in (20, 6))
    assert rough.contains(good)
    assert rough.rad() > 1e6 * good.rad()


@pytest.mark.slow
def test_three_actions_twenty_rounds_to_twelve_digits():
    step = three_action_step(20)
    assert step.width < 1e-12
    assert step.verdict("0.447904905444") == "proved"
    assert step.verdict("0.447904905446") == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [2, 7, 100])
def test_other_horizons_are_enclosed(horizon):
    proved = rigorous_certificate(horizon, reach=1.5)
    assert proved.step.width < 1e-25
    assert proved.step.verdict(f"{theory.step_size(2, horizon):.12f}") == "proved"
    assert proved.is_minimum


LEADERS = ("optimal(6, 0.68)", "follow_the_perturbed_leader(1.5)")


@pytest.mark.parametrize("actions", [2, 3])
@pytest.mark.parametrize("learner", ["hedge(0.66)", "hedge(inverse_sqrt(1.0))", *LEADERS])
def test_worst_cases_contain_the_floating_point_values(actions, learner):
    proved = rigorous_worst_case(learner, actions, 6)
    computed = theory.worst_case(learner, actions, 6).regret
    assert proved.width < 1e-20
    assert float(proved.ball.mid()) == pytest.approx(computed, abs=1e-12)
    assert proved.verdict(f"{computed:.11f}") == "proved"
    assert proved.verdict(f"{computed + 1e-9:.11f}") == "refuted"


def test_worst_cases_have_a_published_digit_and_limits():
    assert rigorous_worst_case("hedge(0.66)", 3, 20).verdict("3.0772088966") == "proved"
    with pytest.raises(ValueError, match="only for Hedge and the perturbed leader"):
        rigorous_worst_case("fictitious_play()", 2, 3)
    with pytest.raises(ValueError, match="actions must be at most 3"):
        rigorous_worst_case("hedge(0.5)", 4, 3)


def test_the_command_proves_and_refutes(capsys):
    command = ["certify", "--actions", "2", "--horizon", "3"]
    main([*command, "--rigorous", "--json"])
    proved = json.loads(capsys.readouterr().out)
    assert proved["is_minimum"]
    assert proved["verdict"] is None
    with pytest.raises(SystemExit) as leaving:
        main([*command, "--claim", "0.5"])
    assert leaving.value.code == 1
    assert "refuted" in capsys.readouterr().out
    main([*WORST_CASE, "--learners", "hedge(0.9)", "--rigorous"])
    printed = capsys.readouterr().out
    assert str(rigorous_minimax(3, 6)) in printed
    assert "+/-" in printed
