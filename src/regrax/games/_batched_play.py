r"""Many seatings of many games of one shape, all in one program.

A seating names a learner for every seat. Seat by seat the seatings are sorted by learner, so every learner's rule is
compiled once and mapped over all of its matches. Nothing is kept but, for every seating and seat, the matrix
$M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret`, from which payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
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
Batch = Float[Array, "M _"]
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

    def games(learners: tuple[Learner, ...], drawn: tuple) -> tuple:
        def one_game(
            payoff: Float[Array, "N *d"], key: PRNGKeyArray | None, start: Vectors | None
        ) -> tuple:
            return _matches(payoff, learners, seatings, rounds, key, start)

        return jax.vmap(one_game, in_axes=[None if x is None else 0 for x in drawn])(*drawn)

    return over_rows(games, learners, (payoffs, keys, starts), mesh)


class _Seat:
    """One seat in all seatings, played like a learner: which learner sits there in which of them."""

    def __init__(self, learners: tuple[Learner, ...], sitting: Sequence[int], start: Any) -> None:
        present = sorted(set(sitting))
        chosen = [learners[k] for k in present]
        self.learners = [l if start is None else l.starting_at(start) for l in chosen]
        self.where = [jnp.array([m for m, k in enumerate(sitting) if k == p]) for p in present]
        self.back = jnp.argsort(jnp.concatenate(self.where))

    def init(self, actions: int, rounds: int, *, key: PRNGKeyArray | None) -> list[State]:
        keys = None if key is None else jax.random.split(key, len(self.back))
        return [
            _start(learner, actions, rounds, len(where), None if keys is None else keys[where])
            for learner, where in zip(self.learners, self.where, strict=True)
        ]

    def policy(self, states: list[State]) -> Batch:
        parts = [jax.vmap(l.policy)(state) for l, state in zip(self.learners, states, strict=True)]
        return jnp.concatenate(parts)[self.back]

    def observe(self, loss: Batch, action: Int[Array, "M"] | None) -> tuple:
        return loss, action

    def update(self, states: list[State], feedback: tuple) -> list[State]:
        losses, actions = feedback
        return [
            _update(learner, state, losses[where], None if actions is None else actions[where])
            for learner, where, state in zip(self.learners, self.where, states, strict=True)
        ]


def _start(
    learner: Learner, actions: int, rounds: int, count: int, keys: Key[Array, "count"] | None
) -> State:
    if keys is not None:
        return jax.vmap(lambda key: learner.init(actions, rounds, key=key))(keys)
    alone = learner.init(actions, rounds)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), alone)


def _update(learner: Learner, states: State, losses: Batch, actions: Array | None) -> State:
    def one(state: State, loss: Float[Array, "d"], action: Array | None) -> State:
        return learner.update(state, learner.observe(loss, action))

    return jax.vmap(one, in_axes=(0, 0, None if actions is None else 0))(states, losses, actions)


def _matches(
    payoffs: Float[Array, "N *d"],
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    key: PRNGKeyArray | None,
    starts: Vectors | None,
) -> tuple[Float[Array, "M _ _"], ...]:
    sizes = payoffs.shape[1:]
    begin = (None,) * len(sizes) if starts is None else starts
    seated: Any = [_Seat(learners, [s[n] for s in seatings], one) for n, one in enumerate(begin)]
    tables = [-unfolded(payoffs[n], n) for n in range(len(sizes))]
    size = min(rounds, ROUNDS_PER_SUM)

    def play_block(seats: Seats, first: Int[Array, ""]) -> tuple[Seats, Round]:
        return scan_rounds(seated, partial(_suffered, tables), seats, size, first=first)

    def fold(kept: tuple[Sum, ...], first: Int[Array, ""], rows: Round) -> tuple[Sum, ...]:
        counts = (first + jnp.arange(size) < rounds).astype(payoffs.dtype)[:, None, None]
        pairs = zip(kept, rows.played, rows.losses, strict=True)
        added = [total.add(jnp.einsum("tmi,tmj->mij", counts * p, l)) for total, p, l in pairs]
        return settle(tuple(added))

    seats = init_seats(seated, sizes, rounds, key)
    kept = tuple(Sum.zeros(len(seatings), d, d, dtype=payoffs.dtype) for d in sizes)
    return tuple(s.value for s in fold_rounds(play_block, seats, rounds, size, fold, kept)[1])


def _suffered(tables: list[Float[Array, "_ _"]], shown: Vectors, _: None) -> Vectors:
    """The losses of every seat in every seating."""
    seats = range(len(tables))
    return tuple(_losses(tables[n], [shown[m] for m in seats if m != n], shown[n]) for n in seats)


def _losses(table: Float[Array, "d others"], others: list[Batch], own: Batch) -> Batch:
    if not others:
        return jnp.broadcast_to(table[:, 0], own.shape)
    return jax.vmap(lambda *rows: table @ outer(rows))(*others)
