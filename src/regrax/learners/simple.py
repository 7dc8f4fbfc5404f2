"""The two extremes that need no hyperparameter: never learn, and always follow the leader."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax.learners.base import Learner


class Uniform(Learner):
    r"""$\pi_t = 1/d$ whatever happens: the baseline that does not learn.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Uniform(), jnp.array([[1.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """

    name: ClassVar[str] = "uniform"
    about: ClassVar[str] = "every action alike, whatever happens"
    examples: ClassVar[tuple[str, ...]] = ("uniform()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.full(actions, 1 / actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return state

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return state


class FollowTheLeader(Learner):
    r"""$\pi_t = \arg\min_{x \in \Delta} \langle S_{t-1}, x \rangle$, ties shared equally: fictitious play.

    Alternating losses make its regret grow linearly, so it has no bound.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [[0.333, 0.333, 0.333], [0.0, 0.5, 0.5]]

    Reference: Brown (1951), Iterative solution of games by fictitious play.
    """

    name: ClassVar[str] = "follow_the_leader"
    about: ClassVar[str] = "the best action so far, ties shared: fictitious play"
    examples: ClassVar[tuple[str, ...]] = ("follow_the_leader()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        leaders = (state == state.min()).astype(state.dtype)
        return leaders / leaders.sum()

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return state + feedback
