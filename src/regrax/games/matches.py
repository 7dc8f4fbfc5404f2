r"""Play many matches in one program: games of the same shape, each with several line-ups of learners.

A seating assigns a learner to every player; a match is a seating in a game. All copies of a learner that have the same
number of actions form one player of the engine, whose policies are a batch, so every learner compiles once per number
of actions. The result is the matrix $M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret` for every match and
player, from which payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    play = partial(_play_matches, seatings, rounds)
    return over_rows(
        lambda learners, games: jax.vmap(partial(play, learners))(*games),
        learners,
        (payoffs, keys, starts),
        mesh,
    )


def _play_matches(
    seatings: tuple[Seating, ...],
    rounds: int,
    learners: tuple[Learner, ...],
    payoffs: Float[Array, "N ..."],
    key: Key[Array, ""] | None,
    starts: tuple[Float[Array, "_"], ...] | None,
) -> list[Float[Array, "M d d"]]:
    """Play all seatings of a game."""
    from regrax.learners import Sum, keys_of_round, play_round

    players, *sizes = payoffs.shape
    matches = len(seatings)
    seats = Seats(sizes, np.array(seatings))
    begin = draws = None
    if key is not None:
        split = jax.random.split
        pairs = jax.vmap(lambda own: jax.vmap(split)(split(own, players)))(split(key, matches))
        begin, draws = (seats.batches(pairs[:, :, use].T) for use in range(2))
    if starts is not None:
        starts = seats.batches([jnp.tile(start, (matches, 1)) for start in starts])
    copies = []
    states = []
    sums = []
    for index, (learner, size, count) in enumerate(seats.copies):
        player = Copies(learners[learner])
        if starts is not None:
            player = Copies(jax.vmap(player.learner.starting_at)(starts[index]), 0)
        copies.append(player)
        states.append(player.init(size, rounds, count, begin and begin[index]))
        sums.append(Sum.zeros(count, size, size, dtype=payoffs.dtype))
    tables = tuple(-unfolded(payoffs[n], n) for n in range(players))

    def environment(played: tuple[Any, ...], _: None) -> tuple[Any, ...]:
        losses = jax.vmap(partial(game_losses, tables), (0, None))
        return seats.batches(losses(seats.players(played), None))

    def step(number: Int[Array, ""], carry: tuple) -> tuple:
        states, sums = carry
        of_round = keys_of_round(draws, number)
        states, now = play_round(copies, environment, states, keys=of_round)
        added = [
            total.add(pi[:, :, None] * loss[:, None])
            for total, pi, loss in zip(sums, now.played, now.losses, strict=True)
        ]
        return states, added

    _, sums = lax.fori_loop(0, rounds, step, (tuple(states), sums))
    return list(seats.players([total.value for total in sums]))


class Copies(NamedTuple):
    """Copies of a learner with the same number of actions, batched as one player of the engine.

    `axis` is 0 if the copies have different starts, and None if they are the same learner.
    """

    learner: Learner
    axis: int | None = None

    def each(self, function: Callable[..., Any], *arrays: Any, count: int | None = None) -> Any:
        axes = (self.axis, *[0] * len(arrays))
        return jax.vmap(function, axes, axis_size=count)(self.learner, *arrays)

    def init(self, actions: int, rounds: int, count: int, keys: Any) -> State:
        return self.each(lambda own, key: own.init(actions, rounds, key=key), keys, count=count)

    def policy(self, states: State) -> Float[Array, "n d"]:
        return self.each(lambda learner, state: learner.policy(state), states)

    def observe(self, losses: Any, actions: Any) -> Any:
        return self.each(lambda learner, *seen: learner.observe(*seen), losses, actions)

    def update(self, states: State, feedback: Any) -> State:
        return self.each(lambda learner, *seen: learner.update(*seen), states, feedback)


class Seats:
    """Seats of the learners' copies in all matches: of each number of actions, those of one learner after another.

    `batches` regroups arrays per player (a row per match) into arrays per learner and number of actions; `players` does
    the reverse.
    """

    def __init__(self, sizes: Sequence[int], seatings: Int[np.ndarray, "M N"]) -> None:
        self.groups = []
        self.copies = []
        for size in dict.fromkeys(sizes):
            players = [n for n, own in enumerate(sizes) if own == size]
            seated = seatings.T[players].ravel()
            learners, counts = np.unique(seated, return_counts=True)
            self.groups.append((players, np.argsort(seated, kind="stable"), np.cumsum(counts)[:-1]))
            for learner, count in zip(learners.tolist(), counts.tolist(), strict=True):
                self.copies.append((learner, size, count))

    def batches(self, arrays: Any) -> tuple[Any, ...]:
        batches: list[Any] = []
        for players, order, ends in self.groups:
            rows = jnp.concatenate([arrays[n] for n in players])
            batches += jnp.split(rows[order], ends)
        return tuple(batches)

    def players(self, batches: Sequence[Any]) -> tuple[Any, ...]:
        arrays: dict[int, Any] = {}
        rest = iter(batches)
        for players, order, ends in self.groups:
            rows = jnp.concatenate([next(rest) for _ in range(len(ends) + 1)])
            seated = jnp.split(rows[np.argsort(order)], len(players))
            arrays.update(zip(players, seated, strict=True))
        return tuple(arrays[n] for n in sorted(arrays))
