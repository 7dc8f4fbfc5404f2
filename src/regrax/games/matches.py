r"""Play many matches in one program: games of the same shape, each with several line-ups of learners.

A seating assigns a learner to every player; a match is a seating in a game. All copies of a learner that have the same
number of actions form one player of the engine, whose policies are a batch, so every learner compiles once per number
of actions. The result is the matrix $M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret` for every match and
player, from which payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key

from regrax.games.game import unfolded
from regrax.games.trajectory import game_losses

if TYPE_CHECKING:  # see `play`
    from regrax.learners import Learner, State

Seating = tuple[int, ...]
"""Index of each player's learner."""


@partial(jax.jit, static_argnames=("seatings", "rounds", "mesh"))
def swap_matrices(
    payoffs: Float[Array, "J N ..."],
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    keys: Key[Array, "J"] | None = None,
    mesh: Mesh | None = None,
    starts: tuple[Float[Array, "J _"], ...] | None = None,
) -> list[Float[Array, "J M d d"]]:
    r"""Compute $\sum_t \pi_t \ell_t^\top$ for every player, game and seating.

    Args:
        payoffs: the payoffs of $J$ games.
        learners: the learners.
        seatings: for each of $M$ matches per game, the index of every player's learner.
        rounds: rounds per match.
        keys: a key per game to draw actions with; by default losses are expectations.
        mesh: devices that share the games.
        starts: for each player, the round-1 policy in each game, the same in every seating.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> payoffs = jnp.asarray(matching_pennies().payoffs)[None]
    >>> learners = (Uniform(), FollowTheLeader())
    >>> first, second = swap_matrices(payoffs, learners, ((0, 0), (1, 0)), 2)
    >>> first.shape, first[0, 1].tolist()
    ((1, 2, 2, 2), [[0.0, 0.0], [0.0, 0.0]])
    """

    from regrax.sharding import over_rows

    def matches(learners: tuple[Learner, ...], games: tuple) -> list[Array]:
        return _matches(learners, seatings, rounds, *games)

    return over_rows(matches, learners, (payoffs, keys, starts), mesh)


class Copies(NamedTuple):
    """Copies of a learner with the same number of actions, batched as one player of the engine."""

    learner: Learner
    starts: Float[Array, "n d"] | None

    def started(self, start: Any) -> Learner:
        return self.learner if start is None else self.learner.starting_at(start)

    def init(self, actions: int, rounds: int, count: int, keys: Any) -> State:
        def init(start: Any, key: Any) -> State:
            return self.started(start).init(actions, rounds, key=key)

        return jax.vmap(init, axis_size=count)(self.starts, keys)

    def policy(self, states: State) -> Float[Array, "n d"]:
        def policy(start: Any, state: State) -> Float[Array, "d"]:
            return self.started(start).policy(state)

        return jax.vmap(policy)(self.starts, states)

    def observe(self, losses: Any, actions: Any) -> tuple[Any, Any]:
        return losses, actions

    def update(self, states: State, feedback: tuple[Any, Any]) -> State:
        def update(start: Any, state: State, loss: Any, action: Any) -> State:
            learner = self.started(start)
            return learner.update(state, learner.observe(loss, action))

        return jax.vmap(update)(self.starts, states, *feedback)


class Seats:
    """Seats of the learners' copies in all matches: of each number of actions, those of one learner after another.

    `batches` regroups arrays per player (over games and matches) into arrays per learner and number of actions;
    `players` does the reverse.
    """

    def __init__(self, sizes: Sequence[int], seatings: Int[np.ndarray, "M N"], games: int) -> None:
        self.games = games
        self.groups = []
        self.copies = []
        for size in dict.fromkeys(sizes):
            players = [n for n, own in enumerate(sizes) if own == size]
            seated = seatings.T[players].ravel()
            order = np.argsort(seated, kind="stable")
            learners, counts = np.unique(seated, return_counts=True)
            self.groups.append((players, order, counts))
            self.copies += [
                (int(learner), size, games * int(count))
                for learner, count in zip(learners, counts, strict=True)
            ]

    def batches(self, arrays: Any) -> tuple[Any, ...]:
        batches: list[Any] = []
        for players, order, counts in self.groups:
            rows = jnp.concatenate([arrays[n] for n in players], 1)[:, order]
            batches += jnp.split(rows, np.cumsum(counts)[:-1], 1)
        return tuple(lax.collapse(batch, 0, 2) for batch in batches)

    def players(self, batches: Sequence[Any]) -> tuple[Any, ...]:
        arrays: dict[int, Any] = {}
        first = 0
        for players, order, counts in self.groups:
            own = batches[first : first + len(counts)]
            first += len(counts)
            rows = [batch.reshape(self.games, -1, *batch.shape[1:]) for batch in own]
            seated = jnp.concatenate(rows, 1)[:, np.argsort(order)]
            arrays.update(zip(players, jnp.split(seated, len(players), 1), strict=True))
        return tuple(arrays[n] for n in sorted(arrays))


def _matches(
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    payoffs: Float[Array, "J N ..."],
    keys: Key[Array, "J"] | None,
    starts: tuple[Float[Array, "J _"], ...] | None,
) -> list[Float[Array, "J M d d"]]:
    """Play all seatings of all games."""
    from regrax.learners import Sum, play_round

    games, players, *sizes = payoffs.shape
    count = len(seatings)
    seats = Seats(sizes, np.array(seatings), games)
    tables = tuple(-jax.vmap(partial(unfolded, player=n))(payoffs[:, n]) for n in range(players))
    first: Any = [None] * len(seats.copies)
    begin: Any = [None] * len(seats.copies)
    draws: Any = None
    if starts is not None:
        first = seats.batches([jnp.repeat(start[:, None], count, 1) for start in starts])
    if keys is not None:
        of_seats = _split(_split(_split(keys, count), players), 2)
        begin = seats.batches(jnp.moveaxis(of_seats[..., 0], -1, 0))
        draws = of_seats[..., 1]
    copies = [
        Copies(learners[learner], own)
        for (learner, _, _), own in zip(seats.copies, first, strict=True)
    ]
    states = tuple(
        player.init(size, rounds, rows, own)
        for player, (_, size, rows), own in zip(copies, seats.copies, begin, strict=True)
    )
    sums = [Sum.zeros(games, count, size, size, dtype=payoffs.dtype) for size in sizes]
    of_matches = jax.vmap(jax.vmap(game_losses, (None, 0, None)), (0, 0, None))

    def environment(played: tuple[Any, ...], _: None) -> tuple[Any, ...]:
        return seats.batches(of_matches(tables, seats.players(played), None))

    def step(number: Int[Array, ""], carry: tuple) -> tuple:
        states, sums = carry
        of_round = None
        if keys is not None:
            folded = jax.vmap(jax.random.fold_in, (0, None))(draws.ravel(), number)
            of_round = seats.batches(jnp.moveaxis(folded.reshape(draws.shape), -1, 0))
        states, round_ = play_round(copies, environment, states, keys=of_round)
        played = seats.players(round_.played)
        losses = seats.players(round_.losses)
        added = [
            total.add(pi[..., None] * loss[..., None, :])
            for total, pi, loss in zip(sums, played, losses, strict=True)
        ]
        return states, added

    _, sums = lax.fori_loop(0, rounds, step, (states, sums))
    return [total.value for total in sums]


def _split(keys: Key[Array, "..."], count: int) -> Key[Array, "... count"]:
    """Split every key of an array."""
    flat = jax.vmap(partial(jax.random.split, num=count))(keys.ravel())
    return flat.reshape(*keys.shape, count)
