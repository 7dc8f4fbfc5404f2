r"""The hindsight loss: squared regret on Gaussian losses is regression onto the action that will turn out best.

For i.i.d. losses $\ell_t \sim N(0, C)$, any policy that depends on the past only, and
$x^\star(S) = \arg\min_x \langle S, x \rangle$,

    E[R^2] = E[ sum_t ||pi_t - x*(S_T)||_C^2 - T ||x*(S_T)||_C^2 + <S_T, x*(S_T)>^2 ],      ||x||_C^2 = <x, C x>

since $\sum_t \langle \ell_t, \pi_t \rangle$ is a martingale and Stein's lemma gives the cross term. On Gaussian
blocks the same holds for swap regret, summed over heads, with the sum of $\langle S_{i,T}, x^\star(S_{i,T}) \rangle$
squared. The expected gradient is that of the regret loss. Replacing $x^\star(S_T)$ by its mean given $S_{t-1}$, the
best possible policy, changes the loss by a constant and leaves little noise; but then the answer is in the question.
"""

from functools import cache

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from regrax.learners import Learner, perturbed_leader
from regrax.theory import minimum_moment, optimal_loss
from regrax.training._distributions import Batch, Distribution, Gaussian, check_distribution
from regrax.training._objectives import Loss, Objective, check_simplex, policies, sums_before
from regrax.training._swap_objectives import Blocks, columns, draw_blocks


class HindsightObjective(Objective):
    r"""$\sum_t E\|\pi_t - x^\star(S_T)\|^2 + \mathrm{const} = E[R^2]$: forecast the action that ends best.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        distribution: of the losses, i.i.d. Gaussian; others are refused.
        conditional: forecast the mean of $x^\star(S_T)$ given the past, which is the known optimum: never evidence of
            emergence.
        swap: the same for the heads of a `SwapAttention` on Gaussian blocks.

    >>> HindsightObjective(actions=3, horizon=20).optimum
    14.6276164
    """

    distribution: Distribution = Gaussian()
    conditional: bool = eqx.field(static=True, default=False)
    swap: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_distribution("distribution", self.distribution)
        if not isinstance(self.distribution, Gaussian):
            kind = type(self.distribution).__name__
            raise ValueError(
                f"the hindsight loss is a fact about i.i.d. Gaussian losses, got {kind}"
            )
        if self.distribution.covariance is not None and (self.conditional or self.swap):
            raise ValueError(
                "the conditional mean and swap blocks take standard Gaussian losses, got a covariance"
            )

    @property
    def effort(self) -> int:
        return 1 if self.conditional else 2

    def draw(self, count: int, *, key: PRNGKeyArray) -> Batch | Blocks:
        if self.swap:
            return draw_blocks(self.horizon, self.actions, count, key)
        return self.distribution.draw(self.horizon, self.actions, count, key=key)

    def loss(self, model: Learner, data: Batch | Blocks) -> Loss:
        played = columns(model, data) if self.swap else policies(model, data)
        played, losses, count = by_action(played), by_action(data), data.shape[-1]
        if self.conditional:
            check_simplex("the conditional mean", model)
            return self.optimum + excess(played, losses).sum() / count
        totals = losses.sum(0)
        best = model.domain.best(totals)
        errors = self._squared_norms(played - best[None]) - self.horizon * self._squared_norms(
            best[None]
        )
        least = jnp.sum(totals * best, 0).reshape(-1, count).sum(0)
        return errors / count + jnp.mean(least**2)

    @property
    def optimum(self) -> float:
        """The least loss that any policy on the simplex can have; known for standard Gaussian losses."""
        if self.distribution.covariance is not None:  # pyright: ignore[reportAttributeAccessIssue]
            raise ValueError(
                "the least loss is known for standard Gaussian losses, got a covariance"
            )
        return best_loss(self.actions, self.horizon, self.actions if self.swap else 1)

    def _squared_norms(self, points: Float[Array, "t d m"]) -> Loss:
        r"""$\sum \langle x, C x \rangle$ over all rounds and sequences, $C$ the covariance of the losses."""
        covariance = self.distribution.covariance  # pyright: ignore[reportAttributeAccessIssue]
        if covariance is None:
            return jnp.sum(points**2, 1).sum()
        return jnp.einsum("tim,ij,tjm->tm", points, jnp.asarray(covariance, float), points).sum()


def by_action(array: Float[Array, "T *b d n"]) -> Float[Array, "T d m"]:
    """Blocks put beside the sequences, `(T, d, blocks * n)`; without blocks, the array itself."""
    if array.ndim == 3:
        return array
    rounds, _, d, _ = array.shape
    return jnp.moveaxis(array, 2, 1).reshape(rounds, d, -1)


def excess(played: Float[Array, "T d m"], losses: Float[Array, "T d m"]) -> Float[Array, "m"]:
    r"""$\sum_t \|\pi_t - \pi^*_t(S_{t-1})\|^2$: what each sequence loses beyond the best possible policy."""
    remaining = np.arange(losses.shape[0], 0, -1)[:, None]  # rounds
    best = perturbed_leader(sums_before(losses), remaining**0.5, axis=1)
    return jnp.sum((played - best) ** 2, (0, 1))


@cache
def best_loss(actions: int, rounds: int, blocks: int = 1) -> float:
    r"""$L^*$, the least that any policy can have; over $b$ independent blocks $b L^* + b (b - 1) T (E m)^2$.

    >>> best_loss(3, 20), best_loss(3, 20, blocks=3)
    (14.6276164, 129.826)
    """
    apart = blocks * (blocks - 1) * rounds * minimum_moment(actions, 1) ** 2
    return blocks * optimal_loss(actions, rounds) + apart
