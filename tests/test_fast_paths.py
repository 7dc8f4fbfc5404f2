"""What is done for speed changes nothing: blocks of rounds, guessed starts, games and chains side by side."""

import os
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
    RegretMatching,
    _fast_paths as fast_paths,
    _random,
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
from regrax.games import _side_by_side
from regrax.learners import (
    Cumulative,
    Sum,
    _engine,
    block_of,
    given_losses,
    init_seats,
    scan_rounds,
)
from regrax.learners._ftrl import stacked_policies
from regrax.learners._swap import Heads
from regrax.training import RegretObjective, evaluate

ROUNDING = 1e-12


def normal(*shape, seed=0):
    """Drawn by NumPy, which has nothing to compile."""
    return np.random.default_rng(seed).normal(size=shape)


def chains(*shape, spread=1.0, seed=0):
    """Random matrices whose columns sum to 1."""
    weights = np.exp(spread * normal(*shape, shape[-1], seed=seed))
    return weights / weights.sum(-2, keepdims=True)


def one_by_one(function, *arguments):
    """`function` of each row, in a loop: what `vmap` must give."""
    return jax.lax.map(lambda row: function(*row), arguments)


def test_blocks_keep_buffers_small():
    def block(learner, actions):
        return block_of((jax.eval_shape(lambda: learner.init(actions)),))

    assert [block(Hedge(0.3), d) for d in (10, 200, 1000)] == [12, 16, 4]
    assert [block(BlumMansour(Hedge(0.3)), d) for d in (10, 20)] == [12, 16]


@pytest.mark.parametrize("rounds", [1, 7, 12, 16])
def test_blocks_stack_what_a_plain_loop_stacks(x64, rounds):
    learner, losses = Hedge(0.3), normal(rounds, 3)

    @jax.jit
    def blocks(losses):
        seats = init_seats((learner,), (3,), rounds, None)
        return scan_rounds((learner,), given_losses, seats, rounds, losses)[1].policies[0]

    weights = np.exp(-0.3 * (np.cumsum(losses, 0) - losses))
    expected = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(blocks(losses), expected, rtol=ROUNDING)


