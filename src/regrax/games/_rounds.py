r"""The rounds of repeated play: what happens in one, and the loop over them, for one game or for many at once."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax.games._game import Game
from regrax.learners import Feedback, Learner, State, draw, observe
from regrax.simplex import products

SMALL = 512  # bytes: if no buffer of a loop body is larger, XLA on a CPU runs its parts in turn, unscheduled
MANY = 48  # games from which playing them side by side is faster
NARROW = 12  # joint actions of the others up to which it is
BLOCK = 8  # rounds of many games that are put in place at once, apart from playing them

Rows = tuple[tuple, tuple, tuple | None]  # policies, losses and actions of every player


def tables_of(game: Game) -> list[Float[Array, "_ _"]]:
    """The losses of each player, its own action by the joint action of the others."""
    return [-game.own(n) for n in range(len(game.sizes))]


def start(
    tables: Sequence[Float[Array, "_ _"]],
    learners: tuple[Learner, ...],
    rounds: int,
    keys: Iterable,
) -> list[State]:
    """The learners before the first round."""
    seats = zip(learners, tables, keys, strict=True)
    return [learner.init(len(table), rounds, key=key) for learner, table, key in seats]


def policy_of(learner: Learner, state: State) -> Float[Array, "d *n"]:
    """What a learner plays."""
    return learner.policy(state)


def update_of(learner: Learner, state: State, feedback: Feedback) -> State:
    """A learner after it was shown a round."""
    return learner.update(state, feedback)


def round_of(
    tables: Sequence[Float[Array, "_ _ *n"]],
    learners: tuple[Learner, ...],
    policy: Callable = policy_of,
    update: Callable = update_of,
) -> Callable[[list[State], PRNGKeyArray | None], tuple[list[State], Rows]]:
    """What happens in one round, with the given ways to ask a learner for its policy and to update it."""
    seats = range(len(learners))

    def play_round(states: list[State], round_key: PRNGKeyArray | None) -> tuple[list[State], Rows]:
        policies = tuple(policy(learners[n], states[n]) for n in seats)
        actions = None if round_key is None else _draw(round_key, policies)
        shown = policies if actions is None else one_hots(actions, policies)
        losses = tuple(_product(tables[n], [shown[m] for m in seats if m != n]) for n in seats)
        drawn = (None,) * len(learners) if actions is None else actions
        seen = [observe(learners[n], losses[n], drawn[n]) for n in seats]
        states = [update(learners[n], states[n], seen[n]) for n in seats]
        return states, (policies, losses, actions)

    return play_round


def all_rounds(
    tables: list[Float[Array, "_ _"]],
    learners: tuple[Learner, ...],
    rounds: int,
    key: PRNGKeyArray | None,
) -> Rows:
    """The rows of every round, stacked."""
    narrow = max(table.shape[1] for table in tables) <= NARROW
    if key is None and narrow and all(learner.side_by_side for learner in learners):
        return _expected(tables, learners, rounds)
    return _one_game(tables, learners, rounds, key)


def _one_game(
    tables: list[Float[Array, "_ _"]],
    learners: tuple[Learner, ...],
    rounds: int,
    key: PRNGKeyArray | None = None,
) -> Rows:
    start_keys, round_keys = split(key, len(learners), rounds)
    states = start(tables, learners, rounds, start_keys)
    block = _block(rounds, tables)
    return _scan_in_blocks(round_of(tables, learners), states, round_keys, rounds, block)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _expected(
    tables: list[Float[Array, "_ _"]], learners: tuple[Learner, ...], rounds: int
) -> Rows:
    """Rounds without keys of learners that play side by side: `vmap` puts many games on the last axis."""
    one = partial(_one_game, rounds=rounds)
    rows = custom_vmap(one)

    @rows.def_vmap
    def many(count: int, mapped: list, tables: list, learners: tuple) -> tuple[Rows, Rows]:
        axes = jax.tree.map(lambda is_mapped: 0 if is_mapped else None, mapped)
        leaves = zip(jax.tree.leaves(learners), jax.tree.leaves(mapped[1]), strict=True)
        if count < MANY or any(is_mapped and leaf.ndim > 1 for leaf, is_mapped in leaves):
            found = jax.vmap(one, axes, axis_size=count)(tables, learners)
        else:
            found = _many_games(tables, learners, rounds, count, axes)
        return found, jax.tree.map(lambda _: True, found)

    return rows(tables, learners)


# `custom_vmap` has no derivatives in reverse: they are those of one game, by `vmap`
@_expected.defjvp
def _expected_jvp(rounds: int, primals: tuple, tangents: tuple) -> tuple[Rows, Rows]:
    return jax.jvp(partial(_one_game, rounds=rounds), primals, tangents)


def _many_games(
    tables: list, learners: tuple[Learner, ...], rounds: int, count: int, axes: list
) -> Rows:
    """The rows of `count` games, which are on the last axis of everything until their rows are put in place."""
    begin = partial(start, rounds=rounds, keys=[None] * len(learners))
    states = jax.vmap(begin, axes, -1, axis_size=count)(tables, learners)
    wide = jax.vmap(lambda tables: tables, axes[:1], -1, axis_size=count)(tables)
    play_round = round_of(wide, learners)
    row = jax.eval_shape(play_round, states, None)[1]
    block = min(rounds, BLOCK)

    def play_block(length: int, carry: tuple, first: Int[Array, ""]) -> tuple[tuple, None]:
        states, kept = carry
        states, rows = lax.scan(play_round, states, None, length)
        # one transposition of a matrix, which is faster than moving an axis
        put = jax.tree.map(lambda x: x.reshape(-1, count).T.reshape(count, length, -1), rows)
        write = partial(lax.dynamic_update_slice_in_dim, start_index=first, axis=1)
        return (states, jax.tree.map(write, kept, put)), None

    kept = jax.tree.map(lambda x: jnp.zeros((count, rounds, len(x)), x.dtype), row)
    starts = jnp.arange(0, rounds, block)
    carry, _ = lax.scan(partial(play_block, block), (states, kept), starts[: rounds // block])
    if rounds % block:
        carry, _ = play_block(rounds % block, carry, starts[-1])
    return carry[1]


def _product(table: Float[Array, "d m *n"], others: Sequence[Float[Array, "_ *n"]]) -> Array:
    """A player's losses against the policies of the others, in the form that XLA is fastest at."""
    if table.ndim == 2:
        return table @ outer(others)
    return products(table, outer(others) if others else jnp.ones((1, 1)))


