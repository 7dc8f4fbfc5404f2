"""Swap regret as an objective: on Gaussian blocks, which the heads of a swap model answer, and in real play."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention import SwapAttention
from regrax.learners import Learner
from regrax.training._distributions import Batch, Distribution, Gaussian, check_distribution
from regrax.training._objectives import (
    Loss,
    Objective,
    Regrets,
    Surrogate,
    baselined,
    check_simplex,
    check_surrogate,
    policies,
    surrogate_function,
)

Blocks = Float[Array, "T d d n"]


class SwapRegretObjective(Objective):
    r"""$E[h(\sum_i (\sum_t \langle x_{i,t}, p_{i,t} \rangle - \min_j \sum_t x_{i,t,j}))]$ on Gaussian blocks $x_{i,t}$.

    The heads of a `SwapAttention` answer blocks $X \sim N(0, I_{d^2 T})$ of full scale: train, then play
    `model.calibrated()`.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        surrogate: $h$, one of `"square"`, `"positive"`, `"positive-square"`, `"softplus"`, `"identity"`, or a function.
        baseline: lower the noise of the gradient by a baseline, which does not bias it.

    >>> import jax
    >>> SwapRegretObjective(actions=2, horizon=5).draw(100, key=jax.random.key(0)).shape
    (5, 2, 2, 100)
    """

    surrogate: str | Surrogate = eqx.field(static=True, default="square")
    baseline: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_surrogate(self.surrogate, Gaussian())

    def draw(self, count: int, *, key: PRNGKeyArray) -> Blocks:
        return draw_blocks(self.horizon, self.actions, count, key)

    def regrets(self, model: Learner, data: Blocks) -> Regrets:
        """The swap regret of the heads' columns on every sequence."""
        suffered = jnp.sum(columns(model, data) * data, (0, 1, 2))
        return suffered - data.sum(0).min(1).sum(0)

    def loss(self, model: Learner, data: Blocks) -> Loss:
        regrets, surrogate = self.regrets(model, data), surrogate_function(self.surrogate)
        aggregate = lambda values: surrogate(values).mean()  # noqa: E731
        return baselined(aggregate, regrets, 1) if self.baseline else aggregate(regrets)


class ClosedLoopSwapObjective(Objective):
    r"""$E[h(\mathrm{Swap})]$ of real play: $x_{i,t} = \pi_{t,i} \ell_t$, differentiated through the fixed points.

    The model meets in training what it meets in play, so it needs no calibration.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        distribution: of the losses; by default standard Gaussian.
        surrogate: $h$, one of `"square"`, `"positive"`, `"positive-square"`, `"softplus"`, `"identity"`, or a function.

    >>> import jax
    >>> ClosedLoopSwapObjective(actions=2, horizon=5).draw(8, key=jax.random.key(0)).shape
    (5, 2, 8)
    """

    distribution: Distribution = Gaussian()
    surrogate: str | Surrogate = eqx.field(static=True, default="square")

    def __check_init__(self) -> None:
        surrogate_function(self.surrogate)
        check_distribution("distribution", self.distribution)

    def draw(self, count: int, *, key: PRNGKeyArray) -> Batch:
        return self.distribution.draw(self.horizon, self.actions, count, key=key)

    def loss(self, model: Learner, data: Batch) -> Loss:
        check_simplex("swap regret", model)
        suffered = jnp.einsum("tin,tjn->ijn", policies(model, data), data)
        kept = jnp.einsum("iin->n", suffered)
        return surrogate_function(self.surrogate)(kept - suffered.min(1).sum(0)).mean()


def columns(model: Learner, blocks: Blocks) -> Blocks:
    """What the heads of a swap model answer to blocks."""
    if not isinstance(model, SwapAttention):
        raise ValueError(f"an objective on blocks trains a SwapAttention, got {model}")
    return model.columns(blocks)


def draw_blocks(horizon: int, actions: int, count: int, key: PRNGKeyArray) -> Blocks:
    """Gaussian blocks: entry `[t, i, :, n]` is $x_{i,t}$."""
    checks.at_least("count", count, 1)
    return jax.random.normal(key, (horizon, actions, actions, count))
