"""Learners without hyperparameters, and learners defined by a Python function."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners.base import (
    Count,
    HostLearner,
    Key,
    Learner,
    Prior,
    SumLearner,
    as_prior,
    check_prior,
)
from regrax.simplex import Vector
from regrax.specs import register


def leaders(total: Vector) -> Vector:
    r"""Return $\arg\min_{x \in \Delta} \langle S, x \rangle$, with ties split equally."""
    leading = (total == total.min()).astype(total.dtype)
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

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Vector:
        return jnp.full(actions, 1 / actions, float)

    def policy(self, state: Vector) -> Vector:
        return state

    def update(self, state: Vector, feedback: Vector) -> Vector:
        return state

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
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

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
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

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Vector:
        return jnp.zeros(actions)

    def policy(self, state: Vector) -> Vector:
        return leaders(state)

    def update(self, state: Vector, feedback: Vector) -> Vector:
        return feedback


class Agent(HostLearner):
    r"""A Python function as a learner: $\pi_t = f(\ell_1, \dots, \ell_{t-1})$.

    The function may call a model behind an API, a person or another library. It is called once per round with the past
    losses, an array of doubles with shape `(t - 1, d)`, and must return $d$ probabilities. It runs in a Python loop and
    cannot be transformed by `jit`, `vmap` or `grad`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> def tit_for_tat(losses):
    ...     return [1.0, 0.0] if len(losses) == 0 else losses[-1] == losses[-1].min()
    >>> rollout(Agent(tit_for_tat), jnp.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """

    function: Callable[[np.ndarray], Any] = eqx.field(static=True)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable with past losses, got {self.function!r}")

    def init(
        self, actions: int, rounds: int | None = None, *, key: Key = None
    ) -> Float[np.ndarray, "past d"]:
        return np.zeros((0, actions))

    def policy(self, state: Float[np.ndarray, "past d"]) -> Vector:
        past, actions = state.shape
        if past == 0 and self.prior is not None:
            check_prior(self.prior, actions)
            return jnp.asarray(self.prior, float)
        name = f"the policy of {self} in round {past + 1}"
        answer = self.function(state.copy())
        try:
            answer = np.asarray(answer, float)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be a list of numbers, got {answer!r}") from None
        checks.shape(name, answer, f"({actions},)", answer.shape == (actions,))
        checks.distributions(name, answer)
        policy = np.maximum(answer, 0)
        return jnp.asarray(policy / policy.sum(), float)

    def update(
        self, state: Float[np.ndarray, "past d"], feedback: Float[Array | np.ndarray, "d"]
    ) -> Float[np.ndarray, "after d"]:
        return np.vstack([state, np.asarray(feedback, float)])

    def __str__(self) -> str:
        return f"agent({getattr(self.function, '__name__', type(self.function).__name__)})"
