r"""Many seatings of many games, of several shapes, all in one program.

A seating names a learner for every seat; a match is a seating in a game. The seats of all matches that have the same
number of actions are sorted by learner, so every learner's rule is compiled once per size and mapped over all of them.
Nothing is kept but, for every seating and seat, the matrix $M = \sum_t \pi_t \ell_t^\top$ of `regrax.regret`, from
which payoff, regrets and gaps follow:

    payoff     -tr M / T                       external   tr M - min_j (1^T M)_j
    internal   max_ij (M_ii - M_ij)            swap       sum_i (M_ii - min_j M_ij)
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from regrax.games._environment import outer
from regrax.games._game import unfolded
from regrax.learners import ROUNDS_PER_SETTLEMENT, Learner, State, Sum, draw, one_hots, settle
from regrax.sharding import over_rows

Seating = tuple[int, ...]
"""For every seat the number of the learner that takes it."""
Rows = Float[Array, "_ _"]
"""A vector per seat with this many actions: shape after shape, seat after seat, match after match."""
Payoffs = Sequence[Float[Array, "_ _ ..."]]
"""For every shape those of its games: `(J, N, *d)`."""
Keys = Sequence[Key[Array, "_"]]
"""For every shape one per game: `(J,)`."""
Starts = Sequence[tuple[Float[Array, "_ _"], ...]]
"""For every shape and seat a policy per game: `(J, d)`."""
Matrices = list[list[Float[Array, "_ _ _ _"]]]
"""For every shape and seat one per game and seating: `(J, M, d, d)`."""
PerSeat = Sequence[Sequence[Any]]
"""Of every shape and seat an array over matches, game after game, in each seating after seating."""


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
    r"""$\sum_t \pi_t \ell_t^\top$ for every shape and seat, of every game and seating.

    Args:
        payoffs: for every shape those of $J$ games.
        learners: to seat.
        seatings: for every shape and each of $M$ matches per game, the index of the learner at every seat.
        rounds: per match.
        keys: for every shape one per game, to draw actions; by default losses are expected.
        mesh: of devices that share the games, which must be of one shape.
        starts: for every shape and seat the policy of round 1 per game, the same in every seating.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> payoffs = jnp.asarray(matching_pennies().payoffs)[None]
    >>> learners = (Uniform(), FollowTheLeader())
    >>> [[first, second]] = swap_matrices([payoffs], learners, (((0, 0), (1, 0)),), 2)
    >>> first.shape, first[0, 1].tolist()
    ((1, 2, 2, 2), [[0.0, 0.0], [0.0, 0.0]])
    """

    def games(learners: tuple[Learner, ...], own: tuple) -> Matrices:
        return _matches(own[0], learners, seatings, rounds, *own[1:])

    return over_rows(games, learners, (payoffs, keys, starts), mesh)


class _Layout:
    """Where the seats of all shapes are: `places` lists the shape and seat of all that have the same size."""

    def __init__(self, sizes: Sequence[tuple[int, ...]], matches: Sequence[int]) -> None:
        seats = [(s, n) for s, shape in enumerate(sizes) for n in range(len(shape))]
        self.sizes = list(dict.fromkeys(sizes[s][n] for s, n in seats))
        self.places = [[(s, n) for s, n in seats if sizes[s][n] == size] for size in self.sizes]
        self.cuts = [np.cumsum([matches[s] for s, _ in places])[:-1] for places in self.places]

    def rows(self, per_seat: PerSeat, join: Callable = jnp.concatenate) -> list[Any]:
        """What every seat has, as one batch per size."""
        return [join([per_seat[s][n] for s, n in places]) for places in self.places]

    def per_seat(self, rows: Sequence[Array]) -> list[list[Array]]:
        """The inverse."""
        found: dict[tuple[int, int], Array] = {}
        for places, cuts, batch in zip(self.places, self.cuts, rows, strict=True):
            found |= zip(places, jnp.split(batch, cuts), strict=True)
        shapes = dict.fromkeys(s for s, _ in sorted(found))
        return [[found[place] for place in sorted(found) if place[0] == s] for s in shapes]


class _Seats:
    """The seats of one size in all matches, played like one learner: sorted by who sits there."""

    def __init__(
        self, learners: tuple[Learner, ...], sitting: Int[np.ndarray, "R"], start: Rows | None
    ) -> None:
        self.order, present = np.argsort(sitting, kind="stable"), np.unique(sitting)
        self.back, ends = np.argsort(self.order), np.cumsum(np.bincount(sitting)[present])
        self.cuts, self.given = ends[:-1], None if start is None else 0
        self.learners = [learners[k] for k in present]
        if start is not None:
            pairs = zip(self.learners, self.sorted(start), strict=True)
            self.learners = [jax.vmap(learner.starting_at)(own) for learner, own in pairs]

    def sorted(self, rows: Array | None) -> Sequence[Any]:
        """Rows as a batch per learner."""
        if rows is None:
            return [None] * len(self.learners)
        return jnp.split(rows[self.order], self.cuts)

    def each(self, function: Callable, *batches: Sequence[Any]) -> list[Any]:
        """`function(learner, row, ...)` of every row of every learner's batches."""
        return [
            jax.vmap(function, (self.given, *[None if x is None else 0 for x in own]))(
                learner, *own
            )
            for learner, *own in zip(self.learners, *batches, strict=True)
        ]

    def init(self, actions: int, rounds: int, keys: Key[Array, "_"] | None) -> list[State]:
        def one(learner: Learner, _: Array, key: PRNGKeyArray | None) -> State:
            return learner.init(actions, rounds, key=key)

        places = jnp.zeros(len(self.order))  # without keys and starts, vmap has no other axis
        return self.each(one, self.sorted(places), self.sorted(keys))

    def policy(self, states: list[State]) -> Rows:
        played = self.each(lambda learner, state: learner.policy(state), states)
        return jnp.concatenate(played)[self.back]

    def update(
        self, states: list[State], losses: Rows, actions: Int[Array, "_"] | None
    ) -> list[State]:
        def one(learner: Learner, state: State, loss: Array, action: Array | None) -> State:
            return learner.update(state, learner.observe(loss, action))

        return self.each(one, states, self.sorted(losses), self.sorted(actions))


