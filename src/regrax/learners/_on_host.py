"""The same rounds in a plain loop, for learners that jax cannot trace."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from regrax.learners._base import HostLearner, Learner, State
from regrax.learners._draws import key_of_round
from regrax.learners._engine import Environment, Round, Seats, play_round


def play_on_host(
    learners: Sequence[Learner],
    environment: Environment,
    seats: Seats,
    given: Sequence[Any],
    on_round: Callable[[Round], None] | None = None,
) -> Round:
    """The same rounds in a plain loop, for learners that jax cannot trace.

    Args:
        learners: who sits at each seat.
        environment: from what was played and the row of `given` to the losses of every seat.
        seats: before the first round.
        given: a row for the environment per round.
        on_round: called after each.
    """
    seated: Any = [l if isinstance(l, HostLearner) else _Compiled(l) for l in learners]
    (states, draws), rows = seats, []
    for number, row in enumerate(given):
        key = None if draws is None else key_of_round(draws, number)
        states, played = play_round(seated, environment, states, row, key)
        rows.append(played)
        if on_round is not None:
            on_round(played)
    return jax.tree.map(lambda *column: jnp.stack(column), *rows)


class _Compiled:
    """A traced learner in a plain loop: its methods, compiled once for all learners of its kind."""

    def __init__(self, learner: Learner) -> None:
        self.policy = partial(_policy, learner)
        self.update = partial(_update, learner)
        self.observe = learner.observe


@jax.jit
def _policy(learner: Learner, state: State) -> Float[Array, "d"]:
    return learner.policy(state)


@jax.jit
def _update(learner: Learner, state: State, feedback: Any) -> State:
    return learner.update(state, feedback)
