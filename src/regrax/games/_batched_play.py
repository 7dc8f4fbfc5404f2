r"""Many seatings of many games of one shape, all in one program.

A seating names a learner for every seat; a match is a seating in a game. The seats of all matches that have the same
number of actions are sorted by learner, so every learner's rule is compiled once and mapped over all of them. Nothing
is kept but, for every seating and seat, the matrix $M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret`, from which
payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from regrax.games._environment import outer
from regrax.games._game import unfolded
from regrax.learners import (
    Learner,
    Round,
    Seats,
    State,
    Sum,
    Vectors,
    fold_rounds,
    init_seats,
    scan_rounds,
    settle,
)
from regrax.sharding import over_rows

Seating = tuple[int, ...]
"""For every seat the number of the learner that takes it."""
Batch = Float[Array, "B N _"]
"""Of every match (game after game, in each seating after seating) a vector for each of some seats of equal size."""
ROUNDS_PER_SUM = 16
"""Rounds whose products are summed at once."""


@partial(jax.jit, static_argnames=("seatings", "rounds", "mesh"))
def swap_matrices(
    payoffs: Float[Array, "J N *d"],
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    keys: Key[Array, "J"] | None = None,
    mesh: Mesh | None = None,
    starts: tuple[Float[Array, "J _"], ...] | None = None,
) -> tuple[Float[Array, "J M _ _"], ...]:
    r"""$\sum_t \pi_t \ell_t^\top$ for every game, seating and seat; one match per game and seating.

    Args:
        payoffs: of $J$ games of one shape.
        learners: to seat.
        seatings: for each of $M$ matches per game, the index of the learner at every seat.
        rounds: per match.
        keys: one per game, to draw actions as `play` does; by default losses are expected.
        mesh: of devices that share the games.
        starts: for every seat the policy of round 1 per game, the same in every seating.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> payoffs = jnp.asarray(matching_pennies().payoffs)[None]
    >>> first, second = swap_matrices(payoffs, (Uniform(), FollowTheLeader()), ((0, 0), (1, 0)), 2)
    >>> first.shape, first[0, 1].tolist()
    ((1, 2, 2, 2), [[0.0, 0.0], [0.0, 0.0]])
    """

    def games(learners: tuple[Learner, ...], own: tuple) -> tuple[Float[Array, "J M _ _"], ...]:
        return _matches(own[0], learners, seatings, rounds, *own[1:])

    return over_rows(games, learners, (payoffs, keys, starts), mesh)


class _Seats:
    """Seats of equal size in all matches, played like one learner: sorted by who sits there."""

    def __init__(
        self, learners: tuple[Learner, ...], sitting: Int[np.ndarray, "B N"], start: Batch | None
    ) -> None:
        self.shape, flat = sitting.shape, sitting.ravel()
        self.order, present = np.argsort(flat, kind="stable"), np.unique(flat)
        self.back, ends = np.argsort(self.order), np.cumsum(np.bincount(flat)[present])
        self.cuts, self.given = ends[:-1], None if start is None else 0
        chosen = [learners[k] for k in present]
        if start is not None:
            pairs = zip(chosen, self.sorted(start), strict=True)
            chosen = [jax.vmap(learner.starting_at)(own) for learner, own in pairs]
        self.learners = chosen

    def sorted(self, rows: Array) -> list[Array]:
        """A row per match and seat, as a batch per learner."""
        flat = rows.reshape(-1, *rows.shape[2:])
        return jnp.split(flat[self.order], self.cuts)

    def each(self, function: Callable, *batches: Sequence[Any]) -> list[Any]:
        """`function(learner, row, ...)` of every row of every learner's batches."""
        return [
            jax.vmap(function, (self.given, *[None if x is None else 0 for x in own]))(
                learner, *own
            )
            for learner, *own in zip(self.learners, *batches, strict=True)
        ]

    def init(self, actions: int, rounds: int, *, key: Key[Array, "B"] | None) -> list[State]:
        def one(learner: Learner, _: Array, key: PRNGKeyArray | None) -> State:
            return learner.init(actions, rounds, key=key)

        places = self.sorted(
            jnp.zeros(self.shape)
        )  # without keys and starts, vmap has no other axis
        keys = None if key is None else self.sorted(_split_each(key, self.shape[1]))
        return self.each(one, places, keys or [None] * len(places))

    def policy(self, states: list[State]) -> Batch:
        flat = jnp.concatenate(self.each(lambda learner, state: learner.policy(state), states))
        return flat[self.back].reshape(*self.shape, -1)

    def observe(self, losses: Batch, actions: Int[Array, "B N"] | None) -> tuple:
        drawn = [None] * len(self.learners) if actions is None else self.sorted(actions)
        return self.sorted(losses), drawn

    def update(self, states: list[State], feedback: tuple) -> list[State]:
        def one(learner: Learner, state: State, loss: Array, action: Array | None) -> State:
            return learner.update(state, learner.observe(loss, action))

        return self.each(one, states, *feedback)