def _matches(
    payoffs: Payoffs,
    learners: tuple[Learner, ...],
    seatings: tuple[tuple[Seating, ...], ...],
    rounds: int,
    keys: Keys | None,
    starts: Starts | None,
) -> Matrices:
    sizes, counts = [x.shape[2:] for x in payoffs], [len(each) for each in seatings]
    layout = _Layout(sizes, [len(x) * count for x, count in zip(payoffs, counts, strict=True)])
    sitting = [np.tile(s, (len(x), 1)).T for x, s in zip(payoffs, seatings, strict=True)]
    seats = _seated(layout, learners, [list(each) for each in sitting], counts, starts)
    keys_of = _keys(layout, keys, sizes, counts)
    one_round = partial(_play_round, seats, partial(_suffered, layout, _tables(payoffs)), keys_of)
    every = list(zip(seats, layout.sizes, keys_of(None), strict=True))
    states = [own.init(actions, rounds, key) for own, actions, key in every]
    sums = [Sum.zeros(len(own.order), d, d, dtype=payoffs[0].dtype) for own, d, _ in every]
    sums = _in_blocks(one_round, rounds, (states, sums))[1]
    found = zip(layout.per_seat([total.value for total in sums]), counts, strict=True)
    return [[x.reshape(-1, count, *x.shape[1:]) for x in own] for own, count in found]


def _seated(
    layout: _Layout,
    learners: tuple[Learner, ...],
    sitting: PerSeat,
    counts: Sequence[int],
    starts: Starts | None,
) -> list[_Seats]:
    """The seats of every size, with the policies of round 1 if they are given."""
    rows = layout.rows(sitting, np.concatenate)
    if starts is None:
        return [_Seats(learners, own, None) for own in rows]
    each = zip(starts, counts, strict=True)
    first = layout.rows([[jnp.repeat(x, count, 0) for x in own] for own, count in each])
    return [_Seats(learners, *own) for own in zip(rows, first, strict=True)]


