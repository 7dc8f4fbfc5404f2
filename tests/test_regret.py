"""Regret against brute force over every comparator, and the Blum-Mansour decomposition."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import regret
from regrax.learners import BlumMansour, Hedge, rollout

ROUNDING = 1e-12


def trajectory(seed, rounds=7, actions=3):
    one, two = jax.random.split(jax.random.key(seed))
    policies = jax.nn.softmax(2 * jax.random.normal(one, (rounds, actions)))
    return policies, jax.random.normal(two, (rounds, actions))


def best_over_maps(policies, losses, maps):
    """max over maps sigma of sum_t sum_i pi_ti (l_ti - l_t,sigma(i)), by listing them."""
    policies, losses = np.asarray(policies), np.asarray(losses)
    return max((policies * (losses - losses[:, list(sigma)])).sum() for sigma in maps)


@pytest.mark.parametrize("seed", range(5))
def test_regrets_equal_brute_force_over_all_maps(x64, seed):
    policies, losses = trajectory(seed)
    d = losses.shape[1]
    everything = list(itertools.product(range(d), repeat=d))
    constant = [(j,) * d for j in range(d)]
    single = [tuple(j if i == a else i for i in range(d)) for a in range(d) for j in range(d)]
    for function, maps in (
        (regret.external_regret, constant),
        (regret.internal_regret, single),
        (regret.swap_regret, everything),
    ):
        brute = best_over_maps(policies, losses, maps)
        assert float(function(policies, losses)) == pytest.approx(brute, abs=ROUNDING)


@pytest.mark.parametrize("kind", ["external", "internal", "swap"])
def test_running_regret_is_the_regret_of_every_prefix(x64, kind):
    policies, losses = trajectory(1)
    total = getattr(regret, f"{kind}_regret")
    running = getattr(regret, f"running_{kind}_regret")(policies, losses)
    prefixes = [float(total(policies[:t], losses[:t])) for t in range(1, len(losses) + 1)]
    np.testing.assert_allclose(running, prefixes, atol=ROUNDING)


def test_comparators_attain_the_regret(x64):
    policies, losses = trajectory(2)
    matrix = np.asarray(regret.swap_matrix(policies, losses))
    suffered = float((policies * losses).sum())
    action = int(regret.best_action(losses))
    played, instead = (int(a) for a in regret.best_pair(policies, losses))
    swap = np.asarray(regret.best_swap(policies, losses))
    assert suffered - float(losses[:, action].sum()) == pytest.approx(
        float(regret.external_regret(policies, losses)), abs=ROUNDING
    )
    assert matrix[played, played] - matrix[played, instead] == pytest.approx(
        float(regret.internal_regret(policies, losses)), abs=ROUNDING
    )
    assert best_over_maps(policies, losses, [tuple(swap)]) == pytest.approx(
        float(regret.swap_regret(policies, losses)), abs=ROUNDING
    )


def test_an_action_never_played_keeps_itself_in_the_best_swap():
    policies = jnp.array([[1.0, 0.0], [1.0, 0.0]])
    assert regret.best_swap(policies, jnp.array([[1.0, 2.0], [1.0, 2.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_blum_mansour_decomposition(x64, seed):
    """Swap regret of the fixed point equals the sum of the heads' external regrets, and is bounded by it."""
    _, losses = trajectory(seed, rounds=30, actions=4)
    learner = BlumMansour(Hedge(0.8), tolerance=1e-14)
    state, suffered = learner.init(4), 0.0
    totals = np.zeros((4, 4))
    for loss in losses:
        heads = jax.vmap(learner.base.policy)(state.heads)
        blocks = np.outer(state.policy, loss)
        suffered += float((np.asarray(heads) * blocks).sum())
        totals += blocks
        state = learner.update(state, loss)
    heads_regret = suffered - totals.min(1).sum()
    swap = float(regret.swap_regret(rollout(learner, losses), losses))
    assert swap == pytest.approx(heads_regret, abs=1e-9)
