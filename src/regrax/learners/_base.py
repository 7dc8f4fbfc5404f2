r"""The central type: everything that plays is a `Learner`, and a game or a loss sequence sees nothing else of it."""

import dataclasses
import json
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from regrax import _checks as checks

State = PyTree
Feedback = PyTree
"""The loss vector of a round; for a bandit learner the action it drew and the loss of that action."""


class Learner(eqx.Module):
    r"""A rule for choosing a distribution over actions from the losses seen so far.

    Round $t$ plays $\pi_t =$ `policy(state)`, then sees the loss vector $\ell_t$ and moves on by `update`. A bandit
    learner draws an action $a_t \sim \pi_t$ and sees only $(a_t, \ell_{t,a_t})$. State and learner are pytrees;
    hyperparameters are leaves, so a sweep over step sizes is a `vmap`. A subclass is final and its leaves are numbers
    or arrays; anything else is a static field. `repr` prints the text that `regrax.specs` reads back.
    """

    name: ClassVar[str]  # in specs
    about: ClassVar[str]  # in a few words
    examples: ClassVar[tuple[str, ...]]  # specs of it; the contract tests run on each
    feedback: ClassVar[Literal["full", "bandit"]] = "full"  # what `update` is given
    regret: ClassVar[Literal["external", "internal", "swap"]] = "external"  # what `bound` bounds
    host: ClassVar[bool] = False  # it is Python code, not traced by jax: played in a plain loop

    @property
    def plays_on(self) -> str:
        """Where its policies live: only learners on the simplex take a seat in a game."""
        return "simplex"

    @property
    def side_by_side(self) -> bool:
        """Whether `policy` and `update` also take many copies at once: a last axis of states, numbers and losses."""
        return False

    @abstractmethod
    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> State:
        """The state before round 1. `rounds` is for learners that need a horizon or a buffer."""

    @abstractmethod
    def policy(self, state: State) -> Float[Array, "d"]:
        """The distribution played this round."""

    def policies_of(self, states: State) -> Float[Array, "m d *n"]:
        """`policy` of many states, stacked; for learners that know a faster way than `vmap`."""
        return jax.vmap(self.policy)(states)

    @abstractmethod
    def update(self, state: State, feedback: Feedback) -> State:
        """The state after seeing this round's losses, or as much of them as the learner sees."""

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        """What theory promises: an upper bound on regret when each round's losses span at most `width`, or None.

        `regret` says which regret. For a bandit learner it is expected regret, with losses between 0 and `width`.
        A bound that looks at the widest single round takes it to be `largest`, by default `width`. For a fixed
        `largest` every bound here is concave in the rounds' squared widths: that lets wrappers whose base sees
        losses of uneven width evaluate the base's bound at their mean.
        """
        return None

    def __repr__(self) -> str:
        return spec_text(self)


def check_base(base: Any) -> None:
    """Raise unless `base` is a learner that a wrapper can feed loss vectors."""
    if not isinstance(base, Learner):
        raise ValueError(f"base must be a learner, but is {base!r}")
    if base.plays_on != "simplex":
        raise ValueError(f"base must play on the simplex, but {base} plays on the {base.plays_on}")
    if base.feedback != "full":
        raise ValueError(f"base must learn from loss vectors, but {base} learns from drawn actions")
    if base.host:
        raise ValueError(f"base must be traced by jax, but {base} runs in Python")


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