def _play_round(
    seats: Sequence[_Seats],
    environment: Callable[[Sequence[Rows]], list[Rows]],
    keys_of: Callable[[Any], list[Any]],
    number: Int[Array, ""],
    carry: tuple,
) -> tuple:
    """The states after a round, and the sums with its products."""
    states, sums = carry
    policies = tuple(own.policy(state) for own, state in zip(seats, states, strict=True))
    drawn = zip(keys_of(number), policies, strict=True)
    actions = tuple(None if key is None else jax.vmap(draw)(key, pi) for key, pi in drawn)
    played = policies if actions[0] is None else one_hots(actions, policies)
    losses = environment(played)
    products = [pi[:, :, None] * loss[:, None] for pi, loss in zip(played, losses, strict=True)]
    moves = zip(seats, states, losses, actions, strict=True)
    after = [own.update(state, loss, action) for own, state, loss, action in moves]
    return after, [total.add(product) for total, product in zip(sums, products, strict=True)]


def _in_blocks(one_round: Callable, rounds: int, carry: tuple) -> tuple:
    """All rounds, sums settled after each block; in double precision a plain sum is as good, and compiled sooner."""
    if jnp.finfo(carry[1][0].recent.dtype).bits == 64:
        return lax.fori_loop(0, rounds, one_round, carry)

    def block(index: Int[Array, ""], carry: tuple) -> tuple:
        end = jnp.minimum((index + 1) * ROUNDS_PER_SETTLEMENT, rounds)
        return settle(lax.fori_loop(index * ROUNDS_PER_SETTLEMENT, end, one_round, carry))

    return lax.fori_loop(0, -(-rounds // ROUNDS_PER_SETTLEMENT), block, carry)


def _keys(
    layout: _Layout,
    keys: Keys | None,
    sizes: Sequence[tuple[int, ...]],
    counts: Sequence[int],
) -> Callable[[Any], list[Any]]:
    """From the number of a round to keys for the draws of every seat; None stands for the initial states."""
    if keys is None:
        return lambda number: [None] * len(layout.sizes)
    matches = [_split_each(each, count).ravel() for each, count in zip(keys, counts, strict=True)]
    both = [_split_each(each, 2) for each in matches]

    def of_seats(number: Any) -> list[Any]:
        if number is None:
            own = [each[:, 0] for each in both]
        else:
            own = [jax.vmap(jax.random.fold_in, (0, None))(each[:, 1], number) for each in both]
        return layout.rows([_per_seat(*each) for each in zip(own, sizes, strict=True)])

    return of_seats


def _per_seat(keys: Key[Array, "B"], sizes: tuple[int, ...]) -> list[Key[Array, "B"]]:
    """Of every match's key one per seat: split among sizes, then among the seats of a size."""
    kinds = list(dict.fromkeys(sizes))
    own = _split_each(keys, len(kinds))
    parts = {d: _split_each(own[:, k], sizes.count(d)) for k, d in enumerate(kinds)}
    return [parts[d][:, sizes[:n].count(d)] for n, d in enumerate(sizes)]


def _split_each(keys: Key[Array, "n"], count: int) -> Key[Array, "n {count}"]:
    return jax.vmap(partial(jax.random.split, num=count))(keys)


def _tables(payoffs: Payoffs) -> PerSeat:
    """The losses of every shape and seat, its own action by the joint action of the others."""
    return [
        [jax.vmap(partial(unfolded, player=n))(-x[:, n]) for n in range(x.shape[1])]
        for x in payoffs
    ]


def _suffered(layout: _Layout, tables: PerSeat, played: Sequence[Rows]) -> list[Rows]:
    """The losses of every seat in every match."""
    shapes = zip(tables, layout.per_seat(played), strict=True)
    return layout.rows([[_losses(x, own, n) for n, x in enumerate(of)] for of, own in shapes])


def _losses(
    table: Float[Array, "J d others"], played: Sequence[Float[Array, "B _"]], seat: int
) -> Float[Array, "B d"]:
    matches, others = len(played[seat]), [*played[:seat], *played[seat + 1 :]]
    if not others:
        return jnp.repeat(table[..., 0], matches // len(table), 0)
    joint = jax.vmap(lambda *rows: outer(rows))(*others).reshape(len(table), -1, table.shape[-1])
    return jnp.einsum("jdo,jmo->jmd", table, joint).reshape(matches, -1)
