"""Learners without hyperparameters: uniform play, follow the leader and best response."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from regrax.learners.base import Key, Learner, Prior
from regrax.learners.ftrl import Count, SumLearner
from regrax.specs import register


def leaders(total: Float[Array, "d"], prior: Prior = None) -> Float[Array, "d"]:
    r"""Return $\arg\min_{x \in \Delta} \langle S, x \rangle$, with ties split equally or in proportion to the prior."""
    weights = jnp.ones_like(total) if prior is None else jnp.asarray(prior, total.dtype)
    reachable = jnp.where(weights > 0, total, jnp.inf)
    leading = jnp.where(reachable == reachable.min(), weights, 0)
    return leading / leading.sum()


@register("learner", "uniform()")
class Uniform(Learner):
    r"""Equal probabilities in every round, whatever the losses.

    $\pi_t = 1/d$: the baseline that does not learn.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Uniform(), jnp.array([[1.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """

    def init(
        self, actions: int, rounds: int | None = None, *, key: Key = None
    ) -> Float[Array, "d"]:
        return jnp.full(actions, 1 / actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return state

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return state

    def policy_from_sums(self, sums: Float[Array, "d"], round: Count) -> Float[Array, "d"]:
        """Return equal probabilities."""
        return jnp.full_like(sums, 1 / len(sums))


@register("learner", "follow_the_leader()", alias="fictitious_play")
class FollowTheLeader(SumLearner):
    r"""The action with the smallest total loss so far, with ties split equally (fictitious play).

    $\pi_t = \arg\min_{x \in \Delta} \langle S_{t-1}, x \rangle$. In a game this is fictitious play: every player
    best-responds to the others' empirical play. `fictitious_play()` is another name in specs. Alternating losses make
    its regret grow linearly, so it has no bound.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [[0.333, 0.333, 0.333], [0.0, 0.5, 0.5]]

    Reference: Brown (1951), Iterative solution of games by fictitious play.
    """

    def policy_from_sums(self, sums: Float[Array, "d"], round: Count) -> Float[Array, "d"]:
        return leaders(sums)


@register("learner", "best_response()")
class BestResponse(Learner):
    r"""The best action against the last loss, with ties split equally.

    $\pi_t = \arg\min_{x \in \Delta} \langle \ell_{t-1}, x \rangle$; round 1 is uniform. In a game this is
    best-response dynamics. It has no regret bound.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(BestResponse(), jnp.array([[5.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]

    Reference: Cournot (1838), Recherches sur les principes mathématiques de la théorie des richesses.
    """

    def init(
        self, actions: int, rounds: int | None = None, *, key: Key = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return leaders(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return feedback
