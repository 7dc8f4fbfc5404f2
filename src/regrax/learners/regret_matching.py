"""Regret matching and regret matching plus: no step size, play in proportion to positive regret."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax.learners.base import Learner


def proportional(regrets: Float[Array, "d"]) -> Float[Array, "d"]:
    """`max(R, 0)` as a distribution; uniform where no regret is positive."""
    positive = jnp.maximum(regrets, 0)
    total = positive.sum()
    some = total > 0
    return jnp.where(some, positive / jnp.where(some, total, 1), 1 / regrets.size)


def instant_regret(policy: Float[Array, "d"], loss: Float[Array, "d"]) -> Float[Array, "d"]:
    r"""$r_{t,j} = \langle \ell_t, \pi_t \rangle - \ell_{t,j}$."""
    return policy @ loss - loss


class RegretMatching(Learner):
    r"""$\pi_t \propto \max(R_{t-1}, 0)$, $R_t = R_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t$.

    Regret $\le w \sqrt{(d-1) T}$ for losses that span at most $w$ a round.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatching(), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium.
    """

    name: ClassVar[str] = "regret_matching"
    about: ClassVar[str] = "play in proportion to positive regret"
    examples: ClassVar[tuple[str, ...]] = ("regret_matching()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return proportional(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return state + instant_regret(self.policy(state), feedback)

    def bound(self, actions: int, rounds: int, width: float = 1.0) -> float | None:
        return width * ((actions - 1) * rounds) ** 0.5


class RegretMatchingPlus(Learner):
    r"""$\pi_t \propto Q_{t-1}$, $Q_t = \max(Q_{t-1} + \langle \ell_t, \pi_t \rangle 1 - \ell_t, 0)$.

    Forgets negative regret at once, so it follows a changing best action faster; the bound of regret matching holds.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(RegretMatchingPlus(), jnp.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]

    Reference: Tammelin (2014), Solving large imperfect information games using CFR+.
    """

    name: ClassVar[str] = "regret_matching_plus"
    about: ClassVar[str] = "regret matching that forgets negative regret"
    examples: ClassVar[tuple[str, ...]] = ("regret_matching_plus()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Float[Array, "d"]:
        return jnp.zeros(actions)

    def policy(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        return proportional(state)

    def update(self, state: Float[Array, "d"], feedback: Float[Array, "d"]) -> Float[Array, "d"]:
        return jnp.maximum(state + instant_regret(self.policy(state), feedback), 0)

    def bound(self, actions: int, rounds: int, width: float = 1.0) -> float | None:
        return width * ((actions - 1) * rounds) ** 0.5
