r"""Many seatings of many games of one shape, all in one program.

A seating names a learner for every seat. Seat by seat the seatings are sorted by learner, so every learner's rule is
compiled once and mapped over all of its matches. Nothing is kept but, for every seating and seat, the matrix
$M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret`, from which payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Key, PRNGKeyArray

from regrax.games._rounds import outer
from regrax.learners import Learner, State, draw, observe
from regrax.sharding import over_rows

Seating = tuple[int, ...]
"""For every seat the number of the learner that takes it."""
Batch = Float[Array, "M _"]


@partial(jax.jit, static_argnames=("seatings", "rounds", "mesh"))
def swap_matrices(
    payoffs: Float[Array, "J N *d"],
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    keys: Key[Array, "J"] | None = None,
    mesh: Mesh | None = None,
) -> tuple[Float[Array, "J M _ _"], ...]:
    r"""$\sum_t \pi_t \ell_t^\top$ for every game, seating and seat; with a key a game, actions are drawn as in `play`.

    On a mesh every device plays its share of the games.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> payoffs = jnp.asarray(matching_pennies().payoffs)[None]
    >>> first, second = swap_matrices(payoffs, (Uniform(), FollowTheLeader()), ((0, 0), (1, 0)), 2)
    >>> first.shape, first[0, 1].tolist()
    ((1, 2, 2, 2), [[0.0, 0.0], [0.0, 0.0]])
    """

    def games(learners: tuple[Learner, ...], drawn: tuple) -> tuple:
        def one_game(payoff: Float[Array, "N *d"], key: PRNGKeyArray | None) -> tuple:
            return _matches(payoff, learners, seatings, rounds, key)

        return jax.vmap(one_game, in_axes=(0, None if keys is None else 0))(*drawn)

    return over_rows(games, learners, (payoffs, keys), mesh)


class _Seat:
    """One seat in all seatings: which learner sits there in which of them."""

    def __init__(self, learners: tuple[Learner, ...], sitting: Sequence[int], actions: int) -> None:
        present = sorted(set(sitting))
        self.learners = [learners[k] for k in present]
        self.where = [jnp.array([m for m, k in enumerate(sitting) if k == p]) for p in present]
        self.back = jnp.argsort(jnp.concatenate(self.where))
        self.actions = actions

    def start(self, rounds: int, key: PRNGKeyArray | None) -> list[State]:
        keys = None if key is None else jax.random.split(key, len(self.back))
        return [
            _start(learner, self.actions, rounds, len(where), None if keys is None else keys[where])
            for learner, where in zip(self.learners, self.where, strict=True)
        ]

    def policies(self, states: list[State]) -> Batch:
        parts = [jax.vmap(l.policy)(state) for l, state in zip(self.learners, states, strict=True)]
        return jnp.concatenate(parts)[self.back]

    def update(self, states: list[State], losses: Batch, actions: Array | None) -> list[State]:
        return [
            _update(learner)(state, losses[where], None if actions is None else actions[where])
            for learner, where, state in zip(self.learners, self.where, states, strict=True)
        ]


def _start(
    learner: Learner, actions: int, rounds: int, count: int, keys: Key[Array, "count"] | None
) -> State:
    if keys is not None:
        return jax.vmap(lambda key: learner.init(actions, rounds, key=key))(keys)
    alone = learner.init(actions, rounds)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), alone)


def _update(learner: Learner) -> Callable[..., State]:
    def one(state: State, loss: Float[Array, "d"], action: Array | None) -> State:
        return learner.update(state, observe(learner, loss, action))

    return lambda states, losses, actions: jax.vmap(
        one, in_axes=(0, 0, None if actions is None else 0)
    )(states, losses, actions)


def _matches(
    payoffs: Float[Array, "N *d"],
    learners: tuple[Learner, ...],
    seatings: tuple[Seating, ...],
    rounds: int,
    key: PRNGKeyArray | None,
) -> tuple[Float[Array, "M _ _"], ...]:
    sizes = payoffs.shape[1:]
    seats = [_Seat(learners, [s[n] for s in seatings], d) for n, d in enumerate(sizes)]
    tables = [_losses_of(payoffs, n) for n in range(len(sizes))]
    start_keys, round_keys = _split(key, len(sizes), rounds)
    states = [seat.start(rounds, k) for seat, k in zip(seats, start_keys, strict=True)]
    sums = [jnp.zeros((len(seatings), d, d), payoffs.dtype) for d in sizes]

    def play_round(carry: tuple, round_key: PRNGKeyArray | None) -> tuple[tuple, None]:
        states, sums = carry
        policies = [seat.policies(state) for seat, state in zip(seats, states, strict=True)]
        actions = _draw(round_key, policies)
        shown = policies if round_key is None else _one_hots(actions, policies)
        losses = [_suffered(table, shown, n) for n, table in enumerate(tables)]
        sums = [
            total + rows[:, :, None] * l[:, None, :]
            for total, rows, l in zip(sums, shown, losses, strict=True)
        ]
        seen = zip(seats, states, losses, actions, strict=True)
        return ([seat.update(state, loss, a) for seat, state, loss, a in seen], sums), None

    (_, sums), _ = lax.scan(play_round, (states, sums), round_keys, rounds)
    return tuple(sums)


def _losses_of(payoffs: Float[Array, "N *d"], player: int) -> Float[Array, "d others"]:
    own = jnp.moveaxis(payoffs[player], player, 0)
    return -own.reshape(own.shape[0], -1)


def _suffered(table: Float[Array, "d others"], shown: list[Batch], player: int) -> Batch:
    others = [rows for n, rows in enumerate(shown) if n != player]
    if not others:
        return jnp.broadcast_to(table[:, 0], shown[player].shape)
    return jax.vmap(lambda *rows: table @ outer(rows))(*others)


def _split(key: PRNGKeyArray | None, seats: int, rounds: int) -> tuple[Any, Any]:
    if key is None:
        return [None] * seats, None
    start, draws = jax.random.split(key)
    return jax.random.split(start, seats), jax.random.split(draws, rounds)


def _draw(key: PRNGKeyArray | None, policies: list[Batch]) -> list[Any]:
    """An action for every seat and seating."""
    if key is None:
        return [None] * len(policies)
    keys = jax.random.split(key, len(policies))
    return [
        jax.vmap(draw)(jax.random.split(k, len(rows)), rows)
        for k, rows in zip(keys, policies, strict=True)
    ]


def _one_hots(actions: list[Any], policies: list[Batch]) -> list[Batch]:
    return [
        jax.nn.one_hot(a, rows.shape[1], dtype=rows.dtype)
        for a, rows in zip(actions, policies, strict=True)
    ]
