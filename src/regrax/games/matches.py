r"""Play many matches in one program: games of several shapes, each with several line-ups of learners.

A seating assigns a learner to every player; a match is a seating in a game. All copies of a learner with the same
number of actions form one player of the engine, whose policies are a batch, so every learner compiles once per number
of actions. The result is the matrix $M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret` for every match and player,
from which payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key

from regrax.games.game import unfolded
from regrax.games.trajectory import game_losses
from regrax.learners import Learner, State, Sum, keys_of_round, play_round
from regrax.sharding import over_rows

Seating = tuple[int, ...]
"""Index of each player's learner."""
Payoffs = Sequence[Float[Array, "_ _ ..."]]
"""For each shape, the payoffs of its games, `(J, N, *d)`."""
Keys = Sequence[Key[Array, "_"]]
"""For each shape, a key per game, `(J,)`."""
Starts = Sequence[tuple[Float[Array, "_ _"], ...]]
"""For each shape and player, a policy per game, `(J, d)`."""
Matrices = list[list[Float[Array, "_ _ _ _"]]]
"""For each shape and player, a matrix per game and seating, `(J, M, d, d)`."""


@partial(jax.jit, static_argnames=("seatings", "rounds", "mesh"))
def swap_matrices(
    payoffs: Payoffs,
    learners: tuple[Learner, ...],
    seatings: tuple[tuple[Seating, ...], ...],
    rounds: int,
    keys: Keys | None = None,
    mesh: Mesh | None = None,
    starts: Starts | None = None,
) -> Matrices:
    r"""Compute $\sum_t \pi_t \ell_t^\top$ for every shape, player, game and seating.

    Args:
        payoffs: for each shape, the payoffs of $J$ games.
        learners: the learners.
        seatings: for each shape and each of $M$ matches per game, the index of every player's learner.
        rounds: rounds per match.
        keys: for each shape, a key per game to draw actions with; by default losses are expectations.
        mesh: devices that share the games, which must all have the same shape.
        starts: for each shape and player, the round-1 policy in each game, the same in every seating.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> payoffs = jnp.asarray(matching_pennies().payoffs)[None]
    >>> learners = (Uniform(), FollowTheLeader())
    >>> [[first, second]] = swap_matrices([payoffs], learners, (((0, 0), (1, 0)),), 2)
    >>> first.shape, first[0, 1].tolist()
    ((1, 2, 2, 2), [[0.0, 0.0], [0.0, 0.0]])
    """

    def matches(learners: tuple[Learner, ...], games: tuple) -> Matrices:
        return _matches(games[0], learners, seatings, rounds, *games[1:])

    return over_rows(matches, learners, (payoffs, keys, starts), mesh)


class Place(NamedTuple):
    """A player in all matches of one shape, with its learner in each match."""

    shape: int
    player: int
    learner: Int[np.ndarray, "matches"]


class Copies:
    """Copies of a learner with the same number of actions, batched as one player of the engine."""

    def __init__(self, learner: Learner, starts: Float[Array, "n d"] | None) -> None:
        self.learner = learner
        self.axis = None
        if starts is not None:
            self.learner = jax.vmap(learner.starting_at)(starts)
            self.axis = 0

    def init(self, actions: int, rounds: int, count: int, keys: Any) -> State:
        def init(learner: Learner, key: Any) -> State:
            return learner.init(actions, rounds, key=key)

        axes = (self.axis, None if keys is None else 0)
        return jax.vmap(init, axes, axis_size=count)(self.learner, keys)

    def policy(self, states: State) -> Float[Array, "n d"]:
        return jax.vmap(lambda learner, state: learner.policy(state), (self.axis, 0))(
            self.learner, states
        )

    def observe(self, losses: Any, actions: Any) -> tuple[Any, Any]:
        return losses, actions

    def update(self, states: State, feedback: tuple[Any, Any]) -> State:
        def update(learner: Learner, state: State, loss: Any, action: Any) -> State:
            return learner.update(state, learner.observe(loss, action))

        losses, actions = feedback
        axes = (self.axis, 0, 0, None if actions is None else 0)
        return jax.vmap(update, axes)(self.learner, states, losses, actions)


