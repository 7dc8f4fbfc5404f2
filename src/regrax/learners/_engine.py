r"""The one loop: seats, who chooses the losses, what is observed, what is kept.

A round asks every seat for its policy, draws actions if there is a key, asks the `environment` for the losses of every
seat, and shows each seat what its kind of learner sees. A loss sequence, a game and an adversary are environments;
`scan_rounds` is the loop, `fold_rounds` the same for a number of rounds that no program is compiled for.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from regrax import _checks as checks, _fast_paths as fast_paths
from regrax.learners._base import BanditLearner, HostLearner, Key, Learner, State
from regrax.learners._draws import Keys, Vectors, draw_all, key_of_round, one_hots, split
from regrax.learners._ftrl import settle

Environment = Callable[[Vectors, Any], Vectors]
"""From what the seats play in a round, and what the round is given, to the losses of every seat."""

ROUNDS_PER_SEGMENT = 65_520
"""Rounds that one call of a compiled program plays at most: between calls Python hears of Ctrl-C. Has many divisors."""
ROUNDS_OF_ONE_BUFFER_SIZE = 4096
"""Rounds up to which buffers have the next power of two as their size; larger ones would waste much."""
ROUNDS_PER_SETTLEMENT = 240
"""Rounds after which the sums of the states are settled, or after each block if `scan_rounds` plays more than these."""
ROUNDS_PER_LARGE_BLOCK = 16
"""Rounds in a block where states are large."""
LONG_ROW_BYTES, ROUNDS_PER_LONG_BLOCK = 2048, 4
"""Rows from which a round takes long: whole blocks are played, so that they are kept short."""


class Round(NamedTuple):
    """What happened in a round, or, stacked, in many."""

    policies: tuple[Any, ...]  # (d,) per seat, or (T, d)
    losses: tuple[Any, ...]
    actions: tuple[Any, ...] | None  # () per seat, or (T,)

    @property
    def played(self) -> tuple[Any, ...]:
        """What counts: the policies, or the drawn actions as one-hot rows."""
        return self.policies if self.actions is None else one_hots(self.actions, self.policies)


class Seats(NamedTuple):
    """The states of all seats before a round, and the key that actions are drawn with."""

    states: tuple[State, ...]
    draws: Keys | None


def init_seats(
    learners: Sequence[Any], sizes: Sequence[int], rounds: int | None, key: Keys | None
) -> Seats:
    """The seats before the first round.

    Args:
        learners: one per seat.
        sizes: number of actions per seat.
        rounds: that will be played, for learners that need a horizon or a buffer.
        key: split among initial states and draws; None where nothing is drawn.
    """
    begin, draws = (None, None) if key is None else split(key, 2)
    keys = [None] * len(sizes) if begin is None else split(begin, len(sizes))
    seats = zip(learners, sizes, keys, strict=True)
    return Seats(tuple(l.init(size, rounds, key=own) for l, size, own in seats), draws)


_init_seats = jax.jit(init_seats, static_argnums=(1, 2))


def play_round(
    learners: Sequence[Any],
    environment: Environment,
    states: tuple[State, ...],
    given: Any = None,
    key: Keys | None = None,
) -> tuple[tuple[State, ...], Round]:
    """One round: the states after it, and what happened.

    Args:
        learners: who sits at each seat.
        environment: from what was played and the row of `given` to the losses of every seat.
        states: before the round, one per seat.
        given: this round's row for the environment.
        key: to draw actions; None plays the policies themselves.
    """
    policies = tuple(l.policy(state) for l, state in zip(learners, states, strict=True))
    actions = None if key is None else draw_all(key, policies)
    shown = policies if actions is None else one_hots(actions, policies)
    losses = environment(shown, given)
    drawn = (None,) * len(policies) if actions is None else actions
    seats = zip(learners, states, losses, drawn, strict=True)
    after = tuple(l.update(state, l.observe(loss, action)) for l, state, loss, action in seats)
    return after, Round(policies, losses, actions)


def scan_rounds(
    learners: Sequence[Any],
    environment: Environment,
    seats: Seats,
    rounds: int,
    given: Any = None,
    first: int | Int[Array, ""] = 0,
) -> tuple[Seats, Round]:
    r"""Rounds `first` to `first + rounds - 1`: the seats after them, and their rows.

    The rows of all rounds are large buffers, and when a loop body writes one, XLA schedules the parts of that body anew
    every round, which takes as long as playing a small game does: small games are played in blocks whose buffers are
    small, by a loop over rounds inside a loop over blocks, twice as fast.

    Args:
        learners: who sits at each seat.
        environment: from what was played and the row of `given` to the losses of every seat.
        seats: before round `first`.
        rounds: how many, static.
        given: rows for the environment, one per round.
        first: index of the first round; keys are folded with it.
    """
    states, draws = seats
    block = _divisor(rounds, block_of(states))

    def one(states: tuple, step: tuple) -> tuple[tuple, Round]:
        number, row = step
        key = None if draws is None else key_of_round(draws, number)
        return play_round(learners, environment, states, row, key)

    def play_block(states: tuple, steps: tuple) -> tuple[tuple, Round]:
        states, rows = lax.scan(one, states, steps, block, unroll=_unroll(states, block))
        return (settle(states) if rounds > ROUNDS_PER_SETTLEMENT else states), rows

    steps = (None if draws is None else first + jnp.arange(rounds), given)
    parts = jax.tree.map(lambda x: x.reshape(rounds // block, block, *x.shape[1:]), steps)
    states, rows = lax.scan(play_block, states, parts, rounds // block)
    return Seats(states, draws), jax.tree.map(lambda x: x.reshape(rounds, *x.shape[2:]), rows)


def fold_rounds(
    play: Callable[[Seats, Int[Array, ""]], tuple[Seats, Round]],
    seats: Seats,
    count: int | Int[Array, ""],
    size: int,
    fold: Callable[[Any, Int[Array, ""], Round], Any],
    initial: Any,
) -> tuple[Seats, Any]:
    """`count` rounds, which may be a traced number, in blocks of `size` whose rows `fold` accumulates.

    Whole blocks are played: rows past `count` mean nothing, and nor do the seats unless `count` ends a block.

    Args:
        play: from the seats and the index of the first round to the seats after a block, and its rows.
        seats: before the first round.
        count: rounds in all, may be traced.
        size: rounds per block.
        fold: from the accumulator, the index of the first round and the rows to the next accumulator.
        initial: the accumulator before the first block.
    """

    def play_block(index: Int[Array, ""], carry: tuple) -> tuple:
        seats, accumulator = carry
        seats, rows = play(seats, index * size)
        return seats, fold(accumulator, index * size, rows)

    def play_blocks(index: Int[Array, ""], carry: tuple) -> tuple:
        end = jnp.minimum((index + 1) * group, blocks)
        seats, accumulator = lax.fori_loop(index * group, end, play_block, carry)
        return Seats(settle(seats.states), seats.draws), accumulator

    blocks, group = -(-count // size), max(ROUNDS_PER_SETTLEMENT // size, 1)
    return lax.fori_loop(0, -(-blocks // group), play_blocks, (seats, initial))


def fill_rounds(
    learners: Sequence[Any],
    environment: Environment,
    seats: Seats,
    span: tuple[Any, Any, int],
    given: Any = None,
) -> tuple[Seats, Round]:
    """The rows of `count` rounds from `first` on, in buffers of at least `capacity` rows.

    Args:
        learners: who sits at each seat.
        environment: from what was played and the row of `given` to the losses of every seat.
        seats: states before round `first`.
        span: first round, `count`, and `capacity`.
        given: rows for the environment, one per round of the capacity.
    """
    first, count, capacity = span
    size = min(block_of(seats.states), capacity)
    padded = -(-capacity // size) * size
    given = jax.tree.map(lambda x: jnp.pad(x, ((0, padded - capacity), (0, 0))), given)

    def play(seats: Seats, here: Int[Array, ""]) -> tuple[Seats, Round]:
        part = jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, here, size), given)
        return scan_rounds(learners, environment, seats, size, part, first + here)

    def write(buffers: Round, here: Int[Array, ""], rows: Round) -> Round:
        return jax.tree.map(
            lambda x, y: lax.dynamic_update_slice_in_dim(x, y, here, 0), buffers, rows
        )

    shapes = jax.eval_shape(lambda seats: play(seats, jnp.zeros((), int))[1], seats)
    buffers = jax.tree.map(lambda x: jnp.zeros((padded, *x.shape[1:]), x.dtype), shapes)
    return fold_rounds(play, seats, count, size, write, buffers)


def block_of(states: tuple[State, ...]) -> int:
    """How many rounds are played in a block, a divisor of `ROUNDS_PER_SEGMENT`: as many as have small rows."""
    leaves = [leaf for leaf in jax.tree.leaves(states) if leaf.ndim]
    largest = max((math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves), default=1)
    row = max((leaf.shape[-1] * leaf.dtype.itemsize for leaf in leaves), default=1)
    limit = fast_paths.MAX_SMALL_BUFFER_BYTES
    if largest > limit:
        return ROUNDS_PER_LARGE_BLOCK if row < LONG_ROW_BYTES else ROUNDS_PER_LONG_BLOCK
    return 2 * _divisor(ROUNDS_PER_SEGMENT // 2, max(limit // row // 2, 1))  # even: see `_unroll`


def _divisor(rounds: int, most: int) -> int:
    return max(block for block in range(1, most + 1) if rounds % block == 0)


def _unroll(states: tuple[State, ...], block: int) -> int:
    """Entering a loop body costs as well: two rounds per entry, unless it is slow to compile (Blum-Mansour)."""
    light = fast_paths.ENABLED and all(jnp.ndim(leaf) < 2 for leaf in jax.tree.leaves(states))
    return 2 if light and block % 2 == 0 else 1


def begin(
    learners: Sequence[Any], sizes: tuple[int, ...], rounds: int, key: Keys | None
) -> Seats | None:
    """The seats before the first of several segments, which then share a program; None for one, which begins itself.

    Args:
        learners: one per seat.
        sizes: number of actions per seat.
        rounds: that will be played.
        key: as for `init_seats`.
    """
    if rounds <= ROUNDS_PER_SEGMENT:
        return None
    return _init_seats(tuple(learners), sizes, at_most(rounds), key)


def segments(rounds: int) -> Iterator[tuple[int, int, int]]:
    """First round, number of rounds and buffer size of each call that together play `rounds`.

    Sizes are powers of two, so that a loop over numbers of rounds compiles few programs.

    >>> list(segments(1000)), len(list(segments(100_000)))
    ([(0, 1000, 1024)], 2)
    """
    capacity = at_most(min(rounds, ROUNDS_PER_SEGMENT))
    for first in range(0, rounds, ROUNDS_PER_SEGMENT):
        yield first, min(rounds - first, ROUNDS_PER_SEGMENT), capacity


def at_most(rounds: int) -> int:
    """The number of rounds that programs and buffers are made for: the next power of two, of many the next quarter.

    >>> [at_most(rounds) for rounds in (100, 4097, 10_000)]
    [128, 5120, 10240]
    """
    power = 1 << (rounds - 1).bit_length()
    quarter = power // 8 if rounds > ROUNDS_OF_ONE_BUFFER_SIZE else power
    return -(-rounds // quarter) * quarter


def check_key(learners: Sequence[Learner], key: Key) -> None:
    """Raise unless every learner that draws its actions has a key to draw with."""
    if key is not None:
        checks.random_key(key)
    for learner in learners:
        if isinstance(learner, BanditLearner) and key is None:
            raise ValueError(
                f"{learner} sees only the loss of the action it draws, so it needs a key (a seed), got none"
            )


def on_host(learners: Sequence[Learner], *arrays: Any) -> bool:
    """Whether a learner runs in Python; raises if it would meet arrays without values."""
    hosted = [learner for learner in learners if isinstance(learner, HostLearner)]
    if hosted and not all(checks.is_concrete(x) for x in jax.tree.leaves(arrays)):
        raise ValueError(f"{hosted[0]} runs in Python and cannot be traced by jit, vmap or grad")
    return bool(hosted)