def outer(vectors: Sequence[Float[Array, "_ *n"]]) -> Float[Array, "all *n"]:
    """The product distribution of several players, flattened with the first player slowest."""
    first = jnp.ones(1) if not vectors else vectors[0]
    return reduce(lambda x, y: (x[:, None] * y[None]).reshape(-1, *y.shape[1:]), vectors[1:], first)


def _block(rounds: int, tables: list[Float[Array, "_ _"]]) -> int:
    """The largest divisor of `rounds` whose rows are small buffers, or 1 if the game's tables are not."""
    if max(table.nbytes for table in tables) > SMALL:
        return 1
    most = SMALL // max(table.nbytes // table.shape[1] for table in tables)
    return max(block for block in range(1, most + 1) if rounds % block == 0)


def _scan_in_blocks(
    play_round: Callable, states: list[State], keys: Array | None, rounds: int, block: int
) -> tuple:
    """What `lax.scan(play_round, states, keys, rounds)` stacks, by a loop over rounds inside a loop over blocks.

    Stacks of all rounds are large buffers, and when a loop body writes one, XLA schedules the parts of that body anew
    every round, which takes as long as playing a small game does: blocks play 10 x 10 games twice as fast.
    """
    # entering a body costs as well: two rounds an entry, unless it is slow to compile (heads of Blum-Mansour)
    light = all(jnp.ndim(leaf) < 2 for leaf in jax.tree.leaves(states))
    unroll = 2 if light and block % 2 == 0 else 1

    def play_block(states: list[State], keys: Array | None) -> tuple[list[State], tuple]:
        return lax.scan(play_round, states, keys, block, unroll=unroll)

    blocks = rounds // block
    parts = jax.tree.map(lambda x: x.reshape(blocks, block, *x.shape[1:]), keys)
    _, rows = lax.scan(play_block, states, parts, blocks)
    return jax.tree.map(lambda x: x.reshape(rounds, *x.shape[2:]), rows)


def split(key: PRNGKeyArray | None, seats: int, rounds: int) -> tuple:
    """A key for every learner's start, and one for every round."""
    if key is None:
        return [None] * seats, None
    begin, draws = jax.random.split(key)
    return jax.random.split(begin, seats), jax.random.split(draws, rounds)


def _draw(key: PRNGKeyArray, policies: tuple) -> tuple[Int[Array, ""], ...]:
    keys = jax.random.split(key, len(policies))
    return tuple(draw(k, pi) for k, pi in zip(keys, policies, strict=True))


def one_hots(actions: tuple, policies: tuple) -> tuple:
    """Actions as one-hot rows."""
    return tuple(
        jax.nn.one_hot(a, pi.shape[-1], dtype=pi.dtype)
        for a, pi in zip(actions, policies, strict=True)
    )