@pytest.mark.parametrize("keep", ["all", "summary"])
@pytest.mark.parametrize(
    "seated",
    [(Hedge(0.3), Hedge(0.1), Hedge(0.2)), (FollowTheLeader(),) * 3, (RegretMatching(),) * 3],
)
def test_equal_seats_in_one_vector_play_the_same(x64, monkeypatch, seated, keep):
    """In several segments, which hand on each seat's own state."""
    monkeypatch.setattr(_engine, "ROUNDS_PER_SEGMENT", 120)
    game = games.random(4, 4, 4, seed=1)
    joined = play(game, seated, 250, keep=keep)
    monkeypatch.setattr(_side_by_side, "SIDE_BY_SIDE", ())
    jax.clear_caches()
    apart = play(game, seated, 250, keep=keep)
    for one, other in zip(jax.tree.leaves(joined), jax.tree.leaves(apart), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("key", "keep"), [(None, "all"), (jax.random.key(0), "all"), (None, "summary")]
)
def test_a_large_zero_sum_game_reads_one_table(x64, monkeypatch, key, keep):
    game = games.zero_sum(normal(8, 6))
    apart = play(game, Hedge(0.3), 40, key=key, keep=keep)
    monkeypatch.setattr(fast_paths, "MIN_MIRRORED_ENTRIES", 48)
    joined = play(game, Hedge(0.3), 40, key=key, keep=keep)
    for one, other in zip(jax.tree.leaves(joined), jax.tree.leaves(apart), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    steps = jnp.array([0.1, 0.3])
    many = jax.vmap(lambda step: play(game, Hedge(step), 40).policies[1])(steps)
    np.testing.assert_allclose(many[1], play(game, Hedge(0.3), 40).policies[1], atol=1e-9)


@pytest.mark.parametrize("rounds", [1, 39, 240, 601])
@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_joint_play_of_a_large_game_keeps_six_digits_in_single_precision(rounds, drift):
    steps = np.random.default_rng(rounds).normal(size=(2, rounds, 256)) * drift
    steps[:, 0] = np.random.default_rng(1).normal(size=(2, 256))
    weights = np.exp(np.cumsum(steps, 1))
    played = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    exact = played[0].astype(float).T @ played[1].astype(float) / rounds
    np.testing.assert_allclose(games.joint_play(list(played)), exact, rtol=1e-6)


def test_a_measurement_compiled_lightly_or_fully_gives_the_same(x64, monkeypatch):
    objective, key = RegretObjective(3, 5), jax.random.key(0)
    usual = evaluate("hedge(0.4)", objective, key=key, sequences=40)
    monkeypatch.setattr(fast_paths, "MIN_HEAVY_LOSSES", 40 * 5 * 3)
    heavy = evaluate("hedge(0.4)", objective, key=key, sequences=40)
    monkeypatch.setattr(fast_paths, "MAX_LIGHT_LOSSES", 40 * 5 * 3)
    light = evaluate("hedge(0.4)", objective, key=key, sequences=40)
    np.testing.assert_allclose([light, heavy], [usual, usual], rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_joint_play_of_large_games_of_three_players_and_of_no_rounds(kind):
    weights = np.random.default_rng(0).uniform(size=(3, 50, 41)).astype(kind)
    played = list(weights / weights.sum(-1, keepdims=True))
    exact = np.einsum("ta,tb,tc->abc", *(part.astype(float) for part in played)) / 50
    np.testing.assert_allclose(games.joint_play(played), exact, rtol=1e-6)
    with pytest.raises(ValueError, match="rounds must be an integer >= 1, got 0"):
        games.joint_play([part[:0] for part in played])


def test_programs_are_compiled_also_by_jax_that_has_its_trace_state_elsewhere(monkeypatch):
    monkeypatch.delattr("jax.extend.core.get_opaque_trace_state")
    monkeypatch.setitem(vars(jax.core), "get_opaque_trace_state", lambda convention: 3)
    fast_paths._untraced_state.cache_clear()
    assert not fast_paths._is_traced()
    fast_paths._untraced_state.cache_clear()


def test_options_yield_to_the_flags_of_a_user(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=true")
    asked = []
    monkeypatch.setattr("jax.jit", lambda function, **options: asked.append(options))
    fast_paths._jitted.__wrapped__(normal, (), False, False, True)
    assert asked[0]["compiler_options"] is None


def test_programs_for_many_actions_are_compiled_to_run_fast(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setattr(fast_paths, "ENABLED", True)
    monkeypatch.setattr(fast_paths, "has_older_emitters", lambda: True)
    asked = []
    monkeypatch.setattr("jax.jit", lambda function, **options: asked.append(options) or function)
    for actions in (3, 100):
        fast_paths.compiled(lambda x: x, actions=actions)
    options = [one["compiler_options"] for one in asked]
    assert options == [{"xla_cpu_use_fusion_emitters": newer} for newer in (False, True)]


@pytest.mark.parametrize(("one_shot", "known"), [(True, True), (True, False), (False, True)])
def test_small_programs_are_asked_for_once_by_commands_whose_xla_knows_the_flags(
    monkeypatch, one_shot, known
):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=3")
    monkeypatch.setattr(fast_paths, "_ONE_SHOT", one_shot)
    monkeypatch.setattr(fast_paths, "has_older_emitters", lambda: known)
    fast_paths.compile_small()
    fast_paths.compile_small()
    flags = os.environ["XLA_FLAGS"].split()
    assert flags[0] == "--xla_a=3"
    assert len(flags) == (3 if one_shot and known else 1)


def test_programs_inside_of_a_program_have_no_options():
    seen = []

    def run(x):
        seen.append(fast_paths.compiled(normal) is fast_paths.compiled(normal))
        seen.append(fast_paths.compiled(normal) is outside)
        return x

    outside = fast_paths.compiled(normal)
    jax.jit(run)(0.0)
    assert seen == [True, False]


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
        losses = jnp.asarray(normal(200, 5))
        learner = BlumMansour(base)

        def step(state, loss):
            columns = jax.vmap(base.policy)(state.heads).T
            pi = learner.policy(state)
            return learner.update(state, loss), (jnp.abs(columns @ pi - pi).sum(), pi)

        walk = jax.jit(lambda losses: jax.lax.scan(step, learner.init(5), losses)[1])
        residuals, policies = walk(losses)
        assert float(residuals.max()) <= tolerance
        assert float(policies.min()) >= 0


def test_a_batch_eliminates_the_chains_that_need_it(x64):
    matrices = np.concatenate([chains(8, 6, spread=spread, seed=5) for spread in (1.0, 30.0)])
    start = np.full(6, 1 / 6)

    def unfinished(p):
        return power_iteration(p, start, tolerance=1e-10, max_iterations=64).residual

    together = jax.jit(jax.vmap(lambda p: (unfinished(p), stationary(p, start), stationary(p))))
    residuals, found, exact = (np.asarray(each) for each in together(matrices))
    needy = residuals > 1e-10
    assert 0 < needy.sum() < 16
    np.testing.assert_allclose(found[needy], exact[needy], rtol=ROUNDING)
    assert np.abs(np.einsum("nij,nj->ni", matrices, found) - found).sum(1).max() <= 1e-10


@pytest.mark.parametrize("d", [TINY, SMALL, SMALL + 1])
def test_chains_in_a_batch_end_where_each_ends_alone(x64, d):
    matrices, starts = chains(3, 4, d, spread=2.0, seed=d), chains(3, 4, d)[..., 0]
    near = lambda p, start: stationary(p, start, tolerance=1e-5)  # noqa: E731
    alone = (lambda p, start: stationary(p)) if d <= TINY else near

    @jax.jit
    def pairs(matrices, starts):
        """What a batch finds and what each finds alone: all chains, one start for all, one chain from all starts."""
        one_start, one_chain = starts[0, [0] * 4], matrices[0, [0] * 4]
        every = jax.vmap(jax.vmap(near))(matrices, starts).reshape(12, d)
        return (
            (every, one_by_one(alone, matrices.reshape(12, d, d), starts.reshape(12, d))),
            (
                jax.vmap(near, (0, None))(matrices[0], starts[0, 0]),
                one_by_one(alone, matrices[0], one_start),
            ),
            # which takes power steps
            (
                jax.vmap(near, (None, 0))(matrices[0, 0], starts[0]),
                one_by_one(near, one_chain, starts[0]),
            ),
        )

    for found, expected in pairs(matrices, starts):
        np.testing.assert_allclose(found, expected, rtol=ROUNDING)


def test_many_chains_end_at_their_exact_distribution(x64):
    matrices, start = chains(MANY_CHAINS, 9, spread=3.0), np.full(9, 1 / 9)
    near = jax.jit(jax.vmap(lambda p: stationary(p, start, tolerance=1e-3)))
    exact = jax.jit(lambda p: one_by_one(stationary, p))(matrices)
    np.testing.assert_allclose(near(matrices), exact, rtol=ROUNDING)
    np.testing.assert_allclose(jax.jit(jax.vmap(stationary))(matrices), exact, rtol=ROUNDING)


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
    matrices, start, weights = chains(5, 4, seed=1), np.full(4, 0.25), np.arange(4.0)
    value = lambda p: stationary(p, start, tolerance=1e-12) @ weights  # noqa: E731
    batch = jax.jit(jax.grad(lambda all_of_them: jax.vmap(value)(all_of_them).sum()))(matrices)
    for each in (jax.vmap(jax.grad(value)), partial(one_by_one, jax.grad(value))):
        np.testing.assert_allclose(jax.jit(each)(matrices), batch, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("d", [3, 10, 40])
def test_copies_of_hedge_play_as_each_does_alone(x64, d):
    learner = Hedge(InverseSqrt(1.5))
    totals, rounds = 10 * normal(d, d, seed=d), np.arange(d)

    def stacked(totals):
        return stacked_policies(
            learner, Cumulative(Sum(totals, *[0 * totals] * 2), jnp.asarray(rounds))
        )

    def alone(totals):
        policy = lambda total, t: learner.policy(Cumulative(Sum(total, *[0 * total] * 2), t))  # noqa: E731
        return one_by_one(policy, totals, rounds)

    def with_slope(play):
        return jax.jit(lambda t: (play(t), jax.grad(lambda t: (play(t) ** 2).sum())(t)))(totals)

    (found, slopes), (expected, expected_slopes) = with_slope(stacked), with_slope(alone)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)
    np.testing.assert_allclose(slopes, expected_slopes, rtol=1e-9, atol=1e-15)


LEARNERS = [Hedge(InverseSqrt(0.8)), BlumMansour(Hedge(1.0))]


def random_tables(*sizes, count=MANY):
    return normal(count, len(sizes), *sizes, seed=7)


def vmapped(run, axes=0):
    return jax.jit(jax.vmap(run, axes))


def check_each(batched, play_one, count=MANY):
    """That game i of a batch was played as `play_one(i)` plays it, for the first, a middle and the last one."""
    batched = jax.tree.map(np.asarray, batched)
    for i in (0, count // 2, count - 1):
        jax.tree.map(
            lambda a, b, i=i: np.testing.assert_allclose(a[i], b, atol=2e-9), batched, play_one(i)
        )


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize(
    "sizes", [(3, 3), *(pytest.param(s, marks=pytest.mark.slow) for s in ((2, 4), (2, 2, 3), (3,)))]
)
def test_many_games_are_played_as_each_alone(x64, learner, sizes):
    tables = random_tables(*sizes)
    run = lambda table: play(games.Game(table), learner, 19)  # noqa: E731
    check_each(vmapped(run)(tables), lambda i: run(tables[i]))


@pytest.mark.parametrize("rounds", [1, 8])
def test_many_games_of_any_length(x64, rounds):
    tables = random_tables(2, 3)
    run = lambda table: play(games.Game(table), Hedge(0.5), rounds)  # noqa: E731
    check_each(vmapped(run)(tables), lambda i: run(tables[i]))


@pytest.mark.parametrize("seat", [Hedge, lambda k: BlumMansour(Hedge(InverseSqrt(k)))])
def test_many_steps_in_one_game_and_steps_with_games(x64, seat):
    table, tables, steps = random_tables(3, 2)[0], random_tables(3, 2), np.linspace(0.1, 2, MANY)
    run = lambda table, k: play(games.Game(table), (seat(k), Hedge(0.3)), 11)  # noqa: E731
    check_each(vmapped(run, (None, 0))(table, steps), lambda i: run(table, steps[i]))
    check_each(vmapped(run)(tables, steps), lambda i: run(tables[i], steps[i]))
    alone = lambda k: play(games.Game(table[:1, :, 0]), seat(k), 9)  # noqa: E731
    check_each(vmapped(alone)(steps), lambda i: alone(steps[i]))


def test_many_schedules_of_steps(x64):
    game, steps = games.random(3, 3, seed=2), np.linspace(0.1, 1, 4 * MANY).reshape(MANY, 4)
    run = lambda k: play(game, Hedge(PerRound(k)), 9)  # noqa: E731
    check_each(vmapped(run)(steps), lambda i: run(steps[i]))


@pytest.mark.slow
def test_batches_of_batches_of_games(x64):
    tables = random_tables(2, 3, count=3 * MANY).reshape(3, MANY, 2, 2, 3)
    run = lambda table: play(games.Game(table), BlumMansour(Hedge(0.5)), 9)  # noqa: E731
    found = jax.tree.map(np.asarray, vmapped(jax.vmap(run))(tables))
    for i in range(3):
        check_each(jax.tree.map(lambda x, i=i: x[i], found), lambda j, i=i: run(tables[i, j]))


@pytest.mark.slow
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


@pytest.mark.parametrize("shape", [(), (5,), (20, 3, 64), (2, 0)])
def test_normal_numbers_are_those_of_jax(shape):
    for key in (jax.random.key(3), jax.random.PRNGKey(4), jax.random.key(5, impl="rbg")):
        ours, theirs = _random.normal(key, shape), jax.random.normal(key, shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    keys = jax.random.split(jax.random.key(6), 4)
    ours, theirs = (
        jax.vmap(partial(normal, shape=shape))(keys)
        for normal in (_random.normal, jax.random.normal)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
