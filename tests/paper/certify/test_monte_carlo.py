"""Monte Carlo estimates of the step against the exact one."""

import jax
import numpy as np
import pytest

from regrax import theory
from regrax.paper.certify import ESTIMATORS, monte_carlo_steps, numerical_step
from regrax.training import BiasedGaussian, Gaussian, RandomHorizon, Rescaled

KEY = jax.random.key(0)


@pytest.mark.parametrize("architecture", ["single", pytest.param("swap", marks=pytest.mark.slow)])
def test_the_papers_estimate_is_near_the_exact_step(architecture):
    steps = np.asarray(monte_carlo_steps(2, 10, key=KEY, architecture=architecture, runs=12))
    error = steps.std(ddof=1) / len(steps) ** 0.5
    assert abs(steps.mean() - theory.step_size(2, 10)) < 4 * error + 0.02


@pytest.mark.slow
def test_better_estimators_have_less_variance():
    spread = {}
    for estimator in ESTIMATORS:
        steps = monte_carlo_steps(2, 10, key=KEY, estimator=estimator, runs=12, samples=400)
        spread[estimator] = float(np.std(steps, ddof=1))
    assert spread["hindsight"] < 0.8 * spread["paper"]
    assert spread["conditional"] < 0.2 * spread["paper"]
    assert spread["quasi"] < spread["paper"]


@pytest.mark.slow
def test_other_losses_have_another_step():
    random = numerical_step(RandomHorizon(Gaussian()), 2, 10, key=KEY, sequences=20_000)
    assert random.high < random.gaussian
    assert random.excess > 0
    rescaled = numerical_step(Rescaled(Gaussian(), 0.5), 2, 10, key=KEY, sequences=20_000)
    assert rescaled.low < theory.step_size(2, 10) / 2 < rescaled.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: monte_carlo_steps(3, 20, key=KEY, architecture="triple"), '"single" or "swap"'),
        (lambda: monte_carlo_steps(3, 20, key=KEY, estimator="best"), "must be one of paper"),
        (lambda: monte_carlo_steps(1, 20, key=KEY), "actions must be an integer >= 2"),
        (lambda: numerical_step(BiasedGaussian(), 2, 10, key=KEY), "must have a common mean"),
    ],
)
def test_bad_arguments_raise(call, message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        call()
