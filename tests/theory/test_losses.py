"""Exact losses, steps and schedules against published digits, independent integrals and Monte Carlo."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr

from regrax import theory
from regrax.theory.moments import round_terms

PRINTED_7 = 0.6e-7  # seven decimals
PRINTED_12 = 0.6e-12
INDEPENDENT = 1e-10
ROUNDING = 1e-13


@pytest.mark.parametrize(
    ("actions", "uniform", "fictitious", "best"),
    [
        (2, 10.0000000, 6.7198813, 6.5965878),
        (3, 18.8466223, 14.7940792, 14.6276164),
        (5, 32.0004087, 27.6109244, 27.4087056),
    ],
)
def test_losses_have_the_published_digits(actions, uniform, fictitious, best):
    step = theory.step_size(actions, 20)
    assert abs(theory.uniform_loss(actions, 20) - uniform) < PRINTED_7
    assert abs(theory.loss(step, actions, 20) - fictitious) < PRINTED_7
    assert abs(theory.optimal_loss(actions, 20) - best) < PRINTED_7


def two_actions(scaled, tau):
    """A, B and their slopes for d = 2, as integrals over the difference of the two sums."""
    spread, noise = math.sqrt(2 * tau), math.sqrt(2 * (1 - tau))

    def expect(f):
        def integrand(x):
            return 2 * f(x) * math.exp(-((x / spread) ** 2) / 2) / spread / math.sqrt(2 * math.pi)

        return quad(integrand, 0, 10 * spread, epsabs=1e-13, epsrel=1e-12, limit=200)[0]

    def p(x):
        return expit(scaled * x)

    def dp(x):
        return x * p(x) * p(-x)

    return (
        expect(lambda x: p(x) ** 2 + p(-x) ** 2),
        expect(lambda x: p(x) * ndtr(x / noise) + p(-x) * ndtr(-x / noise)),
        expect(lambda x: 2 * dp(x) * (p(x) - p(-x))),
        expect(lambda x: dp(x) * (ndtr(x / noise) - ndtr(-x / noise))),
    )


@pytest.mark.parametrize("tau", [0.001, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("scaled", [0.1, 1.9, 12.0])
def test_two_actions_agree_with_a_single_integral(scaled, tau):
    terms = round_terms(scaled, tau, 2)
    np.testing.assert_allclose(terms, two_actions(scaled, tau), atol=INDEPENDENT)


@pytest.mark.parametrize(("actions", "tolerance"), [(2, 1e-12), (30, 1e-12), (10**6, 2e-10)])
@pytest.mark.parametrize("tau", [0.002, 0.5, 0.998])
def test_refining_every_grid_changes_nothing(actions, tolerance, tau):
    scaled = theory.step_size(actions, 2) * math.sqrt(2)
    coarse, fine = (round_terms(scaled, tau, actions, fineness) for fineness in (1.0, 1.6))
    np.testing.assert_allclose(coarse, fine, atol=tolerance)


@pytest.mark.parametrize("actions", [2, 3, 1000])
def test_the_derivative_adds_up_and_vanishes_at_the_step(actions):
    ahead, behind = (theory.loss(0.3 + bump, actions, 20) for bump in (1e-5, -1e-5))
    parts = theory.loss_parts(0.3, actions, 20)
    derivative = theory.loss_derivative(0.3, actions, 20)
    assert derivative == -2 * parts.sigma_1 + 2 * parts.sigma_2
    assert abs((ahead - behind) / 2e-5 - derivative) < 1e-7
    assert abs(theory.loss_derivative(theory.step_size(actions, 20), actions, 20)) < 1e-11


@pytest.mark.parametrize("horizon", [13, 400])
def test_a_few_rounds_represent_all(horizon):
    """L is the sum over rounds of A - 2B, and T times E[m^2]."""
    step = theory.step_size(3, horizon)
    scaled = step * math.sqrt(horizon)
    every = [round_terms(scaled, n / horizon, 3).loss for n in range(horizon)]
    exact = horizon * theory.minimum_moment(3, 2) + math.fsum(every)
    assert math.isclose(theory.loss(step, 3, horizon), exact, rel_tol=ROUNDING)


@pytest.mark.parametrize(("actions", "horizon"), [(2, 9), (5, 6)])
def test_losses_on_the_ball_agree_with_draws(actions, horizon):
    rng, step = np.random.default_rng(0), 0.2
    total, paid = np.zeros((actions, 100_000)), np.zeros(100_000)
    for _ in range(horizon):
        loss = rng.standard_normal(total.shape)
        paid += (-step * total * loss).sum(0)
        total += loss
    square = (paid + 1.5 * np.linalg.norm(total, axis=0)) ** 2
    exact = theory.loss(step, actions, horizon, operator="ball", radius=1.5)
    assert abs(square.mean() - exact) < 4 * square.std() / math.sqrt(square.size)


@pytest.mark.parametrize("actions", [2, 3, 101])
def test_the_bound_on_the_ball_is_the_mean_cosine(actions):
    rng, rho = np.random.default_rng(1), 0.5  # two rounds: the second is played at correlation 1/2
    x, z = rng.standard_normal((2, actions, 50_000))
    y = rho * x + math.sqrt(1 - rho**2) * z
    cosine = (x * y).sum(0) / np.linalg.norm(x, axis=0) / np.linalg.norm(y, axis=0)
    exact = 2 * actions - theory.optimal_loss(actions, 2, operator="ball")
    assert abs(cosine.mean() - exact) < 4 * cosine.std() / math.sqrt(cosine.size)


@pytest.mark.parametrize("rho", [0, 0.3, 0.9, 0.999999, 1])
def test_stability_of_two_actions_is_an_arcsine(rho):
    assert abs(theory.stability(rho, 2) - 0.5 - math.asin(rho) / math.pi) < 1e-14


@pytest.mark.parametrize("actions", [3, 10, 10**6])
def test_stability_runs_from_one_over_d_to_one(actions):
    curve = [theory.stability(rho, actions) for rho in (0, 0.25, 0.5, 0.75, 1)]
    assert math.isclose(curve[0], 1 / actions, rel_tol=1e-12)
    assert curve[-1] == 1
    assert np.all(np.diff(curve) > 0)


def test_moments_of_the_smallest_normal():
    assert math.isclose(theory.minimum_moment(2, 1), -1 / math.sqrt(math.pi), rel_tol=1e-13)
    assert math.isclose(theory.minimum_moment(3, 1), -1.5 / math.sqrt(math.pi), rel_tol=1e-13)
    square = 1 + math.sqrt(3) / (2 * math.pi)
    assert math.isclose(theory.minimum_moment(3, 2), square, rel_tol=1e-12)
    assert math.isclose(theory.minimum_moment(10**6, 0), 1, rel_tol=1e-12)
    assert math.isclose(theory.optimal_loss(2, math.inf), 1 / math.pi, rel_tol=1e-12)


STEPS = {
    (2, 20): 0.414906903355,
    (3, 20): 0.447904905444,
    (5, 20): 0.487961846467,
    (3, 100): 0.203915737901,
}
LIMITS = {2: 1.8970116, 3: 2.0488938, 10: 2.4691489, 1000: 3.7291970, 10**6: 5.0945828}


@pytest.mark.parametrize("size", STEPS)
def test_steps_have_the_published_digits(size):
    estimate = theory.step_size_with_error(*size)
    assert abs(estimate.value - STEPS[size]) < PRINTED_12
    assert estimate.error < ROUNDING


@pytest.mark.parametrize("actions", LIMITS)
def test_the_scaled_step_has_the_published_limit(actions):
    assert abs(theory.step_size(actions, math.inf) - LIMITS[actions]) < PRINTED_7


@pytest.mark.parametrize(("actions", "horizon"), [(2, 10**12), (20, 10**6)])
def test_long_horizons_approach_the_infinite_one(actions, horizon):
    limit = theory.step_size(actions, math.inf)
    assert abs(theory.step_size(actions, horizon) * math.sqrt(horizon) - limit) < 2 / horizon**0.75
    for of in (theory.uniform_loss, theory.optimal_loss):
        gap = of(actions, horizon) / horizon - of(actions, math.inf)
        assert abs(gap) < 2 / math.sqrt(horizon)
    assert abs(theory.loss_derivative(limit, actions, math.inf)) < 1e-12
    assert theory.loss(limit, actions, math.inf) > theory.optimal_loss(actions, math.inf)


def test_the_largest_sizes_have_answers():
    estimate = theory.step_size_with_error(10**6, 2)
    assert estimate.error < 1e-9 * estimate.value


def test_the_ball_has_its_closed_form():
    unit = theory.step_size(3, 20, operator="ball")
    assert abs(unit - 0.1189416) < PRINTED_7
    assert theory.step_size(3, 20, operator="ball", radius=2) == 2 * unit
    mean_norm = math.sqrt(8 / math.pi)  # of three normals
    assert math.isclose(theory.step_size(3, math.inf, operator="ball"), mean_norm / 3)
    best, *others = [theory.loss(x * unit, 3, 20, operator="ball") for x in (1, 0.9, 1.1)]
    assert theory.optimal_loss(3, 20, operator="ball") < best < min(others)


@pytest.mark.parametrize(
    ("actions", "horizon"), [(3, 20), pytest.param(4, 200, marks=pytest.mark.slow)]
)
def test_the_schedule_minimises_the_loss_of_each_round(actions, horizon):
    schedule = theory.step_schedule(actions, horizon)
    assert schedule.optimal_loss < schedule.loss < schedule.constant_loss
    assert 0.98 < schedule.closed < 1
    scaled = schedule.steps * math.sqrt(horizon)
    first = -actions / (actions - 1) * theory.minimum_moment(actions, 1)
    assert scaled[0] == pytest.approx(first, rel=1e-8)
    every = [round_terms(K, n / horizon, actions) for n, K in enumerate(scaled)]
    assert max(abs(terms.slope) for terms in every) < 1e-8
    total = horizon * theory.minimum_moment(actions, 2) + sum(terms.loss for terms in every)
    assert math.isclose(schedule.loss, total, rel_tol=1e-12)
