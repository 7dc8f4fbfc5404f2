"""Certificates without proofs: they accept what is true and reject what is false."""

import json
from fractions import Fraction

import jax
import numpy as np
import pytest

from regrax import theory
from regrax.cli import main
from regrax.paper.certify import (
    ESTIMATORS,
    Comparison,
    check_expectations,
    check_lemmas,
    descent,
    family,
    gradient_blocks,
    hessian_matrix,
    monte_carlo_steps,
    numerical_step,
    rigorous_minimax,
    sampled_curvature,
)
from regrax.training import BiasedGaussian, Gaussian, RandomHorizon, Rescaled

KEY = jax.random.key(0)
SLOW = pytest.mark.slow


def test_p_values_are_those_of_the_largest_score():
    rng = np.random.default_rng(0)
    samples = [Comparison("x", rng.normal(size=9), np.ones(9), np.zeros(9)) for _ in range(2000)]
    assert np.mean([s.p_value < 0.1 for s in samples]) == pytest.approx(0.1, abs=0.025)
    samples = [Comparison.of("x", rng.normal(size=(10, 4)), 0.0, 9) for _ in range(2000)]
    assert np.mean([s.p_value < 0.1 for s in samples]) == pytest.approx(0.1, abs=0.025)


@pytest.mark.parametrize("share", [None, 2.0, pytest.param(0.6, marks=SLOW)])
def test_gradients_agree_with_the_theorems(share):
    step = None if share is None else share * theory.step_size(2, 6)
    kind = "swap" if share == 0.6 else "single"
    blocks = gradient_blocks(2, 6, key=KEY, architecture=kind, step=step, sequences=20_000)
    assert all(block.holds for block in blocks)
    largest = max(abs(block.expected).max() for block in blocks)
    assert largest > 0.1 if share else largest < 1e-9
    assert share is None or not blocks[0]._replace(expected=0 * blocks[0].expected).holds


@pytest.mark.parametrize(
    ("d", "T", "count"),
    [
        (2, 5, 2000),
        *(pytest.param(*size, marks=SLOW) for size in ((3, 4, 1200), (4, 10, 9000), (6, 15, 3000))),
    ],
)
def test_every_eigenspace_agrees_and_a_wrong_one_does_not(d, T, count):
    sampled = sampled_curvature(theory.curvature(d, T), key=KEY, sequences=10 * count)
    assert sampled.holds
    wrong = sampled.expected * np.r_[1.1, np.ones(len(sampled.expected) - 1)]
    assert not sampled._replace(expected=wrong).holds


def test_the_matrix_has_the_spectrum_of_the_curvature():
    exact = theory.curvature(4, 6)
    matrix = hessian_matrix(exact)
    assert matrix == pytest.approx(matrix.T, abs=1e-12)
    assert np.linalg.eigvalsh(matrix) == pytest.approx(exact.spectrum(), abs=1e-11)


@SLOW
def test_the_curvature_predicts_the_speed_of_descent():
    measured = descent(2, 5, key=KEY, sequences=4000)
    assert measured.contraction == pytest.approx(measured.curvature.contraction, abs=0.01)
    assert measured.below < 1 < measured.above
    assert measured.nearby_steps <= 6
    assert measured.preconditioned_steps < measured.gradient_steps


def test_identities_hold_and_a_false_one_would_not():
    identities = check_expectations(3, 8, key=KEY, sequences=20_000)
    assert all(identity.holds for identity in identities)
    assert not identities[0]._replace(mean=10 * identities[0].error).holds


@SLOW
def test_the_known_slips_fail_as_printed_and_hold_corrected():
    findings = check_lemmas(key=KEY, samples=300)
    broken = {finding.lemma.name for finding in findings if not finding.holds}
    assert broken == {"null direction", "softmax Jacobian (b)", "swap regret display"}
    assert all(finding.holds for finding in findings if finding.lemma.form == "corrected")


@pytest.mark.parametrize(("d", "T", "points"), [(1000, 5, 2), pytest.param(3, 20, 13, marks=SLOW)])
def test_the_family_has_one_minimum(d, T, points):
    along = family(d, T, points=points)
    assert along.slopes["half"] < 0 < along.slopes["twice"]
    assert abs(along.slopes["once"]) < 1e-9
    assert along.curvature > 0
    assert along.roots == 1
    assert along.scanned[1] * T**0.5 < 999 * (1 + 1e-9)  # as far as theory goes


@pytest.mark.parametrize("architecture", ["single", pytest.param("swap", marks=SLOW)])
def test_the_papers_estimate_is_near_the_exact_step(architecture):
    steps = np.asarray(monte_carlo_steps(2, 10, key=KEY, architecture=architecture, runs=12))
    error = steps.std(ddof=1) / len(steps) ** 0.5
    assert abs(steps.mean() - theory.step_size(2, 10)) < 4 * error + 0.02


@SLOW
def test_better_estimators_have_less_variance():
    spread = {}
    for estimator in ESTIMATORS:
        steps = monte_carlo_steps(2, 10, key=KEY, estimator=estimator, runs=12, samples=400)
        spread[estimator] = float(np.std(steps, ddof=1))
    assert spread["hindsight"] < 0.8 * spread["paper"]
    assert spread["conditional"] < 0.2 * spread["paper"]
    assert spread["quasi"] < spread["paper"]


@SLOW
def test_other_losses_have_another_step():
    random = numerical_step(RandomHorizon(Gaussian()), 2, 10, key=KEY, sequences=20_000)
    assert random.high < random.gaussian
    assert random.excess > 0
    rescaled = numerical_step(Rescaled(Gaussian(), 0.5), 2, 10, key=KEY, sequences=20_000)
    assert rescaled.low < theory.step_size(2, 10) / 2 < rescaled.high


def test_the_minimax_value_is_a_fraction():
    assert rigorous_minimax(3, 20) == Fraction(1893749, 786432)
    assert float(rigorous_minimax(2, 15)) == pytest.approx(theory.minimax(2, 15), abs=1e-13)


def test_the_command_prints_worst_cases(capsys):
    size = ["certify", "--actions", "3", "--horizon", "6", "--worst-case"]
    main([*size, "--learners", "hedge(0.9)", "minimax(6)", "--json"])
    rows = json.loads(capsys.readouterr().out)["worst_cases"]
    assert [row["learner"] for row in rows] == ["minimax", "hedge(0.9)", "minimax(6)"]
    assert rows[1]["regret"] == pytest.approx(theory.worst_case("hedge(0.9)", 3, 6).regret)
    assert rows[2]["regret"] == pytest.approx(rows[0]["regret"])
    main(size)
    assert "optimal(6, 0.68)" in capsys.readouterr().out


REJECTED = {
    "must be one of single, swap": lambda: monte_carlo_steps(3, 20, key=KEY, architecture="triple"),
    "must be one of paper": lambda: monte_carlo_steps(3, 20, key=KEY, estimator="best"),
    "actions must be an integer >= 2": lambda: monte_carlo_steps(1, 20, key=KEY),
    "must have a common mean": lambda: numerical_step(BiasedGaussian(), 2, 10, key=KEY),
    "must be an integer >= 4000": lambda: gradient_blocks(3, 20, key=KEY, sequences=10),
    "actions must be at most 3": lambda: rigorous_minimax(4, 3),
}


@pytest.mark.parametrize("message", REJECTED)
def test_bad_arguments_raise(message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        REJECTED[message]()
