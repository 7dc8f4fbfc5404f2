"""`rollout`: one learner on a loss sequence."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax._fast_paths import compiled
from regrax.learners._base import Key, Learner
from regrax.learners._draws import Vectors
from regrax.learners._engine import (
    Round,
    Seats,
    at_most,
    begin,
    check_key,
    fill_rounds,
    init_seats,
    on_host,
    scan_rounds,
    segments,
)
from regrax.learners._on_host import play_on_host
from regrax.learners._start_policies import as_start
from regrax.specs import as_learner

Rows = Float[Array, "T d"] | Float[np.ndarray, "T d"]


def rollout(learner: Learner | str, losses: Rows, *, key: Key = None, start: Any = None) -> Rows:
    r"""Play `learner` on a loss sequence: row $t$ of the result is $\pi_t$, chosen from rows $1..t-1$ of `losses`.

    Computes in jax's default float, float32, or float64 inside `jax.enable_x64(True)`. Outside of `jit`, `vmap` and
    `grad` the result is a numpy array. For many sequences, `vmap` it.

    Args:
        learner: who plays, or its spec, as in `"hedge(0.45)"`.
        losses: the loss of every action in every round, of shape `(T, d)`.
        key: for learners that draw random numbers; a bandit learner draws $a_t \sim \pi_t$ with it and sees
            $\ell_{t,a_t}$ only.
        start: the policy of round 1, by default the learner's own choice: probabilities, an action's index,
            `"random"` or `"random(7)"`; see `as_start` and `Learner.starting_at`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    fits = np.ndim(losses) == 2 and min(np.shape(losses)) >= 1
    checks.shape("losses", losses, "(T, d) with T, d >= 1", fits)
    checks.finite("losses", losses)
    learner, start = as_learner(learner), as_start(start, np.shape(losses)[1])
    check_key([learner], key)
    learner = learner if start is None else learner.starting_at(start)
    if on_host([learner], losses, key):
        return np.asarray(_on_host(learner, np.asarray(losses), key).policies[0])
    if checks.are_concrete(learner, losses, key):
        return _in_segments(learner, np.asarray(losses), key)
    return _traced(learner, jnp.asarray(losses, float), key).policies[0]


def given_losses(_: Vectors, row: Float[Array, "d"]) -> Vectors:
    """The environment that a loss sequence is: the losses of a round are its row, whatever is played."""
    return (row,)


def _on_host(learner: Learner, losses: Float[np.ndarray, "T d"], key: Key) -> Round:
    rows = [jnp.asarray(row, float) for row in losses]
    seats = init_seats((learner,), losses.shape[1:], len(losses), key)
    return play_on_host((learner,), given_losses, seats, rows)


@jax.jit
def _traced(learner: Learner, losses: Float[Array, "T d"], key: Key) -> Round:
    rounds, actions = losses.shape
    seats = init_seats((learner,), (actions,), rounds, key)
    return scan_rounds((learner,), given_losses, seats, rounds, losses)[1]


def _in_segments(learner: Learner, losses: Float[np.ndarray, "T d"], key: Key) -> Rows:
    seats, kept = begin((learner,), losses.shape[1:], len(losses), key), []
    advance = compiled(_advance, "rounds", actions=losses.shape[1])
    rounds = at_most(len(losses))
    for first, count, capacity in segments(len(losses)):
        rows = np.zeros((capacity, losses.shape[1]), losses.dtype)
        rows[:count] = losses[first : first + count]
        seats, played = advance(learner, seats, rows, first, count, key, rounds)
        kept.append(checks.as_numpy(played)[:count])
    return kept[0] if len(kept) == 1 else np.concatenate(kept)


def _advance(
    learner: Learner,
    seats: Seats | None,
    losses: Float[Array, "c d"],
    first: Int[Array, ""],
    count: Int[Array, ""],
    key: Key,
    rounds: int,
) -> tuple[Seats, Float[Array, "_ d"]]:
    capacity, actions = losses.shape
    seats = init_seats((learner,), (actions,), rounds, key) if seats is None else seats
    span = (first, count, capacity)
    seats, played = fill_rounds((learner,), given_losses, seats, span, jnp.asarray(losses, float))
    return seats, played.policies[0]
