"""The exact step, loss and limit against printed values, an independent integration and Monte Carlo."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from regrax import theory
from regrax.theory.moments import collision, foresight
from regrax.theory.quadrature import mean_over_rounds, round_nodes

PRINTED_12 = 0.6e-12  # twelve decimals
PRINTED_7 = 0.6e-7  # seven decimals
INDEPENDENT = 1e-10
ROUNDING = 1e-13


@pytest.mark.parametrize(
    ("actions", "horizon", "step"),
    [
        (2, 20, 0.414906903355),
        (3, 20, 0.447904905444),
        (5, 20, 0.487961846467),
        (3, 100, 0.203915737901),
    ],
)
def test_steps_have_the_published_digits(actions, horizon, step):
    found = theory.step_size_with_error(actions, horizon)
    assert abs(found.value - step) < PRINTED_12
    assert found.error < ROUNDING


@pytest.mark.parametrize(
    ("actions", "scaled", "ratio"),
    [
        (2, 1.8970116, 1.611),
        (3, 2.0488938, 1.382),
        (10, 2.4691489, 1.151),
        (1000, 3.7291970, 1.003),
    ],
)
def test_the_scaled_step_has_the_published_limit(actions, scaled, ratio):
    found = theory.step_size(actions, math.inf)
    assert abs(found - scaled) < PRINTED_7
    assert abs(found / math.sqrt(2 * math.log(actions)) - ratio) < 1e-3


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
    """Values and slopes of A and B for d = 2, from the gap between the two sums alone."""
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
        (expect(lambda x: p(x) ** 2 + p(-x) ** 2), expect(lambda x: 2 * dp(x) * (p(x) - p(-x)))),
        (
            expect(lambda x: p(x) * ndtr(x / noise) + p(-x) * ndtr(-x / noise)),
            expect(lambda x: dp(x) * (ndtr(x / noise) - ndtr(-x / noise))),
        ),
    )


@pytest.mark.parametrize("tau", [0.001, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("scaled", [0.1, 1.9, 12.0])
def test_two_actions_agree_with_a_one_dimensional_integration(scaled, tau):
    pairs, hits = two_actions(scaled, tau)
    np.testing.assert_allclose(collision(scaled, tau, 2), pairs, atol=INDEPENDENT)
    np.testing.assert_allclose(foresight(scaled, tau, 2), hits, atol=INDEPENDENT)


@pytest.mark.parametrize("horizon", [2, 20])
def test_the_step_for_two_actions_is_a_root_of_the_one_dimensional_integral(horizon):
    def slope(scaled):
        terms = [two_actions(scaled, n / horizon) for n in range(1, horizon)]
        return sum(pairs[1] - 2 * hits[1] for pairs, hits in terms)

    scaled = theory.step_size(2, horizon) * math.sqrt(horizon)
    found = brentq(slope, 0.999 * scaled, 1.001 * scaled, xtol=1e-12)
    assert abs(found - scaled) < INDEPENDENT


@pytest.mark.parametrize(("actions", "tolerance"), [(2, 1e-12), (30, 1e-12), (10**6, 2e-10)])
@pytest.mark.parametrize("tau", [0.002, 0.5, 0.998])
def test_refining_every_grid_changes_nothing(actions, tolerance, tau):
    scaled = theory.step_size(actions, 2) * math.sqrt(2)
    for term in (collision, foresight):
        coarse, fine = term(scaled, tau, actions), term(scaled, tau, actions, 1.6)
        np.testing.assert_allclose(coarse, fine, atol=tolerance)


@pytest.mark.parametrize("actions", [2, 7, 1000])
def test_slopes_are_derivatives(actions):
    for term in (collision, foresight):
        ahead, behind = term(2.0 + 1e-5, 0.6, actions), term(2.0 - 1e-5, 0.6, actions)
        slope = (ahead.value - behind.value) / 2e-5
        assert abs(slope - term(2.0, 0.6, actions).slope) < 1e-9


def test_the_derivative_is_minus_twice_sigma_1_plus_twice_sigma_2_and_vanishes_at_the_step():
    ahead, behind = theory.loss(0.3 + 1e-5, 3, 20), theory.loss(0.3 - 1e-5, 3, 20)
    parts = theory.loss_parts(0.3, 3, 20)
    derivative = theory.loss_derivative(0.3, 3, 20)
    assert derivative == -2 * parts.sigma_1 + 2 * parts.sigma_2
    assert abs((ahead - behind) / 2e-5 - derivative) < 1e-7
    assert abs(theory.loss_derivative(theory.step_size(3, 20), 3, 20)) < 1e-11
    assert theory.loss_derivative(0.44, 3, 20) < 0 < theory.loss_derivative(0.455, 3, 20)


@pytest.mark.parametrize("horizon", [13, 400])
def test_a_few_rounds_stand_for_all(horizon):
    def of_round(tau):
        return collision(2.0, tau, 3).slope - 2 * foresight(2.0, tau, 3).slope

    every = np.mean([of_round(n / horizon) for n in range(horizon)])
    assert abs(mean_over_rounds(of_round, 3, horizon) - every) < ROUNDING


@pytest.mark.parametrize("horizon", [50, 1001, 10**6])
def test_round_nodes_sum_functions_of_the_angle(horizon):
    def f(theta):
        return np.exp(np.sin(3 * theta)) + np.cos(theta)

    theta, weight = round_nodes(horizon, 24)
    every = f(np.arcsin(np.sqrt(np.arange(horizon) / horizon))).mean()
    assert abs(weight @ f(theta) - every) < ROUNDING


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
    assert abs(theory.step_size(10**6, math.inf) - 5.0945828) < PRINTED_7  # the figure's last point
    found = theory.step_size_with_error(10**6, 2)
    assert found.error < 1e-9 * found.value


def test_the_ball_has_its_closed_form():
    unit = theory.step_size(3, 20, operator="ball")
    assert abs(unit - 0.1189416) < PRINTED_7
    assert theory.step_size(3, 20, operator="ball", radius=2) == 2 * unit
    mean_norm = math.sqrt(8 / math.pi)  # of three normals
    assert math.isclose(theory.step_size(3, math.inf, operator="ball"), mean_norm / 3)


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


def test_the_step_on_the_ball_is_best_and_the_limit_lies_below():
    for horizon in (20, math.inf):
        at = theory.step_size(3, horizon, operator="ball")
        best = theory.loss(at, 3, horizon, operator="ball")
        for other in (0.9, 1.1):
            assert theory.loss(other * at, 3, horizon, operator="ball") > best
        assert theory.optimal_loss(3, horizon, operator="ball") < best


@pytest.mark.parametrize("actions", [2, 3, 101])
def test_the_limit_on_the_ball_is_the_mean_cosine(actions):
    rng, rho = np.random.default_rng(1), 0.5  # two rounds: the second is played at correlation 1/2
    x, z = rng.standard_normal((2, actions, 50_000))
    y = rho * x + math.sqrt(1 - rho**2) * z
    cosine = (x * y).sum(0) / np.linalg.norm(x, axis=0) / np.linalg.norm(y, axis=0)
    exact = 2 * actions - theory.optimal_loss(actions, 2, operator="ball")
    assert abs(cosine.mean() - exact) < 4 * cosine.std() / math.sqrt(cosine.size)


def estimate(actions, horizon, samples, seed):
    """Means and standard errors of squared regret and of its derivative, at the exact step, drawn directly."""
    rng = np.random.default_rng(seed)
    k = theory.step_size(actions, horizon)
    values, slopes = [], []
    for _ in range(math.ceil(samples / 10_000)):
        total = np.zeros((actions, 10_000))
        paid, paid_slope = np.zeros(10_000), np.zeros(10_000)
        for _ in range(horizon):
            policy = np.exp(-k * (total - total.min(0)))
            policy /= policy.sum(0)
            slope = -policy * (total - (policy * total).sum(0))
            loss = rng.standard_normal(total.shape)
            paid, paid_slope = paid + (policy * loss).sum(0), paid_slope + (slope * loss).sum(0)
            total += loss
        regret = paid - total.min(0)
        values.append(regret**2)
        slopes.append(2 * regret * paid_slope)
    pair = np.array([np.concatenate(values), np.concatenate(slopes)])
    return pair.mean(1), pair.std(1) / math.sqrt(pair.shape[1])


def assert_agrees(actions, horizon, samples, seed):
    mean, error = estimate(actions, horizon, samples, seed)
    exact = theory.loss(theory.step_size(actions, horizon), actions, horizon), 0.0
    assert np.all(np.abs(mean - exact) < 4 * error), (mean, exact, error)


@pytest.mark.parametrize(("actions", "horizon"), [(4, 7), (12, 15)])
def test_squared_regret_drawn_directly_agrees(actions, horizon):
    assert_agrees(actions, horizon, 50_000, seed=actions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("actions", "horizon"), [(2, 13), (4, 30), (7, 11), (15, 25), (30, 9), (50, 16)]
)
def test_squared_regret_of_a_million_sequences_agrees(actions, horizon):
    assert_agrees(actions, horizon, 1_000_000, seed=actions)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.step_size(1, 20), "actions must be an integer >= 2, got 1"),
        (lambda: theory.step_size(3, 1), "horizon must be an integer >= 2, got 1"),
        (lambda: theory.step_size(3, 2.5), "horizon must be an integer"),
        (lambda: theory.step_size(3, math.nan), "horizon must be an integer"),
        (lambda: theory.step_size(2.5, 20), "actions must be an integer"),
        (lambda: theory.step_size(10**7, 20), "actions must be at most 1,000,000"),
        (lambda: theory.step_size(3, 20, operator="cube"), "operator must be 'softmax' or 'ball'"),
        (lambda: theory.step_size(3, 20, operator="ball", radius=0), "radius must be above 0"),
        (lambda: theory.step_size(3, 20, radius=2.0), "radius belongs to operator='ball'"),
        (lambda: theory.loss(0, 3, 20), "step must be above 0, got 0"),
        (lambda: theory.loss(-1.0, 3, 20), "step must be above 0"),
        (lambda: theory.loss(1e9, 3, 20), "must be at most 1000"),
        (lambda: theory.loss_derivative(math.inf, 3, 20), "step must be finite"),
        (lambda: theory.optimal_loss(1, 20), "actions must be an integer"),
        (lambda: theory.uniform_loss(3, 0), "horizon must be an integer"),
        (lambda: theory.stability(1.5, 3), "rho must be a correlation between 0 and 1"),
        (lambda: theory.step_schedule(3, math.inf), "horizon must be an integer"),
    ],
)
@pytest.mark.usefixtures("as_users_run_it")
def test_bad_input_is_explained_in_a_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
