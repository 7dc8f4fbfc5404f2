r"""What training minimises: functions of the regret of a model on drawn loss sequences.

An objective draws data from a key and gives the loss of a model on it. The plain regret loss $E[h(R)]$ sees losses and
policies only. On losses whose mean is the same for all actions its gradient is taken against a baseline
(`regrax.training._surrogates`), which changes the noise and nothing else.
"""

import warnings
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from regrax import _checks as checks
from regrax.attention import SwapAttention, TrainableLearner
from regrax.domains import Simplex
from regrax.learners import HostLearner, Learner, rollout
from regrax.training._distributions import Batch, Distribution, Gaussian, check_distribution
from regrax.training._feedback import Feedback
from regrax.training._surrogates import (
    Surrogate,
    Weight,
    baselined,
    exponential,
    grouped,
    surrogate_function,
)


class Objective(eqx.Module):
    """Data drawn from a key, and the loss of a model on it."""

    actions: eqx.AbstractVar[int]
    horizon: eqx.AbstractVar[int]

    @property
    def effort(self) -> int:
        """How many times a recipe's batch the noise of its gradient asks for."""
        return 1

    @abstractmethod
    def draw(self, count: int, *, key: PRNGKeyArray) -> PyTree:
        """The data of `count` sequences."""

    @abstractmethod
    def loss(self, model: Learner, data: PyTree) -> Float[Array, ""]:
        """The mean loss over the data; its gradient is what training follows."""


class RegretObjective(Objective):
    r"""$E[h(R)]$, $R = \sum_t \langle \ell_t, \pi_t \rangle - \min_x \langle S_T, x \rangle$: the regret loss.

    The minimum is over the model's own set, the simplex or the ball.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        distribution: of the losses; by default standard Gaussian.
        surrogate: $h$, one of `"square"`, `"positive"`, `"positive-square"`, `"softplus"`, `"identity"`, or a function.
        feedback: what the model sees of the losses: `DelayedFeedback(delay)`, `BanditFeedback()`, or None for
            everything.
        group_size: $N$ of the weighting of Park et al. over groups of $N$ sequences; 1 is the plain mean.
        weight: $f(R, k)$ of that weighting.
        sharpness: $k$ of that weighting.
        baseline: lower the noise of the gradient by a baseline where that is exact: all actions' losses have the same
            known mean.

    >>> import jax
    >>> from regrax.attention import LinearAttention
    >>> objective = RegretObjective(actions=3, horizon=20)
    >>> data = objective.draw(100_000, key=jax.random.key(0))
    >>> round(float(jax.jit(objective.loss)(LinearAttention.hedge(3, 0.4479), data)), 1)
    14.8

    Reference: Park, Liu, Ozdaglar, Zhang (2024), Do LLM agents have regret?
    """

    actions: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    distribution: Distribution = Gaussian()
    surrogate: str | Surrogate = eqx.field(static=True, default="square")
    feedback: Feedback | None = None
    group_size: int = eqx.field(static=True, default=1)
    weight: Weight = eqx.field(static=True, default=exponential)
    sharpness: float = 1.0
    baseline: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_sizes(self.actions, self.horizon)
        surrogate_function(self.surrogate)
        check_distribution("distribution", self.distribution)
        if not isinstance(self.feedback, Feedback | None):
            raise ValueError(f"feedback must be a Feedback or None, got {self.feedback!r}")
        checks.at_least("group_size", self.group_size, 1)
        _warn_flat(self.surrogate, self.distribution)

    def draw(self, count: int, *, key: PRNGKeyArray) -> tuple[Batch, Batch]:
        """The losses, and what the model sees of them."""
        if count % self.group_size:
            raise ValueError(f"a batch must be groups of {self.group_size}, got {count} sequences")
        nature, sight = jax.random.split(key)
        losses = self.distribution.draw(self.horizon, self.actions, count, key=nature)
        seen = losses if self.feedback is None else self.feedback.observe(losses, key=sight)
        return losses, seen

    def regrets(self, model: Learner, data: tuple[Batch, Batch]) -> Float[Array, "n"]:
        """The regret of the model on every sequence."""
        losses, seen = data
        return external_regrets(model, policies(model, seen), losses)

    def loss(self, model: Learner, data: tuple[Batch, Batch]) -> Float[Array, ""]:
        regrets = self.regrets(model, data)

        def aggregate(values: Float[Array, "n"]) -> Float[Array, ""]:
            return grouped(
                values,
                surrogate_function(self.surrogate),
                self.group_size,
                self.weight,
                self.sharpness,
            )

        fair = self.baseline and is_fair(self.distribution, model)
        if fair and regrets.size > self.group_size:
            return baselined(aggregate, regrets, self.group_size)
        return aggregate(regrets)


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

    actions: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    surrogate: str | Surrogate = eqx.field(static=True, default="square")
    baseline: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_sizes(self.actions, self.horizon)
        surrogate_function(self.surrogate)
        _warn_flat(self.surrogate, Gaussian())

    def draw(self, count: int, *, key: PRNGKeyArray) -> Float[Array, "T d d n"]:
        return draw_blocks(self.horizon, self.actions, count, key)

    def regrets(self, model: Learner, data: Float[Array, "T d d n"]) -> Float[Array, "n"]:
        """The swap regret of the heads' columns on every sequence."""
        suffered = jnp.sum(columns(model, data) * data, (0, 1, 2))
        return suffered - data.sum(0).min(1).sum(0)

    def loss(self, model: Learner, data: Float[Array, "T d d n"]) -> Float[Array, ""]:
        regrets = self.regrets(model, data)

        def aggregate(values: Float[Array, "n"]) -> Float[Array, ""]:
            return surrogate_function(self.surrogate)(values).mean()

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

    actions: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)
    distribution: Distribution = Gaussian()
    surrogate: str | Surrogate = eqx.field(static=True, default="square")

    def __check_init__(self) -> None:
        check_sizes(self.actions, self.horizon)
        surrogate_function(self.surrogate)
        check_distribution("distribution", self.distribution)

    def draw(self, count: int, *, key: PRNGKeyArray) -> Batch:
        return self.distribution.draw(self.horizon, self.actions, count, key=key)

    def loss(self, model: Learner, data: Batch) -> Float[Array, ""]:
        check_simplex("swap regret", model)
        suffered = jnp.einsum("tin,tjn->ijn", policies(model, data), data)
        kept = jnp.einsum("iin->n", suffered)
        return surrogate_function(self.surrogate)(kept - suffered.min(1).sum(0)).mean()


