"""Stationarity and identities: certificates accept what is true and reject what is false."""

import jax
import numpy as np
import pytest

from regrax import theory
from regrax.paper.certify import (
    Block,
    check_expectations,
    check_lemmas,
    family,
    gradient_blocks,
)

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("architecture", "share"), [("single", None), pytest.param("swap", 0.6, marks=pytest.mark.slow)]
)
def test_gradients_agree_with_the_theorems(architecture, share):
    step = None if share is None else share * theory.step_size(2, 6)
    blocks = gradient_blocks(2, 6, key=KEY, architecture=architecture, step=step, sequences=20_000)
    assert all(block.holds for block in blocks)
    largest = max(abs(block.expected).max() for block in blocks)
    assert largest > 0.1 if share else largest < 1e-9


def test_a_wrong_expectation_is_rejected():
    blocks = gradient_blocks(2, 6, key=KEY, step=2 * theory.step_size(2, 6), sequences=20_000)
    assert blocks[0].holds
    assert not blocks[0]._replace(expected=np.zeros(4)).holds


def test_p_values_are_those_of_the_largest_score():
    rng = np.random.default_rng(0)
    blocks = [Block("x", rng.normal(size=9), np.ones(9), np.zeros(9)) for _ in range(2000)]
    assert np.mean([b.p_value < 0.1 for b in blocks]) == pytest.approx(0.1, abs=0.025)


def test_few_sequences_raise(as_users_run_it):
    with pytest.raises(ValueError, match="sequences must be an integer >= 4000, got 10"):
        gradient_blocks(3, 20, key=KEY, sequences=10)


@pytest.mark.slow
def test_the_family_has_one_minimum():
    along = family(3, 20, points=13)
    assert along.slopes["half"] < 0 < along.slopes["twice"]
    assert abs(along.slopes["once"]) < 1e-9
    assert along.curvature > 0
    assert along.roots == 1


def test_many_actions_are_scanned_as_far_as_theory_goes():
    along = family(1000, 5, points=2)
    assert along.scanned[1] * 5**0.5 == pytest.approx(999)
    assert along.roots == 1


def test_identities_hold_and_a_false_one_would_not():
    identities = check_expectations(3, 8, key=KEY, sequences=20_000)
    assert all(identity.holds for identity in identities)
    assert not identities[0]._replace(difference=10 * identities[0].error).holds


@pytest.mark.slow
def test_the_known_slips_fail_as_printed_and_hold_corrected():
    findings = check_lemmas(key=KEY, samples=300)
    broken = {finding.lemma.name for finding in findings if not finding.holds}
    assert broken == {"null direction", "softmax Jacobian (b)", "swap regret display"}
    assert all(finding.holds for finding in findings if finding.lemma.form == "corrected")
