"""Learners that are told where to start."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from regrax.learners.base import (
    BanditLearner,
    Bound,
    Feedback,
    HostLearner,
    Key,
    Learner,
    Rounds,
    State,
    as_base,
    as_prior,
    check_base,
    check_on_simplex,
    check_prior,
)
from regrax.specs import register


class First(NamedTuple):
    """State of a learner that was told where to start."""

    base: State
    first: Bool[Array, ""]  # whether round 1 is still to be played


class _Starting(Learner):
    """What learners share that are told where to start."""

    base: Learner = eqx.field(converter=as_base)
    start: Float[Array, "d"] | Float[np.ndarray, "d"] = eqx.field(converter=as_prior)

    def __check_init__(self) -> None:
        check_on_simplex(self.base)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> First:
        check_prior(self.start, actions)
        return First(self.base.init(actions, rounds, key=key), jnp.ones((), bool))

    def policy(self, state: First) -> Float[Array, "d"]:
        own = self.base.policy(state.base)
        return jnp.where(state.first, jnp.asarray(self.start, own.dtype), own)

    def update(self, state: First, feedback: Feedback) -> First:
        return First(self.base.update(state.base, feedback), jnp.zeros((), bool))

    def observe(self, loss: Float[Array, "d"], action: Int[Array, ""] | None) -> Feedback:
        return self.base.observe(loss, action)

    def starting_at(self, start: Any) -> Learner:
        return self.base.starting_at(start)

    @property
    def regret(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The kind of regret that the base is made for."""
        return self.base.regret

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        """The bound of the base, and what another policy in round 1 can cost."""
        bound = self.base.bound(actions, rounds, width, largest)
        if bound is None:
            return None
        # replaced action by action, both the start and the base's own policy can differ by a width
        policies = 2 if self.regret == "swap" else 1
        return bound + policies * (largest or width)


@register("argument", "started(hedge(0.1), [0.2, 0.8])")
class Started(_Starting):
    r"""$\pi_1 =$ `start`, and from round 2 on what `base` plays after the same losses.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader, rollout
    >>> rollout(Started(FollowTheLeader(), [1.0, 0.0]), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __check_init__(self) -> None:
        check_base(self.base)


class StartedBandit(_Starting, BanditLearner):  # pyright: ignore[reportIncompatibleVariableOverride]
    """The same for a base that sees the loss of the action it draws."""


class StartedOnHost(_Starting, HostLearner):  # pyright: ignore[reportIncompatibleVariableOverride]
    """The same for a base that runs in Python, which is not asked in round 1."""

    def policy(self, state: First) -> Float[Array, "d"]:
        return jnp.asarray(self.start, float) if state.first else self.base.policy(state.base)


def started(base: Learner, start: Any) -> Learner:
    """`base` with `start` as its policy of round 1, of the kind that it is."""
    if isinstance(base, BanditLearner):
        return StartedBandit(base, start)
    return StartedOnHost(base, start) if isinstance(base, HostLearner) else Started(base, start)
