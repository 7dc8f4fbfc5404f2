"""Certificates: they accept what is true, refuse what is false, and agree with exact theory."""

import jax
import numpy as np
import pytest

from regrax import theory
from regrax.paper.certify import (
    ESTIMATORS,
    check_expectations,
    check_lemmas,
    family,
    gradient_blocks,
    monte_carlo_steps,
    numerical_step,
)
from regrax.paper.certify._gradients import Block
from regrax.training import BiasedGaussian, Gaussian, RandomHorizon, Rescaled

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("architecture", "share"), [("single", None), pytest.param("swap", 0.6, marks=pytest.mark.slow)]
)
def test_gradients_are_as_the_theorems_say_on_and_off_the_stationary_step(architecture, share):
    step = None if share is None else share * theory.step_size(2, 6)
    blocks = gradient_blocks(2, 6, key=KEY, architecture=architecture, step=step, sequences=20_000)
    assert all(block.holds for block in blocks)
    largest = max(abs(block.expected).max() for block in blocks)
    assert largest > 0.1 if share else largest < 1e-9


def test_a_wrong_expectation_is_refused():
    blocks = gradient_blocks(2, 6, key=KEY, step=2 * theory.step_size(2, 6), sequences=20_000)
    wrong = blocks[0]._replace(expected=np.zeros(4))
    assert blocks[0].holds
    assert not wrong.holds


def test_p_values_are_those_of_the_largest_of_independent_scores():
    rng = np.random.default_rng(0)
    blocks = [Block("x", rng.normal(size=9), np.ones(9), np.zeros(9)) for _ in range(2000)]
    assert np.mean([b.p_value < 0.1 for b in blocks]) == pytest.approx(0.1, abs=0.025)


@pytest.mark.slow
def test_the_family_has_one_minimum():
    found = family(3, 20, points=13)
    assert found.slopes["half"] < 0 < found.slopes["twice"]
    assert abs(found.slopes["once"]) < 1e-9
    assert found.curvature > 0
    assert found.roots == 1


def test_the_family_of_many_actions_is_scanned_as_far_as_theory_integrates():
    found = family(1000, 5, points=2)
    assert found.scanned[1] * 5**0.5 == pytest.approx(999)
    assert found.roots == 1


@pytest.mark.parametrize("architecture", ["single", pytest.param("swap", marks=pytest.mark.slow)])
def test_the_papers_estimate_is_near_the_exact_step(architecture):
    steps = np.asarray(monte_carlo_steps(2, 10, key=KEY, architecture=architecture, runs=12))
    error = steps.std(ddof=1) / len(steps) ** 0.5
    assert abs(steps.mean() - theory.step_size(2, 10)) < 4 * error + 0.02


@pytest.mark.slow
def test_better_estimators_have_less_variance():
    spread = {
        e: float(
            np.std(monte_carlo_steps(2, 10, key=KEY, estimator=e, runs=12, samples=400), ddof=1)
        )
        for e in ESTIMATORS
    }
    assert spread["hindsight"] < 0.8 * spread["paper"]
    assert spread["conditional"] < 0.2 * spread["paper"]
    assert spread["quasi"] < spread["paper"]


@pytest.mark.slow
def test_a_random_horizon_wants_another_step():
    found = numerical_step(RandomHorizon(Gaussian()), 2, 10, key=KEY, sequences=20_000)
    assert found.high < found.gaussian
    assert found.excess > 0


@pytest.mark.slow
def test_a_rescaled_loss_has_a_rescaled_step():
    twice = numerical_step(Rescaled(Gaussian(), 0.5), 2, 10, key=KEY, sequences=20_000)
    assert twice.low < theory.step_size(2, 10) / 2 < twice.high


def test_losses_without_a_common_mean_are_refused():
    with pytest.raises(ValueError, match="losses must have a common mean"):
        numerical_step(BiasedGaussian(), 2, 10, key=KEY)


def test_identities_hold_and_a_false_one_would_not():
    found = check_expectations(3, 8, key=KEY, sequences=20_000)
    assert all(identity.holds for identity in found)
    assert not found[0]._replace(difference=10 * found[0].error).holds


@pytest.mark.slow
def test_exactly_the_known_slips_fail_as_printed_and_hold_corrected():
    found = check_lemmas(key=KEY, samples=300)
    broken = {f.lemma.name for f in found if not f.holds}
    assert broken == {"null direction", "softmax Jacobian (b)", "swap regret display"}
    assert all(f.holds for f in found if f.lemma.form == "corrected")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: monte_carlo_steps(3, 20, key=KEY, architecture="triple"),
            'must be "single" or "swap"',
        ),
        (
            lambda: monte_carlo_steps(3, 20, key=KEY, estimator="best"),
            "estimator must be one of paper",
        ),
        (lambda: monte_carlo_steps(1, 20, key=KEY), "actions must be an integer >= 2"),
        (
            lambda: gradient_blocks(3, 20, key=KEY, sequences=10),
            "sequences must be an integer >=",
        ),
    ],
)
@pytest.mark.usefixtures("as_users_run_it")
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
