"""Stationary steps and schedules against published digits and direct minimisation."""

import math

import pytest

from regrax import theory
from regrax.theory.moments import round_loss
from regrax.theory.steps import secant

PRINTED_12 = 0.6e-12  # twelve decimals
PRINTED_7 = 0.6e-7  # seven decimals
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
    best, *others = [theory.loss(x * unit, 3, 20, operator="ball") for x in (1, 0.9, 1.1)]
    assert theory.optimal_loss(3, 20, operator="ball") < best < min(others)


def test_the_schedule_minimises_the_loss_of_each_round():
    schedule = theory.step_schedule(3, 20)
    assert schedule.optimal_loss < schedule.loss < schedule.constant_loss
    assert 0.98 < schedule.closed < 1

    def of_round(step, n):
        return round_loss(step * math.sqrt(20), n / 20, 3).value

    for n in (1, 10, 19):
        best = of_round(schedule.steps[n], n)
        assert best < of_round(1.01 * schedule.steps[n], n)
        assert best < of_round(0.99 * schedule.steps[n], n)
    total = sum(of_round(step, n) for n, step in enumerate(schedule.steps))
    assert math.isclose(schedule.loss, 20 * theory.minimum_moment(3, 2) + total, rel_tol=1e-12)


@pytest.mark.slow
def test_a_long_schedule_is_interpolated_to_many_digits():
    schedule = theory.step_schedule(4, 200)
    for n in (1, 77, 199):
        scaled = schedule.steps[n] * math.sqrt(200)
        direct, _ = secant(
            lambda K, tau=n / 200: round_loss(K, tau, 4).slope, 0.99 * scaled, scaled, 1e-12
        )
        assert abs(scaled / direct - 1) < 1e-8
    first = -4 / 3 * theory.minimum_moment(4, 1) / math.sqrt(200)
    assert abs(schedule.steps[0] / first - 1) < 1e-7
