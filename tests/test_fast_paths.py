"""What is done for speed changes nothing: blocks of rounds, guessed starts, games and chains side by side."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import (
    BlumMansour,
    FollowTheLeader,
    Hedge,
    InverseSqrt,
    PerRound,
    games,
    play,
    power_iteration,
    stationary,
)
from regrax._fast_paths import (
    MAX_BATCHED_STATES as SMALL,
    MAX_ELIMINATED_STATES as TINY,
    MIN_BATCHED_GAMES as MANY,
    MIN_ELIMINATED_CHAINS as MANY_CHAINS,
)
from regrax.learners import Cumulative, Sum, block_of, given_losses, init_seats, scan_rounds
from regrax.learners._blum_mansour import Heads
from regrax.learners._ftrl import stacked_policies

ROUNDING = 1e-12


def test_blocks_keep_buffers_small():
    small, large = Hedge(0.3).init(10), Hedge(0.3).init(1000)
    assert [block_of((state,)) for state in (small, large)] == [12, 16]
    assert block_of((BlumMansour(Hedge(0.3)).init(10),)) == 12
    assert block_of((BlumMansour(Hedge(0.3)).init(20),)) == 16


@pytest.mark.parametrize("rounds", [1, 7, 12, 16])
def test_blocks_stack_what_a_plain_loop_stacks(x64, rounds):
    learner, losses = Hedge(0.3), jax.random.normal(jax.random.key(0), (rounds, 3))
    seats = init_seats((learner,), (3,), rounds, None)
    _, rows = scan_rounds((learner,), given_losses, seats, rounds, losses)
    state = learner.init(3)
    for t in range(rounds):
        np.testing.assert_allclose(rows.policies[0][t], learner.policy(state), rtol=ROUNDING)
        state = learner.update(state, losses[t])


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


@pytest.mark.parametrize("d", [TINY, SMALL, SMALL + 1])
def test_chains_in_a_batch_end_where_each_ends_alone(x64, d):
    matrices = jax.nn.softmax(2 * jax.random.normal(jax.random.key(d), (3, 4, d, d)), axis=-2)
    starts = jax.nn.softmax(jax.random.normal(jax.random.key(0), (3, 4, d)))
    near = lambda p, start: stationary(p, start, tolerance=1e-5)  # noqa: E731
    alone = (lambda p, start: stationary(p)) if d <= TINY else near

    def check(found, matrices, starts):
        for pi, p, start in zip(found, matrices, starts, strict=True):
            np.testing.assert_allclose(pi, alone(p, start), rtol=ROUNDING)

    for i, found in enumerate(jax.vmap(jax.vmap(near))(matrices, starts)):
        check(found, matrices[i], starts[i])
    # one start for all
    check(jax.vmap(near, (0, None))(matrices[0], starts[0, 0]), matrices[0], [starts[0, 0]] * 4)
    # one chain from many starts takes power steps
    for found, start in zip(
        jax.vmap(near, (None, 0))(matrices[0, 0], starts[0]), starts[0], strict=True
    ):
        np.testing.assert_allclose(found, near(matrices[0, 0], start), rtol=ROUNDING)


def test_many_chains_end_at_their_exact_distribution(x64):
    matrices = jax.nn.softmax(
        3 * jax.random.normal(jax.random.key(0), (MANY_CHAINS, 9, 9)), axis=-2
    )
    found = jax.vmap(lambda p: stationary(p, jnp.full(9, 1 / 9), tolerance=1e-3))(matrices)
    exact = jnp.stack([stationary(p) for p in matrices])
    np.testing.assert_allclose(found, exact, rtol=ROUNDING)
    np.testing.assert_allclose(jax.vmap(stationary)(matrices), exact, rtol=ROUNDING)


def test_chains_side_by_side_that_split_keep_their_accuracy():
    """Chains that almost split in two, to the last digits; chains that do, to one of their distributions."""
    leak = np.array([1e-3, 1e-20, 1e-35, 0.0])
    matrices = np.zeros((4, 3, 3))
    matrices[:, 0, 1] = matrices[:, 1, 0] = 0.5
    matrices[:, 2, 0], matrices[:, 0, 2] = leak, leak / 2
    matrices[:, range(3), range(3)] = 1 - matrices.sum(1)
    found = jax.vmap(lambda p: stationary(p, jnp.full(3, 1 / 3)))(jnp.asarray(matrices, "float32"))
    np.testing.assert_allclose(found[:3], [[0.25, 0.25, 0.5]] * 3, rtol=1e-6)
    np.testing.assert_allclose(matrices[3] @ found[3], found[3], rtol=1e-6)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-6)


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
    states = Cumulative(Sum(totals, 0 * totals, 0 * totals), jnp.arange(d))
    each = jnp.stack(
        [
            learner.policy(Cumulative(Sum(t, 0 * t, 0 * t), i))
            for t, i in zip(totals, states.round, strict=True)
        ]
    )
    np.testing.assert_allclose(stacked_policies(learner, states), each, rtol=ROUNDING)

    def slope(play):
        return jax.grad(lambda t: (play(Cumulative(Sum(t, 0 * t, 0 * t), states.round)) ** 2).sum())

    np.testing.assert_allclose(
        slope(partial(stacked_policies, learner))(totals),
        slope(jax.vmap(learner.policy))(totals),
        rtol=1e-9,
        atol=1e-15,
    )


LEARNERS = [Hedge(InverseSqrt(0.8)), BlumMansour(Hedge(1.0))]


def random_tables(*sizes, count=MANY):
    return jax.random.normal(jax.random.key(7), (count, len(sizes), *sizes))


def check_each(found, play_one, count=MANY):
    """That game i of a batch was played as `play_one(i)` plays it, for the first, a middle and the last one."""
    for i in (0, count // 2, count - 1):
        jax.tree.map(
            lambda a, b, i=i: np.testing.assert_allclose(a[i], b, atol=2e-9), found, play_one(i)
        )


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (2, 2, 3), (3,)])
def test_many_games_are_played_as_each_alone(x64, learner, sizes):
    tables = random_tables(*sizes)
    run = lambda table: play(games.Game(table), learner, 19)  # noqa: E731
    check_each(jax.vmap(run)(tables), lambda i: run(tables[i]))


@pytest.mark.parametrize("rounds", [1, 8])
def test_many_games_of_any_length(x64, rounds):
    tables = random_tables(2, 3)
    run = lambda table: play(games.Game(table), Hedge(0.5), rounds)  # noqa: E731
    check_each(jax.vmap(run)(tables), lambda i: run(tables[i]))


@pytest.mark.parametrize("seat", [Hedge, lambda k: BlumMansour(Hedge(InverseSqrt(k)))])
def test_many_steps_in_one_game_and_steps_with_games(x64, seat):
    table, tables, steps = random_tables(3, 2)[0], random_tables(3, 2), jnp.linspace(0.1, 2, MANY)
    run = lambda table, k: play(games.Game(table), (seat(k), Hedge(0.3)), 11)  # noqa: E731
    check_each(jax.vmap(run, (None, 0))(table, steps), lambda i: run(table, steps[i]))
    check_each(jax.vmap(run)(tables, steps), lambda i: run(tables[i], steps[i]))
    alone = lambda k: play(games.Game(table[:1, :, 0]), seat(k), 9)  # noqa: E731
    check_each(jax.vmap(alone)(steps), lambda i: alone(steps[i]))


def test_many_schedules_of_steps(x64):
    game, steps = games.random(3, 3, seed=2), jnp.linspace(0.1, 1, 4 * MANY).reshape(MANY, 4)
    run = lambda k: play(game, Hedge(PerRound(k)), 9)  # noqa: E731
    check_each(jax.vmap(run)(steps), lambda i: run(steps[i]))


def test_batches_of_batches_of_games(x64):
    tables = random_tables(2, 3, count=3 * MANY).reshape(3, MANY, 2, 2, 3)
    run = lambda table: play(games.Game(table), BlumMansour(Hedge(0.5)), 9)  # noqa: E731
    found = jax.vmap(jax.vmap(run))(tables)
    for i in range(3):
        check_each(jax.tree.map(lambda x, i=i: x[i], found), lambda j, i=i: run(tables[i, j]))


def test_gradients_of_many_games_are_slopes_of_their_values(x64):
    tables, directions = random_tables(2, 3), random_tables(2, 3)[::-1]

    @jax.jit
    def value(shift, k):
        seated = (BlumMansour(Hedge(k)), Hedge(k))
        run = lambda table: (play(games.Game(table), seated, 9).losses[0] ** 2).sum()  # noqa: E731
        return jax.vmap(run)(tables + shift * directions).sum()

    found, small = jax.jit(jax.grad(value, (0, 1)))(0.0, 0.5), 1e-5
    slopes = [
        (value(small, 0.5) - value(-small, 0.5)) / (2 * small),
        (value(0.0, 0.5 + small) - value(0.0, 0.5 - small)) / (2 * small),
    ]
    np.testing.assert_allclose(found, slopes, rtol=1e-6)
