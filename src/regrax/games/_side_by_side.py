"""Small games by fewer and longer loops: equal seats of one game end to end, many games on the last axis."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int

from regrax import _fast_paths as fast_paths
from regrax.games._environment import Tables, game_losses, sizes_of
from regrax.learners import (
    BlumMansour,
    FollowTheLeader,
    Hedge,
    Key,
    Learner,
    RegretMatching,
    RegretMatchingPlus,
    Round,
    Seats,
    State,
    Vectors,
    init_seats,
    play_round,
    scan_rounds,
    settle,
)

SIDE_BY_SIDE = Hedge, FollowTheLeader, RegretMatching, RegretMatchingPlus
"""Learners that are faster with all seats in one vector: their rounds are a few small kernels."""


class EqualSeats:
    """Equal learners with as many actions each, played like one, on one vector that holds all of theirs end to end.

    Entering a kernel takes XLA as long as a small seat's part in it: one for all seats instead of one per seat.
    """

    def __init__(self, learners: tuple[Learner, ...], state: State) -> None:
        self.count, self.state = len(learners), state
        self.learners = jax.tree.map(lambda *leaves: jnp.stack(leaves), *learners)

    def policy(self, states: State) -> Array:
        return jax.vmap(lambda learner, state: learner.policy(state))(
            self.learners, self._apart(states)
        ).ravel()

    def observe(self, losses: Array, _: None) -> Array:
        return losses

    def update(self, states: State, losses: Array) -> State:
        after = jax.vmap(lambda learner, state, loss: learner.update(state, loss))(
            self.learners, self._apart(states), losses.reshape(self.count, -1)
        )
        return jax.tree.map(jnp.ravel, after)

    def seats(self, states: State) -> Seats:
        """Each seat's own state again."""
        own = [jax.tree.map(lambda x, n=n: x[n], self._apart(states)) for n in range(self.count)]
        return Seats(tuple(own), None)

    def _apart(self, states: State) -> State:
        return jax.tree.map(lambda x, y: x.reshape(self.count, *y.shape), states, self.state)


def seats_of(players: Any, seats: Seats) -> Seats:
    """The seats of the learners that `end_to_end` made these players of."""
    return players[0].seats(*seats.states) if isinstance(players[0], EqualSeats) else seats


def end_to_end(
    learners: tuple[Learner, ...], tables: Tables, seats: Seats
) -> tuple[Any, Any, Seats]:
    """Learners, environment and seats of a game, as one of `EqualSeats` where that is faster."""
    environment = partial(game_losses, tables)
    if not _are_equal(learners, tables, seats):
        return learners, environment, seats

    def losses(shown: Vectors, given: None) -> Vectors:
        apart = tuple(shown[0].reshape(len(learners), -1))
        return (jnp.concatenate(environment(apart, given)),)

    states = jax.tree.map(lambda *leaves: jnp.stack(leaves).ravel(), *seats.states)
    return (EqualSeats(learners, seats.states[0]),), losses, Seats((states,), None)


def _are_equal(learners: tuple[Learner, ...], tables: Tables, seats: Seats) -> bool:
    """Whether seats differ in numbers only, and two rounds of all of them are small rows."""
    known = all(isinstance(learner, SIDE_BY_SIDE) for learner in learners)
    sizes = sizes_of(tables)
    kinds = [(jax.tree.structure(l), size) for l, size in zip(learners, sizes, strict=True)]
    row = sum(sizes) * tables[0].dtype.itemsize
    small = 2 * row <= fast_paths.MAX_SMALL_BUFFER_BYTES
    several = len(learners) > 1 and seats.draws is None
    return several and known and small and kinds == kinds[:1] * len(kinds)


def apart(rows: Round, seats: int) -> Round:
    """The rows of each seat, views of rows that are end to end."""
    if len(rows.policies) == seats:
        return rows
    policies, losses = (
        tuple(joined.reshape(len(joined), seats, -1).swapaxes(0, 1))
        for joined in (rows.policies[0], rows.losses[0])
    )
    return Round(policies, losses, None)


def all_rounds(tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key) -> Round:
    """The rows of every round, stacked; the number of rounds is that of the program."""
    widths = [math.inf if table is None else table.shape[1] for table in tables]
    narrow = max(widths) <= fast_paths.MAX_BATCHED_OPPONENT_ACTIONS
    batched = fast_paths.ENABLED and narrow and all(map(on_last_axis, learners))
    if key is None and batched:
        return _expected(tables, learners, rounds)
    return _one_game(tables, learners, rounds, key)


def on_last_axis(learner: Learner) -> bool:
    """Whether `policy` and `update` also take many copies at once: a last axis of states, numbers and losses."""
    heads = isinstance(learner, BlumMansour)
    return isinstance(learner, Hedge) or (heads and on_last_axis(learner.base))


def _one_game(tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key = None) -> Round:
    seats = init_seats(learners, sizes_of(tables), rounds, key)
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
        return init_seats(learners, sizes_of(tables), rounds, None)

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
