"""Regret against brute force over every comparator, and the Blum-Mansour decomposition."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from tests.strategies import distributions, numbers

import regrax as rx
from regrax import regret
from regrax.learners import BlumMansour, Hedge, rollout

ROUNDING = 1e-10  # of losses up to 100
T, D = 4, 3


def running_best(policies, losses, maps):
    """max over maps sigma of sum_t sum_i pi_ti (l_ti - l_t,sigma(i)) for every prefix, by listing them."""
    gains = [(policies * (losses - losses[:, list(sigma)])).sum(1).cumsum() for sigma in maps]
    return np.max(gains, 0)


CONSTANT = [(j,) * D for j in range(D)]
SINGLE = [tuple(j if i == a else i for i in range(D)) for a in range(D) for j in range(D)]
EVERY = list(itertools.product(range(D), repeat=D))


@pytest.mark.parametrize(
    ("kind", "maps"), [("external", CONSTANT), ("internal", SINGLE), ("swap", EVERY)]
)
@given(policies=distributions(T, D), losses=numbers(T, D))
def test_regrets_equal_brute_force_over_maps(x64, kind, maps, policies, losses):
    expected = running_best(policies, losses, maps)
    running = getattr(regret, f"running_{kind}_regret")(policies, losses)
    np.testing.assert_allclose(running, expected, rtol=0, atol=ROUNDING)
    total = getattr(regret, f"{kind}_regret")(policies, losses)
    np.testing.assert_allclose(total, expected[-1], rtol=0, atol=ROUNDING)
    comparator = {
        "external": lambda: CONSTANT[int(regret.best_action(losses))],
        "internal": lambda: SINGLE[
            np.ravel_multi_index(regret.best_pair(policies, losses), (D, D))
        ],
        "swap": lambda: tuple(np.asarray(regret.best_swap(policies, losses))),
    }[kind]()
    attained = running_best(policies, losses, [comparator])[-1]
    np.testing.assert_allclose(attained, expected[-1], rtol=0, atol=ROUNDING)


def test_an_action_never_played_keeps_itself_in_the_best_swap():
    policies = jnp.array([[1.0, 0.0], [1.0, 0.0]])
    assert regret.best_swap(policies, jnp.array([[1.0, 2.0], [1.0, 2.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(3))
def test_blum_mansour_decomposition(x64, seed):
    """Swap regret of the fixed point, found to 1e-10, is the sum of the heads' external regrets."""
    losses = jax.random.normal(jax.random.key(seed), (30, 4))
    learner = BlumMansour(Hedge(3.0))
    state, suffered, update = learner.init(4), 0.0, jax.jit(lambda *a: learner.update(*a))
    totals = np.zeros((4, 4))
    for loss in losses:
        heads = jax.vmap(learner.base.policy)(state.heads)
        blocks = np.outer(state.policy, loss)
        suffered += float((np.asarray(heads) * blocks).sum())
        totals += blocks
        state = update(state, loss)
    heads_regret = suffered - totals.min(1).sum()
    swap = float(regret.swap_regret(rollout(learner, losses), losses))
    assert swap == pytest.approx(heads_regret, abs=1e-9)


MEASURES = [
    *(f"{kind}_regret" for kind in ("external", "internal", "swap")),
    *(f"running_{kind}_regret" for kind in ("external", "internal", "swap")),
    "swap_matrix",
    "best_pair",
    "best_swap",
]


@pytest.mark.parametrize("name", MEASURES)
def test_a_batch_of_actions_gets_a_regret_each(x64, name):
    rng = np.random.default_rng(0)
    actions, losses = rng.integers(0, D, (2, 5, T)), rng.random((2, 5, T, D))
    measure = getattr(regret, name)
    batch = np.asarray(measure(actions, losses))
    places = np.moveaxis(batch, 0, -1) if name == "best_pair" else batch
    for place in np.ndindex(2, 5):
        alone = measure(np.eye(D)[actions[place]], losses[place])
        np.testing.assert_allclose(places[place], alone, atol=ROUNDING)
    traced = jax.jit(measure)(jnp.asarray(actions), jnp.asarray(losses))
    np.testing.assert_allclose(np.asarray(traced), batch, atol=ROUNDING)


RUNNING = (rx.running_external_regret, rx.running_internal_regret, rx.running_swap_regret)


@pytest.mark.parametrize("running", RUNNING)
def test_running_regret_at_some_rounds_matches_all_rounds(running):
    """With so many actions that only a few prefixes are computed at a time."""
    rng = np.random.default_rng(0)
    policies, losses = rng.dirichlet(np.ones(200), (2, 60)), rng.normal(size=(2, 60, 200))
    every = running(policies, losses)
    for rounds in ([1], [30], [60], [1, 2, 3], [1, 4, 5, 60], [7, 40, 7, 1, 39, 12]):
        last = max(rounds)
        some = running(policies[:, :last], losses[:, :last], rounds)
        np.testing.assert_allclose(some, every[:, np.array(rounds) - 1], atol=ROUNDING)


@pytest.mark.parametrize("running", RUNNING)
@pytest.mark.parametrize("rounds", [[0], [-1], [3, 41], [1.5], [], 3])
def test_running_regret_rejects_rounds_that_were_not_played(as_users_run_it, running, rounds):
    policies, losses = np.full((40, 2), 0.5), np.ones((40, 2))
    with pytest.raises(ValueError, match="rounds must be"):
        running(policies, losses, rounds)


def test_traced_regret_keeps_three_digits_over_a_million_rounds():
    rng = np.random.default_rng(1)
    losses = rng.random((1_000_000, 3), np.float32)
    policies = rng.dirichlet(np.ones(3), 1000).astype(np.float32).repeat(1000, 0)
    for kind in (rx.internal_regret, rx.swap_regret):
        exact = kind(policies, losses)
        assert float(jax.jit(kind)(policies, losses)) == pytest.approx(exact, rel=1e-3)
