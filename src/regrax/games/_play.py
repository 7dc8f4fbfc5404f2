r"""Repeated play: every seat a learner, the game the environment that turns what is played into losses."""

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from regrax import _checks as checks
from regrax._fast_paths import compiled
from regrax.domains import Simplex
from regrax.games._environment import (
    ROUNDS_PER_SUM,
    Summary,
    Tables,
    Trajectory,
    game_losses,
    joint_play,
    joint_sum,
    loss_tables,
    sizes_of,
    summary_of,
)
from regrax.games._game import Game
from regrax.games._requests import Keep, check_rounds, check_seats, start_policies
from regrax.games._side_by_side import all_rounds, apart, end_to_end, seats_of
from regrax.learners import (
    HostLearner,
    Key,
    Learner,
    Round,
    Seats,
    Sum,
    at_most,
    begin,
    check_key,
    fill_rounds,
    fold_rounds,
    init_seats,
    on_host,
    play_on_host,
    scan_rounds,
    segments,
)
from regrax.specs import as_game, as_learner

MAX_SINGLE_ROUNDS = 10**6
"""Rounds of expected play beyond which a summary is played in double precision: rounding to single precision shifts a
cycle a little in every round, and after 10^9 rounds regrets agree in three digits only, states in two."""
LOSSES_PER_ROUND = 16
"""Losses of a training that take as long as one in play, where a round waits for the one before."""
MAX_COUNTED = 2**30
"""Rounds that 32-bit integers count. Drawn actions are those of the key and the precision: up to here of both."""


