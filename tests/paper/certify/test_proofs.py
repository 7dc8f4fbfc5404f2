"""Proofs in ball arithmetic: they enclose, they refute, and they fail where their conditions fail."""

import json

import pytest

from regrax import theory
from regrax.cli import main
from regrax.paper.certify import (
    Enclosure,
    NotProved,
    rigorous_certificate,
    three_action_step,
)
from regrax.paper.certify.balls import StripError, round_sums
from regrax.paper.certify.two_actions import prove_sign

pytest.importorskip("flint")
pytestmark = pytest.mark.extras

STEP_2_20 = "0.41490690335518356798"


@pytest.fixture(scope="module")
def certificate():
    return rigorous_certificate(20)


def test_the_step_is_enclosed_to_25_digits(certificate):
    assert certificate.step.width < 1e-25
    assert certificate.step.verdict(STEP_2_20) == "proved"
    low, high = certificate.only_root_on
    assert low < 0.21
    assert high > 0.82


@pytest.mark.parametrize("place", [3, 10, 15, 20])
def test_a_wrong_digit_is_refuted(certificate, place):
    digits = list(STEP_2_20)
    digits[place] = str((int(digits[place]) + 5) % 10)
    assert certificate.step.verdict("".join(digits)) == "refuted"


def test_more_digits_than_enclosed_are_undecided(certificate):
    text = certificate.step.ball.mid().str(60, radius=False)
    assert certificate.step.verdict(text) == "undecided"


def test_enclosures_contain_the_floating_point_values(certificate):
    found = theory.curvature(2, 20)
    proved = sorted(float(e.ball.mid()) for _, e in certificate.eigenvalues)
    assert proved == pytest.approx([e.value for e in found.eigenvalues], rel=1e-11)
    assert all(e.width < 1e-24 for _, e in certificate.eigenvalues)
    losses = [float(e.ball.mid()) for e in (certificate.loss, certificate.optimal_loss)]
    exact = [theory.loss(found.step, 2, 20), theory.optimal_loss(2, 20)]
    assert losses == pytest.approx(exact, rel=1e-12)
    assert certificate.is_minimum


@pytest.mark.parametrize("widen", [1.001, 1.5, 3.0])
def test_a_strip_beyond_the_poles_fails(widen):
    with pytest.raises(StripError, match="the strip's half-width must be at most"):
        rigorous_certificate(20, digits=15, reach=1.05, widen=widen)


def test_a_strip_too_wide_for_the_noise_gives_a_useless_ball():
    from flint import arb

    good, useless = (round_sums(arb(0.05), 19, 20, 20, widen) for widen in (1.0, 3.0))
    assert all(ball.rad() < 1e-18 for ball in good)
    assert all(ball.rad() > 1 for ball in useless)


def test_the_error_bound_holds_on_coarse_grids():
    """The rule with a third of the nodes errs by more than rounding and by less than its bound."""
    from flint import arb

    exact = round_sums(arb("0.4149"), 7, 20, 30)
    rough = round_sums(arb("0.4149"), 7, 20, 5)
    for good, bad in zip(exact, rough, strict=True):
        assert bad.overlaps(good)
        assert bad.rad() > 1e3 * good.rad()


def test_a_false_sign_is_not_proved():
    step = theory.step_size(2, 3)
    with pytest.raises(NotProved, match="the sign of L'"):
        prove_sign(3, 0.99 * step, 1.01 * step, -1, 1e-4)


def test_the_command_proves_and_refutes(capsys):
    main(["certify", "--actions", "2", "--horizon", "3", "--rigorous", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["is_minimum"]
    assert found["verdict"] is None
    with pytest.raises(SystemExit) as leaving:
        main(["certify", "--actions", "2", "--horizon", "3", "--claim", "0.5"])
    assert leaving.value.code == 1
    assert "refuted" in capsys.readouterr().out


@pytest.mark.parametrize("claim", ["x", "4149", "0.4 "])
def test_a_claim_must_be_a_number(claim):
    with pytest.raises(ValueError, match="claim must be a decimal number"):
        Enclosure(None).verdict(claim)


def test_three_actions_are_enclosed_and_a_wide_strip_fails():
    found = three_action_step(3)
    assert found.width < 1e-13
    assert found.verdict(f"{theory.step_size(3, 3):.12f}") == "proved"
    with pytest.raises(StripError, match="the proof does not extend past them"):
        three_action_step(3, widen=1.01)


def test_a_coarse_lattice_errs_by_less_than_its_bound():
    good, rough = (three_action_step(2, digits=digits).ball for digits in (20, 6))
    assert rough.contains(good)
    assert rough.rad() > 1e6 * good.rad()


@pytest.mark.slow
def test_three_actions_twenty_rounds_to_twelve_digits():
    found = three_action_step(20)
    assert found.width < 1e-12
    assert found.verdict("0.447904905444") == "proved"
    assert found.verdict("0.447904905446") == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [2, 7, 100])
def test_other_horizons_are_enclosed(horizon):
    found = rigorous_certificate(horizon, reach=1.5)
    assert found.step.width < 1e-25
    assert found.step.verdict(f"{theory.step_size(2, horizon):.12f}") == "proved"
    assert found.is_minimum
