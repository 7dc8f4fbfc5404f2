"""Many small games at once: `vmap` of expected play puts the games on the last axis, where XLA works on vectors."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int

from regrax import _fast_paths as fast_paths
from regrax.games._environment import Tables, game_losses
from regrax.learners import (
    BlumMansour,
    Hedge,
    Key,
    Learner,
    Round,
    Seats,
    init_seats,
    play_round,
    scan_rounds,
    settle,
)


def all_rounds(tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key) -> Round:
    """The rows of every round, stacked; the number of rounds is that of the program."""
    narrow = max(table.shape[1] for table in tables) <= fast_paths.MAX_BATCHED_OPPONENT_ACTIONS
    batched = fast_paths.ENABLED and narrow and all(map(on_last_axis, learners))
    if key is None and batched:
        return _expected(tables, learners, rounds)
    return _one_game(tables, learners, rounds, key)


def on_last_axis(learner: Learner) -> bool:
    """Whether `policy` and `update` also take many copies at once: a last axis of states, numbers and losses."""
    heads = isinstance(learner, BlumMansour)
    return isinstance(learner, Hedge) or (heads and on_last_axis(learner.base))


def _one_game(tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key = None) -> Round:
    seats = init_seats(learners, [len(table) for table in tables], rounds, key)
    return scan_rounds(learners, partial(game_losses, tables), seats, rounds)[1]


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _expected(tables: Tables, learners: tuple[Learner, ...], rounds: int) -> Round:
    one = partial(_one_game, rounds=rounds)
    rows = custom_vmap(one)

    @rows.def_vmap
    def many(count: int, mapped: list, tables: Tables, learners: tuple) -> tuple[Round, Round]:
        axes = jax.tree.map(lambda is_mapped: 0 if is_mapped else None, mapped)
        leaves = zip(jax.tree.leaves(learners), jax.tree.leaves(mapped[1]), strict=True)
        few = count < fast_paths.MIN_BATCHED_GAMES
        if few or any(is_mapped and leaf.ndim > 1 for leaf, is_mapped in leaves):
            found = jax.vmap(one, axes, axis_size=count)(tables, learners)
        else:
            found = _many_games(tables, learners, rounds, count, axes)
        return found, jax.tree.map(lambda _: True, found)

    return rows(tables, learners)


# `custom_vmap` has no derivatives in reverse: they are those of one game, by `vmap`
@_expected.defjvp
def _expected_jvp(rounds: int, primals: tuple, tangents: tuple) -> tuple[Round, Round]:
    return jax.jvp(partial(_one_game, rounds=rounds), primals, tangents)


def _many_games(
    tables: Tables, learners: tuple[Learner, ...], rounds: int, count: int, axes: list
) -> Round:
    """The rows of `count` games, which are on the last axis of everything until their rows are put in place."""

    def begin(tables: Tables, learners: tuple[Learner, ...]) -> Seats:
        return init_seats(learners, [len(table) for table in tables], rounds, None)

    states = jax.vmap(begin, axes, -1, axis_size=count)(tables, learners).states
    wide = jax.vmap(lambda tables: tables, axes[:1], -1, axis_size=count)(tables)
    one_round = partial(play_round, learners, partial(game_losses, wide))
    row = jax.eval_shape(one_round, states)[1]
    block = min(rounds, fast_paths.ROUNDS_PER_TRANSPOSE)

    def play_block(length: int, carry: tuple, first: Int[Array, ""]) -> tuple[tuple, None]:
        states, kept = carry
        states, rows = lax.scan(one_round, states, None, length)
        # one transposition of a matrix, which is faster than moving an axis
        put = jax.tree.map(lambda x: x.reshape(-1, count).T.reshape(count, length, -1), rows)
        write = partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=1)
        return (settle(states), jax.tree.map(write, kept, put)), None

    kept = jax.tree.map(lambda x: jnp.zeros((count, rounds, len(x)), x.dtype), row)
    starts = jnp.arange(0, rounds, block)
    carry, _ = lax.scan(partial(play_block, block), (states, kept), starts[: rounds // block])
    if rounds % block:
        carry, _ = play_block(rounds % block, carry, starts[-1])
    return carry[1]
