r"""What training minimises: functions of the regret of a model on drawn loss sequences.

An objective draws data from a key and gives the loss of a model on it. The plain regret loss $E[h(R)]$ sees losses and
policies only; over groups of $N$ sequences Park et al. (2024) weight it,

    E[ sum_j h(R_j) f(R_j, k) / sum_j f(R_j, k) ],        N = 1 is the plain E[h(R)]

**Baseline.** Let every action's loss have the same mean given the past. Then $E[R]$ is the same for every policy, its
gradient is zero, and subtracting any constant from the weight $w_n = \partial L / \partial R_n$ of a sequence keeps the
expected gradient. For $h(R) = R^2$ the constant $2 E[R]$ takes the gradient's noise from $E[R^2]$ down to
$\mathrm{Var}[R]$: from 14.8 to 0.47 at $d = 3$, $T = 20$. It knows nothing of which action was best.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from regrax import _checks as checks
from regrax.attention import TrainableLearner
from regrax.domains import Simplex
from regrax.learners import HostLearner, Learner, rollout
from regrax.training._distributions import Batch, Distribution, Gaussian, check_distribution
from regrax.training._feedback import Feedback

Regrets = Float[Array, "n"]
Loss = Float[Array, ""]
Surrogate = Callable[[Regrets], Regrets]
Weight = Callable[[Regrets, float], Regrets]

SURROGATES: dict[str, Surrogate] = {
    "square": jnp.square,
    "positive": jax.nn.relu,
    "positive-square": lambda regret: jax.nn.relu(regret) ** 2,
    "softplus": jax.nn.softplus,
    "identity": lambda regret: regret,
}


def surrogate_function(surrogate: str | Surrogate) -> Surrogate:
    """A surrogate by name, or the function itself.

    >>> import jax.numpy as jnp
    >>> surrogate_function("positive-square")(jnp.array([-1.0, 3.0])).tolist()
    [0.0, 9.0]
    """
    if callable(surrogate):
        return surrogate
    if surrogate not in SURROGATES:
        known = ", ".join(SURROGATES)
        raise ValueError(f"surrogate must be a function or one of {known}, got {surrogate!r}")
    return SURROGATES[surrogate]


def exponential(regret: Regrets, sharpness: float) -> Regrets:
    r"""$f(R, k) = e^{k (R - \max R)}$: the shift cancels in the ratio and keeps the exponential finite.

    >>> import jax.numpy as jnp
    >>> exponential(jnp.array([0.0, 1.0]), 1.0).tolist()
    [0.3679, 1.0]
    """
    return jnp.exp(sharpness * (regret - lax.stop_gradient(regret.max())))


def baselined(
    loss: Callable[[Regrets], Loss],
    regrets: Regrets,
    group_size: int,
) -> Loss:
    """`loss(regrets)`, with a gradient less the mean weight of the other groups' sequences.

    Leaving a sequence's own group out keeps the baseline independent of it, so the gradient has no bias at all.
    """
    value, weights = jax.value_and_grad(loss)(lax.stop_gradient(regrets))
    groups = weights.reshape(-1, group_size)
    others = (groups.sum() - groups.sum(1)) / (weights.size - group_size)
    centred = (groups - others[:, None]).ravel()
    change = jnp.vdot(lax.stop_gradient(centred), regrets)
    return value + change - lax.stop_gradient(change)


class Objective(eqx.Module):
    """Data drawn from a key, and the loss of a model on it."""

    actions: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("actions", self.actions, 1)
        checks.at_least("horizon", self.horizon, 1)

    @property
    def effort(self) -> int:
        """How many times a recipe's batch the noise of its gradient asks for."""
        return 1

    @abstractmethod
    def draw(self, count: int, *, key: PRNGKeyArray) -> PyTree:
        """The data of `count` sequences."""

    @abstractmethod
    def loss(self, model: Learner, data: PyTree) -> Loss:
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

    distribution: Distribution = Gaussian()
    surrogate: str | Surrogate = eqx.field(static=True, default="square")
    feedback: Feedback | None = None
    group_size: int = eqx.field(static=True, default=1)
    weight: Weight = eqx.field(static=True, default=exponential)
    sharpness: float = 1.0
    baseline: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        check_distribution("distribution", self.distribution)
        if not isinstance(self.feedback, Feedback | None):
            raise ValueError(f"feedback must be a Feedback or None, got {self.feedback!r}")
        checks.at_least("group_size", self.group_size, 1)
        check_surrogate(self.surrogate, self.distribution)

    def draw(self, count: int, *, key: PRNGKeyArray) -> tuple[Batch, Batch]:
        """The losses, and what the model sees of them."""
        if count % self.group_size:
            raise ValueError(f"a batch must be groups of {self.group_size}, got {count} sequences")
        nature, sight = jax.random.split(key)
        losses = self.distribution.draw(self.horizon, self.actions, count, key=nature)
        seen = losses if self.feedback is None else self.feedback.observe(losses, key=sight)
        return losses, seen

    def regrets(self, model: Learner, data: tuple[Batch, Batch]) -> Regrets:
        """The regret of the model on every sequence."""
        losses, seen = data
        incurred = jnp.sum(policies(model, seen) * losses, (0, 1))
        return incurred - model.domain.least(losses.sum(0))

    def loss(self, model: Learner, data: tuple[Batch, Batch]) -> Loss:
        regrets = self.regrets(model, data)
        if self.baseline and self._is_fair(model) and regrets.size > self.group_size:
            return baselined(self._aggregate, regrets, self.group_size)
        return self._aggregate(regrets)

    def _aggregate(self, regrets: Regrets) -> Loss:
        r"""The mean over groups of $\sum_j h(R_j) f(R_j, k) / \sum_j f(R_j, k)$, $N$ = `group_size`.

        >>> import jax.numpy as jnp
        >>> objective = RegretObjective(actions=3, horizon=20, group_size=2, sharpness=0.0)
        >>> float(objective._aggregate(jnp.array([1.0, 3.0])))
        5.0
        """
        surrogate = surrogate_function(self.surrogate)
        if self.group_size == 1:
            return surrogate(regrets).mean()

        def group(row: Float[Array, "N"]) -> Loss:
            weights = self.weight(row, self.sharpness)
            return jnp.sum(surrogate(row) * weights) / weights.sum()

        return jax.vmap(group)(regrets.reshape(-1, self.group_size)).mean()

    def _is_fair(self, model: Learner) -> bool:
        """Whether expected regret is the same for every policy of the model."""
        mean = self.distribution.mean
        return mean is not None and (isinstance(model.domain, Simplex) or mean == 0)


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

    return jax.pure_callback(answer, losses, losses)  # they have its shape and type


def sums_before(losses: Batch) -> Batch:
    r"""$S_{t-1}$, the sum of the losses before each round."""
    start = jnp.zeros(losses.shape[1:], losses.dtype)
    return lax.scan(lambda total, loss: (total + loss, total), start, losses)[1]


def check_simplex(what: str, model: Learner) -> None:
    """Raise unless the model plays on the simplex, where `what` is known."""
    if not isinstance(model.domain, Simplex):
        raise ValueError(
            f"{what} is known on the simplex, but {model} plays on the {model.domain.name}"
        )


def check_surrogate(surrogate: str | Surrogate, distribution: Distribution) -> None:
    """Raise unless the surrogate is known, and warn where it leaves regret without a gradient."""
    surrogate_function(surrogate)
    if surrogate == "identity" and distribution.mean is not None:
        warnings.warn(
            "surrogate identity has no gradient on these losses: expected regret is the same for every policy",
            stacklevel=3,
        )