def _matches(
    payoffs: Float[Array, "J N *d"],
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    keys: Key[Array, "J"] | None,
    starts: Vectors | None,
) -> tuple[Float[Array, "J M _ _"], ...]:
    games, sizes = len(payoffs), payoffs.shape[2:]
    alike = [[n for n, d in enumerate(sizes) if d == size] for size in dict.fromkeys(sizes)]
    sitting = np.tile(np.array(seatings), (games, 1))
    seated = [
        _Seats(learners, sitting[:, seats], _begin(starts, seats, len(seatings))) for seats in alike
    ]
    tables = [jax.vmap(partial(unfolded, player=n))(-payoffs[:, n]) for n in range(len(sizes))]
    size = min(rounds, ROUNDS_PER_SUM)

    def play_block(seats: Seats, first: Int[Array, ""]) -> tuple[Seats, Round]:
        return scan_rounds(seated, partial(_suffered, tables, alike), seats, size, first=first)

    def fold(sums: tuple[Sum, ...], first: Int[Array, ""], rows: Round) -> tuple[Sum, ...]:
        counts = (first + jnp.arange(size) < rounds).astype(payoffs.dtype)[:, None, None, None]
        pairs = zip(sums, rows.played, rows.losses, strict=True)
        added = [total.add(jnp.einsum("tbni,tbnj->bnij", counts * p, l)) for total, p, l in pairs]
        return settle(tuple(added))

    own = None if keys is None else _split_each(keys, len(seatings)).ravel()
    seats = init_seats(seated, [sizes[seats[0]] for seats in alike], rounds, own)
    shapes = [(*group.shape, sizes[seats[0]]) for group, seats in zip(seated, alike, strict=True)]
    kept = tuple(Sum.zeros(*shape, shape[-1], dtype=payoffs.dtype) for shape in shapes)
    sums = fold_rounds(play_block, seats, rounds, size, fold, kept)[1]
    by_seat = _by_seat([s.value for s in sums], alike)
    return tuple(x.reshape(games, len(seatings), *x.shape[1:]) for x in by_seat)


def _split_each(keys: Key[Array, "n"], count: int) -> Key[Array, "n {count}"]:
    return jax.vmap(partial(jax.random.split, num=count))(keys)


def _begin(starts: Vectors | None, seats: list[int], seatings: int) -> Batch | None:
    """The policy of round 1 for every match and seat."""
    if starts is None:
        return None
    return jnp.repeat(jnp.stack([starts[n] for n in seats], 1), seatings, 0)


def _by_seat(batches: Sequence[Array], alike: list[list[int]]) -> list[Array]:
    """Seat after seat, from batches of seats that are alike."""
    found = {
        n: batch[:, k]
        for batch, seats in zip(batches, alike, strict=True)
        for k, n in enumerate(seats)
    }
    return [found[n] for n in sorted(found)]


def _suffered(
    tables: list[Float[Array, "J _ _"]], alike: list[list[int]], shown: Vectors, _: None
) -> Vectors:
    """The losses of every seat in every match."""
    policies = _by_seat(shown, alike)
    losses = [
        _losses(table, policies[:n] + policies[n + 1 :], len(policies[n]))
        for n, table in enumerate(tables)
    ]
    return tuple(jnp.stack([losses[n] for n in seats], 1) for seats in alike)


def _losses(
    table: Float[Array, "J d others"], others: list[Float[Array, "B _"]], matches: int
) -> Float[Array, "B d"]:
    if not others:
        return jnp.repeat(table[..., 0], matches // len(table), 0)
    joint = jax.vmap(lambda *rows: outer(rows))(*others).reshape(len(table), -1, table.shape[-1])
    return jnp.einsum("jdo,jmo->jmd", table, joint).reshape(matches, -1)
