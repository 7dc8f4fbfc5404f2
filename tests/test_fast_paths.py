"""What is done for speed changes nothing: blocks of rounds, guessed starts, batched fallbacks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import (
    BlumMansour,
    FollowTheLeader,
    Hedge,
    InverseSqrt,
    games,
    play,
    power_iteration,
    stationary,
)
from regrax.games.play import _block, _scan_in_blocks
from regrax.learners.blum_mansour import Heads
from regrax.learners.hedge import Cumulative

ROUNDING = 1e-12


@pytest.mark.parametrize(("block", "matrix"), [(1, False), (3, False), (4, False), (12, True)])
def test_blocks_stack_what_one_scan_stacks(x64, block, matrix):
    keys = jax.random.split(jax.random.key(0), 12)
    start = [jnp.eye(3)] if matrix else [jnp.ones(3)]

    def step(states, key):
        moved = [0.5 * states[0] + jax.random.normal(key, states[0].shape)]
        return moved, (states[0], moved[0].sum())

    expected = jax.lax.scan(step, start, keys)[1]
    found = _scan_in_blocks(step, start, keys, 12, block)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=ROUNDING), found, expected)


def test_a_block_divides_the_rounds_and_keeps_buffers_small():
    small, large = [jnp.zeros((10, 10)), jnp.zeros((9, 10))], [jnp.zeros((10, 100))]
    assert [_block(rounds, small) for rounds in (1, 7, 13, 20, 25, 1000)] == [1, 7, 1, 10, 5, 10]
    assert _block(1000, large) == 1


@pytest.mark.parametrize("learner", [Hedge(0.3), BlumMansour(Hedge(1.0))])
def test_a_prime_number_of_rounds_plays_the_same(x64, learner):
    game = games.random(3, 4, seed=1)
    whole, prime = play(game, learner, 24), play(game, learner, 23)
    for longer, shorter in zip(whole.policies, prime.policies, strict=True):
        np.testing.assert_allclose(longer[:23], shorter, atol=1e-9)


def test_the_guess_continues_a_parabola_and_stays_nonnegative():
    path = [jnp.array([0.2 + 0.1 * t**2, 0.8 - 0.1 * t**2]) for t in range(4)]
    guess = Heads(None, path[2], jnp.stack([path[1], path[0]])).guess()
    np.testing.assert_allclose(guess, jnp.maximum(path[3], 0), atol=1e-6)


@pytest.mark.parametrize(
    ("bits", "tolerance", "base"), [(32, 1e-6, Hedge(20.0)), (64, 1e-10, FollowTheLeader())]
)
def test_blum_mansour_meets_its_residual_on_losses_without_a_trend(bits, tolerance, base):
    with jax.enable_x64(bits == 64):
        losses = jax.random.normal(jax.random.key(3), (200, 5))
        learner = BlumMansour(base)

        def step(state, loss):
            columns = jax.vmap(base.policy)(state.heads).T
            pi = learner.policy(state)
            return learner.update(state, loss), (jnp.abs(columns @ pi - pi).sum(), pi)

        residuals, policies = jax.lax.scan(step, learner.init(5), losses)[1]
        assert float(residuals.max()) <= tolerance
        assert float(policies.min()) >= 0


def test_a_batch_eliminates_the_chains_that_need_it(x64):
    chain = lambda key, spread: jax.nn.softmax(spread * jax.random.normal(key, (6, 6)), axis=0)  # noqa: E731
    spreads = jnp.array([1.0, 30.0] * 8)
    matrices = jax.vmap(chain)(jax.random.split(jax.random.key(5), 16), spreads)
    start = jnp.full(6, 1 / 6)
    unfinished = jax.vmap(lambda p: power_iteration(p, start, tolerance=1e-10, max_iterations=64))
    needy = np.asarray(unfinished(matrices).residual) > 1e-10
    assert 0 < needy.sum() < 16
    found, exact = (
        jax.vmap(lambda p: stationary(p, start))(matrices),
        jax.vmap(stationary)(matrices),
    )
    np.testing.assert_allclose(found[needy], exact[needy], rtol=ROUNDING)
    assert float(jnp.abs(jnp.einsum("nij,nj->ni", matrices, found) - found).sum(1).max()) <= 1e-10


@pytest.mark.parametrize("d", [2, 7, 16, 17])
def test_chains_in_a_batch_end_where_each_ends_alone(x64, d):
    matrices = jax.nn.softmax(2 * jax.random.normal(jax.random.key(d), (3, 4, d, d)), axis=-2)
    starts = jax.nn.softmax(jax.random.normal(jax.random.key(0), (3, 4, d)))
    near = jax.vmap(jax.vmap(lambda p, start: stationary(p, start, tolerance=1e-5)))
    alone = [
        [stationary(p, start, tolerance=1e-5) for p, start in zip(*row, strict=True)]
        for row in zip(matrices, starts, strict=True)
    ]
    np.testing.assert_allclose(near(matrices, starts), np.asarray(alone), rtol=ROUNDING)
    # one start for all, or one chain from many starts
    shared = jax.vmap(lambda p: stationary(p, starts[0, 0], tolerance=1e-5))(matrices[0])
    for found, p in zip(shared, matrices[0], strict=True):
        np.testing.assert_allclose(
            found, stationary(p, starts[0, 0], tolerance=1e-5), rtol=ROUNDING
        )
    shared = jax.vmap(lambda start: stationary(matrices[0, 0], start, tolerance=1e-5))(starts[0])
    for found, start in zip(shared, starts[0], strict=True):
        np.testing.assert_allclose(
            found, stationary(matrices[0, 0], start, tolerance=1e-5), rtol=ROUNDING
        )


def test_gradients_of_a_batch_are_those_of_each_chain(x64):
    matrices = jax.nn.softmax(jax.random.normal(jax.random.key(1), (5, 4, 4)), axis=-2)
    start, weights = jnp.full(4, 0.25), jnp.arange(4.0)
    value = lambda p: stationary(p, start, tolerance=1e-12) @ weights  # noqa: E731
    batch = jax.grad(lambda all_of_them: jax.vmap(value)(all_of_them).sum())(matrices)
    np.testing.assert_allclose(jax.vmap(jax.grad(value))(matrices), batch, rtol=1e-9)
    for found, p in zip(batch, matrices, strict=True):
        np.testing.assert_allclose(found, jax.grad(value)(p), rtol=1e-9)


@pytest.mark.parametrize("d", [3, 10, 40])
def test_copies_of_hedge_play_as_each_does_alone(x64, d):
    learner = Hedge(InverseSqrt(1.5))
    totals = 10 * jax.random.normal(jax.random.key(d), (d, d))
    states = Cumulative(totals, jnp.arange(d))
    each = jnp.stack(
        [learner.policy(Cumulative(t, i)) for t, i in zip(totals, states.round, strict=True)]
    )
    np.testing.assert_allclose(learner.policies_of(states), each, rtol=ROUNDING)
    slope = lambda play: jax.grad(lambda t: (play(Cumulative(t, states.round)) ** 2).sum())  # noqa: E731
    np.testing.assert_allclose(
        slope(learner.policies_of)(totals),
        slope(jax.vmap(learner.policy))(totals),
        rtol=1e-9,
        atol=1e-15,
    )