def policies(model: Learner, losses: Batch) -> Batch:
    """Every round's policy on every sequence: a model's training form, or the play of any other learner."""
    if isinstance(model, TrainableLearner):
        return model.policies(losses)
    if isinstance(model, HostLearner) and hasattr(model, "answer_batch"):
        return _answered(model, losses)
    return jnp.asarray(jax.vmap(lambda sequence: rollout(model, sequence), -1, -1)(losses))


def _answered(model: Any, losses: Batch) -> Batch:
    """The policies of a learner that runs in Python and answers whole batches."""

    def answer(batch: Any) -> np.ndarray:
        found = model.answer_batch(np.moveaxis(np.asarray(batch), -1, 0))
        return np.moveaxis(found, 0, -1).astype(losses.dtype)

    return jax.pure_callback(answer, jax.ShapeDtypeStruct(losses.shape, losses.dtype), losses)


def columns(model: Learner, blocks: Float[Array, "T d d n"]) -> Float[Array, "T d d n"]:
    """What the heads of a swap model answer to blocks."""
    if not isinstance(model, SwapAttention):
        raise ValueError(f"an objective on blocks trains a SwapAttention, got {model}")
    return model.columns(blocks)


def draw_blocks(
    horizon: int, actions: int, count: int, key: PRNGKeyArray
) -> Float[Array, "T d d n"]:
    """Gaussian blocks: entry `[t, i, :, n]` is $x_{i,t}$."""
    checks.at_least("count", count, 1)
    return jax.random.normal(key, (horizon, actions, actions, count))


def external_regrets(model: Learner, played: Batch, losses: Batch) -> Float[Array, "n"]:
    """Regret of what was played against the best point in hindsight, per sequence."""
    return jnp.sum(played * losses, (0, 1)) - model.domain.least(losses.sum(0))


def is_fair(distribution: Distribution, model: Learner) -> bool:
    """Whether expected regret is the same for every policy of the model."""
    mean = distribution.mean
    return mean is not None and (isinstance(model.domain, Simplex) or mean == 0)


def check_sizes(actions: int, horizon: int) -> None:
    """Raise unless an objective can be of these sizes."""
    checks.at_least("actions", actions, 1)
    checks.at_least("horizon", horizon, 1)


def check_simplex(what: str, model: Learner) -> None:
    """Raise unless the model plays on the simplex, where `what` is known."""
    if not isinstance(model.domain, Simplex):
        raise ValueError(
            f"{what} is known on the simplex, but {model} plays on the {model.domain.name}"
        )


def _warn_flat(surrogate: str | Surrogate, distribution: Distribution) -> None:
    if surrogate == "identity" and distribution.mean is not None:
        warnings.warn(
            "surrogate identity has no gradient on these losses: expected regret is the same for every policy",
            stacklevel=3,
        )