class Layout:
    """Assignment of learner copies to matches.

    `rows` regroups arrays per shape and player (over matches) into arrays per learner and number of actions; `arrays`
    does the reverse.
    """

    def __init__(
        self, sizes: Sequence[tuple[int, ...]], seatings: Sequence[Int[np.ndarray, "_ _"]]
    ) -> None:
        self.sizes = sizes
        self.places = [
            Place(shape, player, seated[:, player])
            for shape, seated in enumerate(seatings)
            for player in range(seated.shape[1])
        ]
        sitting: dict[tuple[int, int], list[Place]] = {}
        for place in self.places:
            for learner in np.unique(place.learner):
                own = sizes[place.shape][place.player], int(learner)
                sitting.setdefault(own, []).append(place)
        self.sitting = sitting

    def rows(self, arrays: Sequence[Sequence[Any]]) -> list[Any]:
        return [
            jnp.concatenate(
                [arrays[p.shape][p.player][np.flatnonzero(p.learner == learner)] for p in places]
            )
            for (_, learner), places in self.sitting.items()
        ]

    def arrays(self, rows: Sequence[Any]) -> list[list[Any]]:
        parts: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
        for ((_, learner), places), batch in zip(self.sitting.items(), rows, strict=True):
            first = 0
            for place in places:
                matches = np.flatnonzero(place.learner == learner)
                part = batch[first : first + len(matches)]
                parts.setdefault((place.shape, place.player), []).append((matches, part))
                first += len(matches)
        result: list[list[Any]] = [[] for _ in self.sizes]
        for place in self.places:
            own = parts[place.shape, place.player]
            order = np.argsort(np.concatenate([matches for matches, _ in own]))
            result[place.shape].append(jnp.concatenate([part for _, part in own])[order])
        return result


def _matches(
    payoffs: Payoffs,
    learners: tuple[Learner, ...],
    seatings: tuple[tuple[Seating, ...], ...],
    rounds: int,
    keys: Keys | None,
    starts: Starts | None,
) -> Matrices:
    sizes = [batch.shape[2:] for batch in payoffs]
    counts = [len(matches) for matches in seatings]
    games = [len(batch) for batch in payoffs]
    seated = [np.tile(rows, (count, 1)) for rows, count in zip(seatings, games, strict=True)]
    layout = Layout(sizes, seated)
    players = [learners[learner] for _, learner in layout.sitting]
    if starts is None:
        copies = [Copies(learner, None) for learner in players]
    else:
        repeated = [
            [jnp.repeat(policy, count, 0) for policy in own]
            for own, count in zip(starts, counts, strict=True)
        ]
        pairs = zip(players, layout.rows(repeated), strict=True)
        copies = [Copies(learner, policies) for learner, policies in pairs]
    begin, draws = _player_keys(layout, keys, counts)
    numbers = layout.rows([[jnp.arange(len(rows))] * rows.shape[1] for rows in seated])
    states = tuple(
        own.init(size, rounds, len(number), key)
        for own, (size, _), number, key in zip(copies, layout.sitting, numbers, begin, strict=True)
    )
    tables = [
        tuple(jax.vmap(partial(unfolded, player=n))(-batch[:, n]) for n in range(batch.shape[1]))
        for batch in payoffs
    ]

    def environment(played: tuple[Any, ...], _: None) -> tuple[Any, ...]:
        losses = [
            _losses(own, policies, count)
            for own, policies, count in zip(tables, layout.arrays(played), counts, strict=True)
        ]
        return tuple(layout.rows(losses))

    def step(number: Int[Array, ""], carry: tuple) -> tuple:
        states, sums = carry
        own = keys_of_round(draws, number)
        states, round_ = play_round(copies, environment, states, keys=own)
        pairs = zip(sums, round_.played, round_.losses, strict=True)
        return states, [total.add(pi[:, :, None] * loss[:, None]) for total, pi, loss in pairs]

    zeros = [
        Sum.zeros(len(number), size, size, dtype=payoffs[0].dtype)
        for (size, _), number in zip(layout.sitting, numbers, strict=True)
    ]
    _, sums = lax.fori_loop(0, rounds, step, (states, zeros))
    matrices = layout.arrays([total.value for total in sums])
    return [
        [matrix.reshape(-1, count, *matrix.shape[1:]) for matrix in own]
        for own, count in zip(matrices, counts, strict=True)
    ]


def _losses(
    tables: tuple[Any, ...], played: Sequence[Float[Array, "matches _"]], count: int
) -> list[Float[Array, "matches _"]]:
    """Compute every player's losses in all matches of a shape, with `count` seatings per game."""
    grouped = [policies.reshape(-1, count, policies.shape[1]) for policies in played]
    of_seatings = jax.vmap(
        lambda tables, *policies: game_losses(tables, policies, None), (None, *[0] * len(played))
    )
    losses = jax.vmap(of_seatings)(tables, *grouped)
    return [loss.reshape(-1, loss.shape[2]) for loss in losses]


def _player_keys(
    layout: Layout, keys: Keys | None, counts: Sequence[int]
) -> tuple[list[Any], list[Any] | None]:
    """Split the keys: for each batch of copies, one key per row for the initial state and one for the draws."""
    if keys is None:
        return [None] * len(layout.sitting), None
    per_player = []
    for own, count, sizes in zip(keys, counts, layout.sizes, strict=True):
        matches = _split(own, count).ravel()
        per_player.append(list(_split(matches, len(sizes)).T))
    both = [_split(rows, 2) for rows in layout.rows(per_player)]
    return [pair[:, 0] for pair in both], [pair[:, 1] for pair in both]


def _split(keys: Key[Array, "n"], count: int) -> Key[Array, "n count"]:
    return jax.vmap(partial(jax.random.split, num=count))(keys)
