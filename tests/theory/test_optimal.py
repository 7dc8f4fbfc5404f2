"""The optimal policy: exact values and gradients, and the identity that makes it optimal."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
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
from regrax.theory import Optimal, optimal_policy

ROUNDING = {"float32": 4e-7, "float64": 2e-15}


def leader_odds(total, scale):
    """The defining integral on a fine grid."""
    z = np.linspace(-13, 13, 521)
    x = z[:, None] - (total - total.min()) / scale
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    others = [np.prod(np.delete(ndtr(-x), j, 1), 1) for j in range(total.size)]
    return (density * np.array(others).T).sum(0) * 0.05


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("actions", [2, 3, 10, 100])
def test_policies_are_exact_to_rounding(actions, dtype):
    rng = np.random.default_rng(actions)
    spreads = [0.0, 0.1, 1.0, 3.0, 1000.0]
    totals = np.array([s * rng.standard_normal(actions) for s in spreads], dtype)
    with jax.enable_x64(dtype == "float64"):
        odds = np.asarray(perturbed_leader(jnp.asarray(totals), 1.5))
    assert odds.dtype == dtype
    exact = np.array([leader_odds(total.astype(float), 1.5) for total in totals])
    np.testing.assert_allclose(odds, exact, atol=ROUNDING[dtype])


def test_gradients_agree_with_finite_differences(x64):
    point = jnp.array([0.3, -0.2, 1.1, 0.0]), jnp.array(1.4)
    check_grads(perturbed_leader, point, order=2, atol=1e-10, rtol=1e-10, eps=1e-5)
    jacobian = np.asarray(jax.jacobian(perturbed_leader)(*point))
    np.testing.assert_allclose(jacobian, jacobian.T, atol=1e-15)


@pytest.mark.parametrize("total", [[0.0, 0.0, 0.0], [0.0, 1e6, 1e6], [0.0, 1e-30, 300.0]])
def test_values_and_gradients_stay_finite(total):
    def first(total, remaining):
        return optimal_policy(total, remaining)[0]

    slopes = jax.jit(jax.value_and_grad(first, argnums=(0, 1)))
    for remaining in (1e-6, 1.0, 20.0, 0.0, -3.0):
        value, gradients = slopes(np.array(total, np.float32), remaining)
        assert 0 <= value <= 1
        assert all(np.isfinite(np.asarray(leaf)).all() for leaf in gradients)


def test_every_row_of_a_batch_can_have_its_horizon(x64):
    totals = jnp.asarray(np.random.default_rng(0).normal(size=(5, 7, 3)))
    remaining = jnp.arange(-1.0, 6.0)
    together = optimal_policy(totals, remaining)
    alone = [optimal_policy(totals[2, i], float(remaining[i])) for i in range(7)]
    np.testing.assert_allclose(together[2], alone, atol=1e-15)
    horizons = np.array([3, 6, 20])
    swept = jax.vmap(lambda horizon: rollout(Optimal(horizon), totals[0]))(horizons)
    alone = [rollout(Optimal(horizon), totals[0]) for horizon in (3, 6, 20)]
    np.testing.assert_allclose(swept, alone, atol=1e-15)


def test_past_its_horizon_it_follows_the_leader():
    losses = jnp.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    played = rollout(Optimal(1), losses)
    np.testing.assert_array_equal(played[1:], rollout(FollowTheLeader(), losses)[1:])
    np.testing.assert_allclose(played[0], 1 / 3, atol=1e-7)


@jax.jit
def measured(learner, losses):
    """Squared regret, and squared distances of play from the hindsight-best action and from the optimal policy."""

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


def draws(learner, actions=3, rounds=12, seed=0):
    """Squared regrets and distances on 2,000 sequences."""
    losses = np.random.default_rng(seed).normal(size=(2_000, rounds, actions))
    return np.asarray(measured(learner, losses)).T


def assert_mean(sample, exact):
    assert abs(sample.mean() - exact) < 4 * sample.std() / math.sqrt(sample.size)


@pytest.mark.parametrize("learner", [Uniform(), Hedge(0.9), Optimal(12)], ids=repr)
def test_the_hindsight_identity(x64, learner):
    regret, from_hindsight, _ = draws(learner, seed=1)
    assert_mean(regret - from_hindsight, 12 * (theory.minimum_moment(3, 2) - 1))


@pytest.mark.parametrize(("d", "T"), [(3, 12), (12, 15)])
def test_any_policy_loses_its_distance_from_the_optimum(x64, d, T):
    steps = (theory.step_size(d, T), 1.3)
    cases = [(Uniform(), theory.uniform_loss(d, T))]
    cases += [(Hedge(step), theory.loss(step, d, T)) for step in steps]
    for learner, exact in cases:
        regret, _, from_best = draws(learner, d, T)
        assert_mean(from_best, exact - theory.optimal_loss(d, T))
        assert_mean(regret, exact)


def test_the_optimal_policy_attains_the_bound(x64):
    regret, _, from_best = draws(Optimal(12))
    assert_mean(regret, theory.optimal_loss(3, 12))
    assert from_best.max() < 1e-25


def test_the_schedule_can_be_played(x64):
    schedule = theory.step_schedule(3, 12)
    _, _, from_best = draws(Hedge(PerRound(schedule.steps)), seed=4)
    assert_mean(from_best, schedule.loss - schedule.optimal_loss)
