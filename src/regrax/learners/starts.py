"""Starts: learners with a fixed policy in round 1, and the ways to specify that policy."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from regrax import _checks as checks
from regrax.learners.base import (
    BanditLearner,
    Bound,
    Feedback,
    HostLearner,
    Key,
    Learner,
    Reduction,
    Rounds,
    State,
    Wrapper,
    as_prior,
    check_prior,
)
from regrax.simplex import Integer, Vector
from regrax.specs import register

_RANDOM = re.compile(r"random(?:\((\d{1,18})\))?")


def as_start(
    start: Any, actions: int, player: int = 0, labels: Sequence[str] = (), name: str = "start"
) -> Any:
    r"""Convert `start` to a policy for round 1, or None for the learner's own choice.

    Args:
        start: probabilities, as a list or as a string such as `"0.2,0.8"`; an action, by its index or its label;
            `"random"`, a draw from the uniform distribution on the simplex, or `"random(7)"` for another seed; `"own"`
            or None for the learner's own choice.
        actions: number of actions.
        player: index of the player; the same seed gives each player a different draw.
        labels: names of the actions.
        name: name of the setting in error messages.

    >>> as_start(1, 3).tolist(), as_start("dare", 2, labels=("swerve", "dare")).tolist()
    ([0.0, 1.0, 0.0], [0.0, 1.0])
    >>> as_start("0.2, 0.8", 2), as_start("random(7)", 3).round(3).tolist()
    ([0.2, 0.8], [0.307, 0.445, 0.247])
    """
    if start is None or (isinstance(start, str) and start == "own"):
        return None
    if isinstance(start, str) and start in labels:
        start = list(labels).index(start)
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        if not 0 <= start < actions:
            raise ValueError(f"{name} must be an action from 0 to {actions - 1}, got {start}")
        return np.eye(actions)[start]
    if isinstance(start, str):
        random = _RANDOM.fullmatch(start)
        if random:
            return random_start(actions, int(random[1] or 0), player)
        try:
            start = [float(part) for part in start.split(",")]
        except ValueError:
            known = f" or one of {', '.join(labels)}" if labels else ""
            raise ValueError(
                f"{name} must be {actions} probabilities (as in 0.2,0.8), random, own{known}, got {start!r}"
            ) from None
    checks.shape(name, start, f"({actions},)", np.shape(start) == (actions,))
    checks.distributions(name, start)
    return start


def random_start(actions: int, *seeds: int) -> Float[np.ndarray, "d"]:
    """Draw from the uniform distribution on the simplex; equal seeds give equal draws."""
    return np.random.default_rng(seeds).dirichlet(np.ones(actions))


class First(NamedTuple):
    """State of a learner with a fixed start."""

    base: State
    first: Bool[Array, ""]  # True before round 1


class _Starting(Wrapper):
    """Base class of learners with a fixed start."""

    start: Vector | Float[np.ndarray, "d"] = eqx.field(converter=as_prior)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> First:
        check_prior(self.start, actions)
        return First(self.base.init(actions, rounds, key=key), jnp.ones((), bool))

    def policy(self, state: First) -> Vector:
        own = self.base.policy(state.base)
        return jnp.where(state.first, jnp.asarray(self.start, own.dtype), own)

    def update(self, state: First, feedback: Feedback) -> First:
        return First(self.base.update(state.base, feedback), jnp.zeros((), bool))

    def observe(self, loss: Vector, action: Integer | None) -> Feedback:
        return self.base.observe(loss, action)

    def starting_at(self, start: Any) -> Learner:
        return self.base.starting_at(start)

    @property
    def regret(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The regret that the base bounds."""
        return self.base.regret

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        bound = self.base.bound(actions, rounds, width, largest)
        if bound is None:
            return None
        # round 1 costs at most one width; for swap regret, both the start and the base's own policy can
        policies = 2 if self.regret == "swap" else 1
        return bound + policies * largest


@register("argument", "started(hedge(0.1), [0.2, 0.8])")
class Started(_Starting, Reduction):  # pyright: ignore[reportIncompatibleVariableOverride]
    r"""A learner that plays $\pi_1 =$ `start`, and from round 2 on what `base` would play after the same losses.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader, rollout
    >>> rollout(Started(FollowTheLeader(), [1.0, 0.0]), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """


class StartedBandit(_Starting, BanditLearner):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A bandit learner with a fixed policy in round 1."""


class StartedOnHost(_Starting, HostLearner):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A Python learner with a fixed policy in round 1, in which the base is not called."""

    def policy(self, state: First) -> Vector:
        return jnp.asarray(self.start, float) if state.first else self.base.policy(state.base)


def started(base: Learner, start: Any) -> Learner:
    """Wrap `base` in the class for its kind of learner, with `start` as its policy in round 1."""
    if isinstance(base, BanditLearner):
        return StartedBandit(base, start)
    if isinstance(base, HostLearner):
        return StartedOnHost(base, start)
    return Started(base, start)