@overload
def play(
    game: Game | str, learners: Any, rounds: int, *, key: Key = ..., start: Any = ..., keep: Literal["all"] = ...,
    on_round: Callable[[Round], None] | None = ..., on_progress: Callable[[int, int], None] | None = ...,
) -> Trajectory: ...  # fmt: skip
@overload
def play(
    game: Game | str, learners: Any, rounds: int, *, key: Key = ..., start: Any = ..., keep: Literal["summary"],
    on_round: Callable[[Round], None] | None = ..., on_progress: Callable[[int, int], None] | None = ...,
) -> Summary: ...  # fmt: skip
def play(
    game: Game | str,
    learners: Learner | str | Sequence[Learner | str],
    rounds: int,
    *,
    key: Key = None,
    start: Any = None,
    keep: Keep = "all",
    on_round: Callable[[Round], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Trajectory | Summary:
    r"""Play `game` for `rounds` rounds.

    Without `key` feedback is expected, $\ell_{n,t} = -u_n(\cdot, \pi_{-n,t})$, and
    $\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$. With `key` every player draws an action
    $a_{n,t} \sim \pi_{n,t}$, feedback is $-u_n(\cdot, a_{-n,t})$ and $\mu_T$ is the frequency of joint actions.
    Outside of `jit`, `vmap` and `grad` the arrays of the result are numpy's; inside, `vmap` it over keys, step sizes or
    payoffs.

    Args:
        game: the game, or its spec, as in `"weighted-rps"`.
        learners: one learner, or its spec, as in `"hedge(0.45)"`, per seat; one alone fills every seat. A
            `HostLearner` is played in a plain loop.
        rounds: how many rounds to play, an integer >= 1.
        key: a JAX random key to draw actions with; bandit learners need one. By default everyone sees expected losses.
        start: for each player the policy of round 1: probabilities, an action's index or label, `"random"`,
            `"random(7)"` for another seed, or `"own"` or None (the default) for the learner's own choice. A single
            string applies to every player. See `Learner.starting_at`.
        keep: `"all"` rounds, as a `Trajectory`; or a `"summary"`, whose memory does not grow with the rounds, and which
            is played in double precision if there are more than a million.
        on_round: called with the `Round` after every round; play is then a plain Python loop.
        on_progress: called with the rounds played so far and `rounds`, from time to time.

    >>> from regrax.games import weighted_rps
    >>> from regrax.learners import Uniform
    >>> play(weighted_rps(), Uniform(), rounds=10).joint.shape
    (3, 3)
    >>> play("matching-pennies", "hedge(0.1)", rounds=10, start=[[0.8, 0.2], "own"]).policies[0].shape
    (10, 2)
    """
    game = as_game(game)
    check_rounds(game, rounds, keep)
    seated = _started(game, seated_learners(game, learners), start)
    check_key(seated, key)
    tables = loss_tables(game)
    if on_host(seated, tables, key) or on_round is not None:
        rows = _play_on_host(tables, seated, rounds, key, on_round)
    elif not checks.are_concrete(tables, seated, key):
        rows = _traced(tables, seated, rounds, key)
    else:
        double = keep == "summary" and rounds > (MAX_SINGLE_ROUNDS if key is None else MAX_COUNTED)
        with jax.enable_x64(True) if double else contextlib.nullcontext():
            seated = _doubles(seated) if double else seated
            parts = _play_in_segments(tables, seated, rounds, key, keep, on_progress)
        if keep == "summary":
            return summary_of(parts[0] / rounds, game, rounds)
        rows = parts[0] if len(parts) == 1 else jax.tree.map(_joined, *parts)
    whole = Trajectory(rows.policies, rows.losses, rows.actions, joint_play(rows.played))
    return whole if keep == "all" else whole.summary()


def _doubles(tree: Any) -> Any:
    """The same numbers in double precision."""
    return jax.tree.map(lambda x: np.asarray(x, float) if eqx.is_inexact_array(x) else x, tree)


def _joined(*parts: Any) -> Any:
    return np.concatenate(parts)


def seated_learners(
    game: Game, learners: Learner | str | Sequence[Learner | str]
) -> tuple[Learner, ...]:
    """A learner for every seat of the game; one alone fills them all."""
    seats = len(game.sizes)
    given = [learners] if isinstance(learners, Learner | str) else learners
    given = tuple(as_learner(learner) for learner in given)
    check_seats(game, len(given))
    for learner in given:
        if not isinstance(learner.domain, Simplex):
            raise ValueError(
                f"a seat takes learners on the simplex, but {learner} plays on the {learner.domain.name}"
            )
    every = given if len(given) == seats else given * seats
    return tuple(
        l.seated(game, n) if isinstance(l, HostLearner) else l for n, l in enumerate(every)
    )


def _started(game: Game, learners: tuple[Learner, ...], start: Any) -> tuple[Learner, ...]:
    pairs = zip(learners, start_policies(game, start), strict=True)
    return tuple(l if policy is None else l.starting_at(policy) for l, policy in pairs)


@partial(jax.jit, static_argnames="rounds")
def _traced(tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key) -> Round:
    return all_rounds(tables, learners, rounds, key)


def _play_on_host(
    tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key, on_round: Any
) -> Round:
    seats = init_seats(learners, sizes_of(tables), rounds, key)
    tables = jax.tree.map(jax.numpy.asarray, tables)
    return play_on_host(learners, partial(game_losses, tables), seats, [None] * rounds, on_round)


def _play_in_segments(
    tables: Tables,
    learners: tuple[Learner, ...],
    rounds: int,
    key: Key,
    keep: Keep,
    on_progress: Callable[[int, int], None] | None,
) -> list[Any]:
    """The rows of each segment; or one entry, the sum of joint play over all of them in double precision."""
    sizes = sizes_of(tables)
    seats, kept = begin(learners, sizes, rounds, key), []
    worth = {"actions": max(sizes), "losses": LOSSES_PER_ROUND * rounds * sum(sizes)}
    play_segment = compiled(_segment, "rounds", "capacity", "keep", **worth)
    for first, count, capacity in segments(rounds):
        seats, part = play_segment(
            tables, learners, seats, first, count, key, at_most(rounds), capacity, keep
        )
        if keep == "all":
            kept.append(_rows(part, count, len(tables)))
        else:
            kept = [sum(kept, np.asarray(part, float))]
        if on_progress is not None:
            on_progress(first + count, rounds)
    return kept


def _rows(filled: Round, count: int, seats: int) -> Round:
    """The rows of the rounds that were asked for."""
    return apart(jax.tree.map(lambda rows: rows[:count], checks.as_numpy(filled)), seats)


def _segment(
    tables: Tables,
    learners: tuple[Learner, ...],
    seats: Seats | None,
    first: Int[Array, ""],
    count: Int[Array, ""],
    key: Key,
    rounds: int,
    capacity: int,
    keep: Keep,
) -> tuple[Seats | None, Any]:
    """`count` rounds from round `first` on; the number of rounds is no part of the program, its power of two is."""
    if seats is None:
        seats = init_seats(learners, sizes_of(tables), rounds, key)
    players, environment, seats = end_to_end(learners, tables, seats)
    if keep == "all":
        after, rows = fill_rounds(players, environment, seats, (first, count, capacity))
        more = rounds > capacity  # every array that is returned takes time
        return (seats_of(players, after) if more else None), rows

    size = min(ROUNDS_PER_SUM, capacity)

    def play_block(seats: Seats, here: Int[Array, ""]) -> tuple[Seats, Round]:
        seats, rows = scan_rounds(players, environment, seats, size, first=first + here)
        return seats, apart(rows, len(tables))

    def add(total: Sum, here: Int[Array, ""], rows: Round) -> Sum:
        own, *others = rows.played
        counts = (here + jnp.arange(size) < count).astype(own.dtype)
        return total.add(joint_sum([own * counts[:, None], *others])).settle()

    empty = Sum.zeros(*sizes_of(tables))
    seats, total = fold_rounds(play_block, seats, count, size, add, empty)
    return seats_of(players, seats), total.value
