"""The limit of any model: stability, the best possible policy as a learner, and the step schedule below it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

from regrax import theory
from regrax.learners import (
    FollowTheLeader,
    Hedge,
    PerRound,
    Uniform,
    perturbed_leader,
    rollout,
)
from regrax.specs import parse_learner
from regrax.theory import Optimal, optimal_policy
from regrax.theory.moments import collision, foresight, round_loss
from regrax.theory.steps import secant

ROUNDING = {"float32": 4e-7, "float64": 2e-15}


@pytest.mark.parametrize("rho", [0, 0.3, 0.9, 0.999999, 1])
def test_stability_of_two_actions_is_an_arcsine(rho):
    assert abs(theory.stability(rho, 2) - 0.5 - math.asin(rho) / math.pi) < 1e-14


@pytest.mark.parametrize("actions", [3, 10, 10**6])
def test_stability_runs_from_one_over_d_to_one(actions):
    curve = [theory.stability(rho, actions) for rho in (0, 0.25, 0.5, 0.75, 1)]
    assert math.isclose(curve[0], 1 / actions, rel_tol=1e-12)
    assert curve[-1] == 1
    assert np.all(np.diff(curve) > 0)


def test_two_actions_lose_one_over_pi_a_round():
    assert math.isclose(theory.optimal_loss(2, math.inf), 1 / math.pi, rel_tol=1e-12)


def test_stability_agrees_with_draws():
    rng, rho, draws = np.random.default_rng(0), 0.7, 400_000
    x, z = rng.standard_normal((2, 6, draws))
    same = (x.argmin(0) == (rho * x + math.sqrt(1 - rho**2) * z).argmin(0)).mean()
    exact = theory.stability(rho, 6)
    assert abs(same - exact) < 4 * math.sqrt(exact * (1 - exact) / draws)


def test_moments_of_the_smallest_normal():
    assert math.isclose(theory.minimum_moment(2, 1), -1 / math.sqrt(math.pi), rel_tol=1e-13)
    assert math.isclose(theory.minimum_moment(3, 1), -1.5 / math.sqrt(math.pi), rel_tol=1e-13)
    square = 1 + math.sqrt(3) / (2 * math.pi)
    assert math.isclose(theory.minimum_moment(3, 2), square, rel_tol=1e-12)
    assert math.isclose(theory.minimum_moment(10**6, 0), 1, rel_tol=1e-12)


def leader_odds(total, scale):
    """The defining integral on a grid far finer than any needed."""
    z = np.linspace(-13, 13, 521)
    x = z[:, None] - (total - total.min()) / scale
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    others = [np.prod(np.delete(ndtr(-x), j, 1), 1) for j in range(total.size)]
    return (density * np.array(others).T).sum(0) * 0.05


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("actions", [2, 3, 10, 100])
def test_the_perturbed_leader_is_exact_to_rounding(actions, dtype):
    rng = np.random.default_rng(actions)
    spreads = [0.0, 0.1, 1.0, 3.0, 1000.0]
    totals = np.array([s * rng.standard_normal(actions) for s in spreads], dtype)
    with jax.enable_x64(dtype == "float64"):
        odds = np.asarray(perturbed_leader(jnp.asarray(totals), 1.5))
    assert odds.dtype == dtype
    exact = np.array([leader_odds(total.astype(float), 1.5) for total in totals])
    np.testing.assert_allclose(odds, exact, atol=ROUNDING[dtype])


def test_two_actions_have_a_closed_form(x64):
    gap = np.linspace(-40.0, 40.0, 41)
    odds = np.asarray(perturbed_leader(jnp.asarray(np.stack([0 * gap, gap], 1)), 2.0))[:, 0]
    np.testing.assert_allclose(odds, ndtr(gap / math.sqrt(8)), atol=1e-15)


def test_gradients_are_those_of_finite_differences(x64):
    total, scale, step = np.array([0.3, -0.2, 1.1, 0.0]), np.array(1.4), 1e-5
    leader = jax.jit(lambda total, scale: perturbed_leader(total, scale))

    @jax.jit
    def slopes(total, scale):
        hessian = jax.hessian(lambda total: perturbed_leader(total, scale)[0])(total)
        return *jax.jacobian(perturbed_leader, argnums=(0, 1))(total, scale), hessian

    jacobian, by_scale, hessian = (np.asarray(each) for each in slopes(total, scale))
    for j, bump in enumerate(step * np.eye(4)):
        moved = leader(total + bump, scale) - leader(total - bump, scale)
        np.testing.assert_allclose(jacobian[:, j], moved / (2 * step), atol=1e-10)
    moved = leader(total, scale + step) - leader(total, scale - step)
    np.testing.assert_allclose(by_scale, moved / (2 * step), atol=1e-10)
    np.testing.assert_allclose(jacobian, jacobian.T, atol=1e-15)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-14)


@pytest.mark.parametrize("total", [[0.0, 0.0, 0.0], [0.0, 1e6, 1e6], [0.0, 1e-30, 300.0]])
def test_values_and_gradients_stay_finite_however_far_apart(total):
    def first(total, remaining):
        return optimal_policy(total, remaining)[0]

    slopes = jax.jit(jax.value_and_grad(first, argnums=(0, 1)))
    for remaining in (1e-6, 1.0, 20.0, 0.0, -3.0):
        value, gradients = slopes(np.array(total, np.float32), remaining)
        assert 0 <= value <= 1
        assert all(np.isfinite(np.asarray(leaf)).all() for leaf in gradients)


def test_the_policy_is_the_conditional_mean_of_the_best_action():
    rng, total, remaining = np.random.default_rng(5), np.array([0.0, 1.0, -2.0, 0.5]), 7
    final = total[:, None] + math.sqrt(remaining) * rng.standard_normal((4, 200_000))
    drawn = np.bincount(final.argmin(0), minlength=4) / 200_000
    exact = np.asarray(optimal_policy(jnp.asarray(total), remaining))
    assert np.all(np.abs(drawn - exact) < 4 * np.sqrt(exact * (1 - exact) / 200_000))


def test_batches_take_a_horizon_each(x64):
    totals = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7, 3)))
    remaining = jnp.asarray(np.arange(-1.0, 6.0))
    together = optimal_policy(totals, remaining)
    for i in range(7):
        one = optimal_policy(totals[2, i], float(remaining[i]))
        np.testing.assert_allclose(together[2, i], one, atol=1e-15)


def test_past_its_horizon_it_follows_the_leader_and_shares_ties():
    losses = jnp.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    played = rollout(Optimal(1), losses)
    np.testing.assert_array_equal(played[1:], rollout(FollowTheLeader(), losses)[1:])
    np.testing.assert_allclose(played[0], 1 / 3, atol=1e-7)


def test_a_sweep_over_horizons_is_a_vmap_and_never_recompiles():
    losses = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    play = jax.jit(lambda learner: rollout(learner, losses))
    one_by_one = [play(Optimal(horizon)) for horizon in (3, 6, 20)]
    assert play._cache_size() == 1
    swept = jax.vmap(lambda horizon: rollout(Optimal(horizon), losses))
    np.testing.assert_allclose(
        jax.jit(swept)(np.array([3, 6, 20])), np.stack(one_by_one), atol=1e-6
    )
    assert str(parse_learner("optimal(20)")) == "optimal(20)"


@jax.jit
def measured(learner, losses):
    """Squared regret, and how far play is from the hindsight-best action and from the best possible policy."""

    def one(losses):
        rounds, actions = losses.shape
        before = jnp.cumsum(losses, 0) - losses
        played = rollout(learner, losses)
        best = jax.nn.one_hot(losses.sum(0).argmin(), actions)
        possible = optimal_policy(before, rounds - jnp.arange(rounds))
        regret = (played * losses).sum() - losses.sum(0).min()
        away = ((played - best[None]) ** 2).sum(), ((played - possible) ** 2).sum()
        return jnp.stack([regret**2, *away])

    return jax.vmap(one)(losses)


def draws(learner, seed=0):
    """2,000 sequences of 12 rounds and 3 actions."""
    losses = np.random.default_rng(seed).normal(size=(2_000, 12, 3))
    return np.asarray(measured(learner, losses)).T


def assert_mean(sample, exact):
    assert abs(sample.mean() - exact) < 4 * sample.std() / math.sqrt(sample.size)


@pytest.mark.parametrize("learner", [Uniform(), Hedge(0.9), Optimal(12)], ids=repr)
def test_the_hindsight_identity(x64, learner):
    regret, from_hindsight, _ = draws(learner, seed=1)
    assert_mean(regret - from_hindsight, 12 * (theory.minimum_moment(3, 2) - 1))


def test_any_policy_loses_its_distance_from_the_best_possible_one(x64):
    step = theory.step_size(3, 12)
    cases = [
        (Uniform(), theory.uniform_loss(3, 12)),
        (Hedge(step), theory.loss(step, 3, 12)),
        (Hedge(1.3), theory.loss(1.3, 3, 12)),
    ]
    for learner, exact in cases:
        regret, _, from_best = draws(learner)
        assert_mean(from_best, exact - theory.optimal_loss(3, 12))
        assert_mean(regret, exact)


def test_the_best_possible_policy_attains_the_limit(x64):
    regret, _, from_best = draws(Optimal(12))
    assert_mean(regret, theory.optimal_loss(3, 12))
    assert from_best.max() < 1e-25


def test_the_schedule_minimises_each_round_and_closes_most_of_the_distance():
    schedule = theory.step_schedule(3, 20)
    assert schedule.optimal_loss < schedule.loss < schedule.constant_loss
    assert 0.98 < schedule.closed < 1

    def of_round(step, n):
        scaled = step * math.sqrt(20)
        return collision(scaled, n / 20, 3).value - 2 * foresight(scaled, n / 20, 3).value

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


def test_the_schedule_can_be_played(x64):
    schedule = theory.step_schedule(3, 12)
    _, _, from_best = draws(Hedge(PerRound(schedule.steps)), seed=4)
    assert_mean(from_best, schedule.loss - schedule.optimal_loss)
