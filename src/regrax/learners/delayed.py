"""Delayed feedback: a wrapper that passes every loss to its base some rounds late."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax.learners.base import Key, Learner, State, as_base, check_base
from regrax.specs import register


class Waiting(NamedTuple):
    """State of a delayed learner."""

    base: State
    ring: Float[Array, "D d"]  # undelivered losses; the loss of round s is in row s mod D
    round: Int[Array, ""]  # t - 1


@register("learner", "delayed(hedge(0.3), 2)")
class Delayed(Learner):
    r"""Any base learner, with losses that arrive some rounds late.

    $\pi_t$ is the policy of `base` after $\ell_1, \dots, \ell_{t-1-D}$ with $D$ = `delay`. The base is unaware of the
    delay: if it weights losses with its own policy, as regret matching does, it uses the policy it has when they
    arrive. No bound holds for every base. For delayed bandit feedback, delay the estimates:
    `ImportanceWeighted(Delayed(base, delay))`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader, rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 5.0], [0.0, 0.0], [0.0, 0.0]])
    >>> rollout(Delayed(FollowTheLeader(), 1), losses).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]

    Reference: Joulani, György, Szepesvári (2013), Online learning under delayed feedback.
    """

    base: Learner = eqx.field(converter=as_base)
    delay: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_base(self.base)
        checks.at_least("delay", self.delay, 1)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Waiting:
        ring = jnp.zeros((self.delay, actions))
        return Waiting(self.base.init(actions, rounds, key=key), ring, jnp.zeros((), int))

    def policy(self, state: Waiting) -> Float[Array, "d"]:
        return self.base.policy(state.base)

    def update(self, state: Waiting, feedback: Float[Array, "d"]) -> Waiting:
        slot = state.round % self.delay
        arrived = self.base.update(state.base, state.ring[slot])
        has_arrived = state.round >= self.delay
        base = jax.tree.map(lambda new, old: jnp.where(has_arrived, new, old), arrived, state.base)
        return Waiting(base, state.ring.at[slot].set(feedback), state.round + 1)
