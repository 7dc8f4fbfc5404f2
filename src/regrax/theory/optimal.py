r"""The optimal policy against standard Gaussian losses, as a learner.

By the hindsight identity (`losses`) squared regret is, up to a constant, $\sum_t E\|\pi_t - e_{J^*}\|^2$ with $J^*$ the
action that ends best, so the optimal policy is the conditional mean of $e_{J^*}$ given the past. Given $S_{t-1}$ the
final sum is $S_{t-1} + \sqrt{T-t+1}\,G$: the mean is follow-the-perturbed-leader with the noise of the remaining
rounds. Its loss is `optimal_loss`, and any other policy loses $\sum_t E\|\pi_t - \pi^*_t(S_{t-1})\|^2$ more.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax.learners import Count, Scalar, SumLearner, perturbed_leader
from regrax.simplex import Integer, Vector
from regrax.specs import register


@jax.jit
def optimal_policy(
    total: Float[Array, "*batch d"],
    remaining: float | Float[Array, "..."] | Int[Array, "..."],
) -> Float[Array, "*batch d"]:
    r"""Compute the optimal policy, $\pi^*_j(S) = P\bigl(\arg\min_i (S_i + \sqrt{n}\,G_i) = j\bigr)$.

    It is $E[e_{J^*} | S_{t-1} = S]$ for $n = T - t + 1$ rounds `remaining`, including the current one. With
    $n \le 0$ the game is over, and the policy is the leader, with ties split evenly.

    Args:
        total: sums of past losses.
        remaining: number of remaining rounds, one for all sums or one for each.

    >>> import jax.numpy as jnp
    >>> optimal_policy(jnp.array([0.0, 1.0, 1.0]), 4).tolist()
    [0.4826, 0.2587, 0.2587]
    """
    total = jnp.asarray(total)
    rounds = jnp.broadcast_to(jnp.asarray(remaining, total.dtype), total.shape[:-1])
    over = rounds <= 0
    ahead = perturbed_leader(total, jnp.sqrt(jnp.where(over, 1, rounds)))
    leaders = (total == total.min(-1, keepdims=True)).astype(total.dtype)
    return jnp.where(over[..., None], leaders / leaders.sum(-1, keepdims=True), ahead)


@register("learner", "optimal(20)", "optimal(20, 0.68)")
class Optimal(SumLearner):
    r"""The best possible policy against Gaussian losses over a known number of rounds.

    The optimal policy, $\pi_t = P\bigl(\arg\min_j (S_{t-1,j} + \sigma\sqrt{T-t+1}\,G_j) = \cdot\bigr)$.

    It minimises expected squared regret against i.i.d. Gaussian losses over `horizon` rounds; after that it follows the
    leader. With noise below 1 the same rule does well against the worst losses in [0, 1] (see `worst_case`).

    Args:
        horizon: number of rounds $T$.
        noise: standard deviation $\sigma$ of a loss.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Optimal(2), jnp.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.2398, 0.7602], [0.0, 1.0]]
    """

    horizon: float | Integer | Float[Array, ""]
    noise: Scalar = eqx.field(converter=checks.as_float, default=1.0)

    def __check_init__(self) -> None:
        checks.positive("horizon", self.horizon)
        checks.positive("noise", self.noise)

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        left = jnp.asarray(self.horizon, sums.dtype) - jnp.asarray(round, sums.dtype)
        return optimal_policy(sums / self.noise, left)
