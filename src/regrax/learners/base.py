r"""The central type: everything that plays is a `Learner`, and a game or a loss sequence sees nothing else of it."""

import dataclasses
import json
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from regrax import checks

State = PyTree


class Learner(eqx.Module):
    r"""A rule for choosing a distribution over actions from the losses seen so far.

    Round $t$ plays $\pi_t =$ `policy(state)`, then sees the loss vector $\ell_t$ and moves on by `update`. State and
    learner are pytrees; hyperparameters are leaves, so a sweep over step sizes is a `vmap`. A subclass is final and
    its leaves are numbers or arrays; anything else is a static field. `repr` prints the text that `regrax.specs`
    reads back.
    """

    name: ClassVar[str]  # in specs
    about: ClassVar[str]  # in a few words
    examples: ClassVar[tuple[str, ...]]  # specs of it; the contract tests run on each

    @property
    def plays_on(self) -> str:
        """Where its policies live: only learners on the simplex take a seat in a game."""
        return "simplex"

    @abstractmethod
    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> State:
        """The state before round 1. `rounds` is for learners that need a horizon or a buffer."""

    @abstractmethod
    def policy(self, state: State) -> Float[Array, "d"]:
        """The distribution played this round."""

    @abstractmethod
    def update(self, state: State, feedback: Float[Array, "d"]) -> State:
        """The state after seeing this round's losses."""

    def bound(self, actions: int, rounds: int, width: float = 1.0) -> float | None:
        """What theory promises: an upper bound on regret when each round's losses span at most `width`, or None.

        It bounds external regret, and swap regret for learners that minimise it. Every bound here is concave in
        the sum of the squared widths, which is what lets Blum-Mansour add up the bounds of its heads.
        """
        return None

    def __repr__(self) -> str:
        return spec_text(self)


def spec_text(learner: Any) -> str:
    """`name(argument, ...)` from a module's fields, leaving out trailing ones that have their default."""
    fields = [f for f in dataclasses.fields(learner) if f.init]
    values = [getattr(learner, f.name) for f in fields]
    while fields and _is_default(values[-1], fields[-1].default):
        fields.pop()
        values.pop()
    return f"{learner.name}({', '.join(_argument_text(value) for value in values)})"


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def _argument_text(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) or not hasattr(value, "shape"):
        return repr(value)
    if not checks.is_concrete(value):
        return "traced"
    return ", ".join(_number_text(number) for number in np.ravel(value))


def _number_text(number: np.generic) -> str:
    """The shortest text that gives the number back in its own precision."""
    return str(number)


def rollout(
    learner: Learner,
    losses: Float[Array | np.ndarray, "T d"],
    *,
    key: PRNGKeyArray | None = None,
) -> Float[Array, "T d"]:
    r"""Play `learner` on a loss sequence: row $t$ of the result is $\pi_t$, chosen from rows $1..t-1$ of `losses`.

    Computes in jax's default float, float32, or float64 inside `jax.enable_x64(True)`. `key` is for learners that
    draw random numbers. For many sequences, `vmap` it.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    fits = jnp.ndim(losses) == 2 and min(jnp.shape(losses)) >= 1
    checks.shape("losses", losses, "(T, d) with T, d >= 1", fits)
    checks.finite("losses", losses)
    return _rollout(learner, jnp.asarray(losses, float), key)


@jax.jit
def _rollout(
    learner: Learner, losses: Float[Array, "T d"], key: PRNGKeyArray | None
) -> Float[Array, "T d"]:
    def play_round(state: State, loss: Float[Array, "d"]) -> tuple[State, Float[Array, "d"]]:
        return learner.update(state, loss), learner.policy(state)

    rounds, actions = losses.shape
    return lax.scan(play_round, learner.init(actions, rounds, key=key), losses)[1]
