r"""Play many matches in one program: games of the same shape, each with several line-ups of learners.

A seating assigns a learner to every player; a match is a seating in a game. Within a game, all copies of a learner with
the same number of actions form one player of the engine, whose policies are a batch, so every learner compiles once per
number of actions. The result is the matrix $M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret` for every match and
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

    def games(learners: tuple[Learner, ...], rows: tuple) -> list[Array]:
        return jax.vmap(partial(_matches, learners, seatings, rounds))(*rows)

    return over_rows(games, learners, (payoffs, keys, starts), mesh)


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
    """Seats of the learners' copies in the matches of a game.

    `batches` regroups arrays per player (over matches) into arrays per learner and number of actions; `players` does
    the reverse.
    """

    def __init__(self, sizes: Sequence[int], seatings: Int[np.ndarray, "M N"]) -> None:
        self.count = len(sizes)
        self.places: dict[tuple[int, int], list[tuple[int, Int[np.ndarray, "_"]]]] = {}
        for player, size in enumerate(sizes):
            for learner in np.unique(seatings[:, player]):
                matches = np.flatnonzero(seatings[:, player] == learner)
                self.places.setdefault((size, int(learner)), []).append((player, matches))

    def batches(self, arrays: Any) -> list[Any]:
        return [
            jnp.concatenate([arrays[player][matches] for player, matches in places])
            for places in self.places.values()
        ]

    def players(self, batches: Sequence[Any]) -> list[Any]:
        parts: list[list[Any]] = [[] for _ in range(self.count)]
        orders: list[list[Any]] = [[] for _ in range(self.count)]
        for places, batch in zip(self.places.values(), batches, strict=True):
            first = 0
            for player, matches in places:
                parts[player].append(batch[first : first + len(matches)])
                orders[player].append(matches)
                first += len(matches)
        pairs = zip(parts, orders, strict=True)
        return [jnp.concatenate(part)[np.argsort(np.concatenate(order))] for part, order in pairs]


def _matches(
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    payoffs: Float[Array, "N ..."],
    key: Key[Array, ""] | None,
    starts: tuple[Float[Array, "_"], ...] | None,
) -> list[Float[Array, "M d d"]]:
    """Play all seatings of one game."""
    from regrax.learners import Sum, play_round

    sizes = payoffs.shape[1:]
    count = len(seatings)
    seats = Seats(sizes, np.array(seatings))
    tables = tuple(-unfolded(own, player) for player, own in enumerate(payoffs))
    begin: list[Any] = [None] * len(seats.places)
    draws: Any = None
    if key is not None:
        of_seats = _split(_split(jax.random.split(key, count), len(sizes)).ravel(), 2)
        begin = seats.batches(of_seats[:, 0].reshape(count, -1).T)
        draws = of_seats[:, 1]
    policies: list[Any] = [None] * len(seats.places)
    if starts is not None:
        policies = seats.batches([jnp.repeat(start[None], count, 0) for start in starts])
    copies = []
    states = []
    sums = []
    for ((size, learner), places), own, keys in zip(
        seats.places.items(), policies, begin, strict=True
    ):
        rows = sum(len(matches) for _, matches in places)
        player = Copies(learners[learner], own)
        copies.append(player)
        states.append(player.init(size, rounds, rows, keys))
        sums.append(Sum.zeros(rows, size, size, dtype=payoffs.dtype))

    def environment(played: tuple[Any, ...], _: None) -> tuple[Any, ...]:
        losses = jax.vmap(lambda *policies: game_losses(tables, policies, None))
        return tuple(seats.batches(losses(*seats.players(played))))

    def step(number: Int[Array, ""], carry: tuple) -> tuple:
        states, sums = carry
        keys = None
        if key is not None:
            of_round = jax.vmap(jax.random.fold_in, (0, None))(draws, number)
            keys = seats.batches(of_round.reshape(count, -1).T)
        states, round_ = play_round(copies, environment, states, keys=keys)
        pairs = zip(sums, round_.played, round_.losses, strict=True)
        return states, [total.add(pi[:, :, None] * loss[:, None]) for total, pi, loss in pairs]

    _, sums = lax.fori_loop(0, rounds, step, (tuple(states), sums))
    return seats.players([total.value for total in sums])


def _split(keys: Key[Array, "n"], count: int) -> Key[Array, "n count"]:
    return jax.vmap(partial(jax.random.split, num=count))(keys)
