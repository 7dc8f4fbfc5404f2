"""Extremes that need no hyperparameter: never learn, follow the leader, answer the last loss."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax.learners._base import Learner


def leaders(total: Float[Array, "d"]) -> Float[Array, "d"]:
    r"""$\arg\min_{x \in \Delta} \langle S, x \rangle$, ties shared equally."""
    least = (total == total.min()).astype(total.dtype)
    return least / least.sum()


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

    In a game this is fictitious play, every player answering the others' average so far; the spec
    `fictitious_play()` is read as this learner. Alternating losses make its regret grow linearly,
    so it has no bound.

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
        return leaders(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return state + feedback


class BestResponse(Learner):
    r"""$\pi_t = \arg\min_{x \in \Delta} \langle \ell_{t-1}, x \rangle$, ties shared equally; round 1 is uniform.

    In a game this is best-response dynamics: answer what the others just played. It has no bound.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(BestResponse(), jnp.array([[5.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]

    Reference: Cournot (1838), Recherches sur les principes mathématiques de la théorie des richesses.
    """

    name: ClassVar[str] = "best_response"
    about: ClassVar[str] = "the action that was best in the last round, ties shared"
    examples: ClassVar[tuple[str, ...]] = ("best_response()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return leaders(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return feedback
