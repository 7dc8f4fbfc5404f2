r"""Objectives: functions of a model's regret on drawn loss sequences, which training minimises.

An objective draws data from a key and computes the loss of a model on it. It also provides default training settings
(`recipe`) and, where theory gives it, the lowest loss of any policy (`optimal_loss`).

**Regret loss.** The plain form is $E[h(R)]$. Park et al. (2024) weight it over groups of $N$ sequences,

    E[ sum_j h(R_j) f(R_j, k) / sum_j f(R_j, k) ],        N = 1 is the plain E[h(R)]

**Baseline.** Suppose every action's loss has the same mean given the past. Then $E[R]$ is the same for every policy,
its gradient is zero, and subtracting any constant from the weight $w_n = \partial L / \partial R_n$ of a sequence
preserves the expected gradient. For $h(R) = R^2$ the constant $2 E[R]$ lowers the gradient's noise from $E[R^2]$ to
$\mathrm{Var}[R]$: from 14.8 to 0.47 at $d = 3$, $T = 20$. It carries no information about which action was best.

**Hindsight loss.** For i.i.d. losses $\ell_t \sim N(0, C)$, any policy that depends only on the past, and
$x^\star(S) = \arg\min_x \langle S, x \rangle$, squared regret is regression onto the action that turns out best:

    E[R^2] = E[ sum_t ||pi_t - x*(S_T)||_C^2 - T ||x*(S_T)||_C^2 + <S_T, x*(S_T)>^2 ],      ||x||_C^2 = <x, C x>

because $\sum_t \langle \ell_t, \pi_t \rangle$ is a martingale and Stein's lemma gives the cross term. On Gaussian
blocks the same holds for swap regret, summed over heads, with the sum of $\langle S_{i,T}, x^\star(S_{i,T}) \rangle$
squared. Replacing $x^\star(S_T)$ by its mean given $S_{t-1}$, the best possible policy, changes the loss by a constant
and leaves little noise, but it reveals the solution to the model.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from regrax import _checks as checks, theory
from regrax.attention import Recipe, SwapAttention, TrainableLearner
from regrax.attention.base import play_batch
from regrax.domains import Ball, Simplex
from regrax.learners import HostLearner, Learner, perturbed_leader
from regrax.training.distributions import (
    Batch,
    Distribution,
    Gaussian,
    PartialFeedback,
    check_distribution,
)

Blocks = Float[Array, "T d d n"]
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
"""Functions $h$ of regret that objectives accept by name."""


def exponential(regret: Regrets, sharpness: float) -> Regrets:
    r"""Compute $f(R, k) = e^{k (R - \max R)}$. The shift cancels in the ratio and prevents overflow.

    >>> import jax.numpy as jnp
    >>> exponential(jnp.array([0.0, 1.0]), 1.0).tolist()
    [0.3679, 1.0]
    """
    return jnp.exp(sharpness * (regret - lax.stop_gradient(regret.max())))


class Objective(eqx.Module):
    """Base class of objectives, which draw data and compute a model's loss on it."""

    actions: int = eqx.field(static=True)
    horizon: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("actions", self.actions, 1)
        checks.at_least("horizon", self.horizon, 1)

    @abstractmethod
    def draw(self, count: int, *, key: PRNGKeyArray) -> PyTree:
        """Draw data for `count` sequences."""

    @abstractmethod
    def loss(self, model: Learner, data: PyTree) -> Loss:
        """Compute the mean loss over the data. Training follows its gradient."""

    @property
    def heads(self) -> int:
        """Number of policies per sequence: $d$ for an objective on blocks, otherwise 1."""
        return 1

    @property
    def is_standard(self) -> bool:
        """True if the expected loss is squared regret on standard Gaussian losses, whose optimum is known."""
        return False

    def optimal_loss(self, model: Learner) -> float | None:
        """Return the lowest expected loss of any policy on the model's domain, or None if it is unknown.

        >>> from regrax.learners import Hedge
        >>> RegretObjective(actions=3, horizon=20).optimal_loss(Hedge(0.4))
        14.6276164
        """
        if not self.is_standard:
            return None
        if isinstance(model.domain, Simplex):
            return best_loss(self.actions, self.horizon, self.heads)
        if isinstance(model.domain, Ball) and getattr(model, "projection", None) is None:
            radius = float(model.domain.radius)
            return theory.optimal_loss(self.actions, self.horizon, operator="ball", radius=radius)
        return None

    def low_noise(self, model: Learner) -> "Objective":
        """Return an objective with the same expected loss and as little noise as possible, for evaluating a model."""
        if self.is_standard and isinstance(model.domain, Simplex):
            swap = self.heads > 1
            return HindsightObjective(self.actions, self.horizon, conditional=True, swap=swap)
        return self

    def recipe(self, model: Learner) -> Recipe:
        """Return the default settings to train `model` with.

        >>> from regrax.learners import Hedge
        >>> RegretObjective(actions=3, horizon=20).recipe(Hedge(0.1)).batch
        2048
        """
        return getattr(model, "recipe", Recipe())


class ExpectedRegret(Objective):
    """Base class of $E[h(R)]$ for one kind of regret, with the baseline where it is unbiased."""

    distribution: eqx.AbstractVar[Distribution]
    surrogate: eqx.AbstractVar[str | Surrogate]
    baseline: eqx.AbstractVar[bool]
    group_size: eqx.AbstractVar[int]  # sequences that are weighted together

    def __check_init__(self) -> None:
        check_distribution("distribution", self.distribution)
        if not callable(self.surrogate) and self.surrogate not in SURROGATES:
            known = ", ".join(SURROGATES)
            raise ValueError(
                f"surrogate must be a function or one of {known}, got {self.surrogate!r}"
            )
        if self.surrogate == "identity" and self.is_fair:
            warnings.warn(
                "surrogate identity has no gradient on these losses: expected regret is the same for every policy",
                stacklevel=3,
            )

    @property
    def is_fair(self) -> bool:
        """True if the expected regret is the same for every policy on the simplex."""
        return self.distribution.mean is not None

    @property
    def is_standard(self) -> bool:
        is_square = self.is_fair and self.surrogate == "square"
        return is_square and _is_standard_gaussian(self.distribution)

    def draw(self, count: int, *, key: PRNGKeyArray) -> PyTree:
        return self.distribution.draw(self.horizon, self.actions, count, key=key)

    @abstractmethod
    def regrets(self, model: Learner, data: PyTree) -> Regrets:
        """Compute the model's regret on every sequence."""

    def loss(self, model: Learner, data: PyTree) -> Loss:
        regrets = self.regrets(model, data)
        fair = self.is_fair and (isinstance(model.domain, Simplex) or self.distribution.mean == 0)
        if not (self.baseline and fair and regrets.size > self.group_size):
            return self.average(regrets)
        # subtract the mean weight of the other groups' sequences from each weight in the gradient; leaving out a
        # sequence's own group makes the baseline independent of it, so the gradient stays unbiased
        value, weights = jax.value_and_grad(self.average)(lax.stop_gradient(regrets))
        groups = weights.reshape(-1, self.group_size)
        others = (groups.sum() - groups.sum(1)) / (weights.size - self.group_size)
        centred = lax.stop_gradient((groups - others[:, None]).ravel())
        change = jnp.vdot(centred, regrets)
        return value + change - lax.stop_gradient(change)

    def average(self, regrets: Regrets) -> Loss:
        """Average $h(R)$ over the sequences."""
        return self.h(regrets).mean()

    @property
    def h(self) -> Surrogate:
        """The function of regret that `surrogate` is or names."""
        return self.surrogate if callable(self.surrogate) else SURROGATES[self.surrogate]


class RegretObjective(ExpectedRegret):
    r"""$E[h(R)]$, $R = \sum_t \langle \ell_t, \pi_t \rangle - \min_x \langle S_T, x \rangle$: the regret loss.

    The minimum is over the model's domain, the simplex or the ball.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        distribution: distribution of the losses; by default standard Gaussian.
        surrogate: $h$, one of `"square"`, `"positive"`, `"positive-square"`, `"softplus"`, `"identity"`, or a function.
        feedback: the part of the losses that the model sees: `DelayedFeedback(delay)`, `BanditFeedback()`, or None for
            all losses.
        group_size: $N$ in the weighting of Park et al. over groups of $N$ sequences; 1 is the plain mean.
        weight: $f(R, k)$ in that weighting.
        sharpness: $k$ in that weighting.
        baseline: reduce gradient noise with a baseline where this is unbiased, that is, if all actions' losses have the
            same known mean.

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
    feedback: PartialFeedback | None = None
    group_size: int = eqx.field(static=True, default=1)
    weight: Weight = eqx.field(static=True, default=exponential)
    sharpness: float = 1.0
    baseline: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        expected = "a PartialFeedback or None"
        checks.instance("feedback", self.feedback, PartialFeedback | None, expected)
        checks.at_least("group_size", self.group_size, 1)

    @property
    def is_standard(self) -> bool:
        return super().is_standard and self.group_size == 1 and self.feedback is None

    def draw(self, count: int, *, key: PRNGKeyArray) -> tuple[Batch, Batch]:
        """Draw the losses and the part of them that the model sees."""
        if count % self.group_size:
            raise ValueError(
                f"sequences come in groups of group_size = {self.group_size}, so count, batch and chunk must be "
                f"multiples of it, got {count}"
            )
        for_losses, for_feedback = jax.random.split(key)
        losses = super().draw(count, key=for_losses)
        if self.feedback is None:
            return losses, losses
        return losses, self.feedback.observe(losses, key=for_feedback)

    def regrets(self, model: Learner, data: tuple[Batch, Batch]) -> Regrets:
        losses, seen = data
        incurred = jnp.sum(policies(model, seen) * losses, (0, 1))
        return incurred - model.domain.least(losses.sum(0))

    def average(self, regrets: Regrets) -> Loss:
        r"""Average $\sum_j h(R_j) f(R_j, k) / \sum_j f(R_j, k)$ over the groups."""
        if self.group_size == 1:
            return super().average(regrets)

        def group(regrets: Float[Array, "N"]) -> Loss:
            weights = self.weight(regrets, self.sharpness)
            return jnp.sum(self.h(regrets) * weights) / weights.sum()

        return jax.vmap(group)(regrets.reshape(-1, self.group_size)).mean()


class SwapRegretObjective(ExpectedRegret):
    r"""$E[h(\sum_i (\sum_t \langle x_{i,t}, p_{i,t} \rangle - \min_j \sum_t x_{i,t,j}))]$ on Gaussian blocks $x_{i,t}$.

    The heads of a `SwapAttention` see full-scale blocks $X \sim N(0, I_{d^2 T})$. After training, play
    `model.calibrated()`.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        surrogate: $h$, one of `"square"`, `"positive"`, `"positive-square"`, `"softplus"`, `"identity"`, or a function.
        baseline: reduce gradient noise with an unbiased baseline.

    >>> import jax
    >>> SwapRegretObjective(actions=2, horizon=5).draw(100, key=jax.random.key(0)).shape
    (5, 2, 2, 100)
    """

    distribution: ClassVar[Distribution] = Gaussian()  # pyright: ignore[reportIncompatibleVariableOverride]
    group_size: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]
    surrogate: str | Surrogate = eqx.field(static=True, default="square")
    baseline: bool = eqx.field(static=True, default=True)

    @property
    def heads(self) -> int:
        return self.actions

    def draw(self, count: int, *, key: PRNGKeyArray) -> Blocks:
        return draw_blocks(self.horizon, self.actions, count, key)

    def regrets(self, model: Learner, data: Blocks) -> Regrets:
        """Compute the swap regret of the heads' columns on every sequence."""
        incurred = jnp.sum(policies(model, data) * data, (0, 1, 2))
        return incurred - data.sum(0).min(1).sum(0)


class ClosedLoopSwapObjective(ExpectedRegret):
    r"""$E[h(\mathrm{Swap})]$ of actual play: $x_{i,t} = \pi_{t,i} \ell_t$, differentiated through the fixed points.

    Training and play see the same features, so the trained model needs no calibration.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        distribution: distribution of the losses; by default standard Gaussian.
        surrogate: $h$, one of `"square"`, `"positive"`, `"positive-square"`, `"softplus"`, `"identity"`, or a function.

    >>> import jax
    >>> ClosedLoopSwapObjective(actions=2, horizon=5).draw(8, key=jax.random.key(0)).shape
    (5, 2, 8)
    """

    baseline: ClassVar[bool] = False  # pyright: ignore[reportIncompatibleVariableOverride]
    group_size: ClassVar[int] = 1  # pyright: ignore[reportIncompatibleVariableOverride]
    distribution: Distribution = Gaussian()
    surrogate: str | Surrogate = eqx.field(static=True, default="square")

    @property
    def is_fair(self) -> bool:
        """False: what a swap would have saved depends on the policy."""
        return False

    def regrets(self, model: Learner, data: Batch) -> Regrets:
        """Compute the swap regret of the model's play on every sequence."""
        _check_simplex("swap regret", model)
        matrix = jnp.einsum("tin,tjn->ijn", policies(model, data), data)
        return jnp.einsum("iin->n", matrix) - matrix.min(1).sum(0)


class HindsightObjective(Objective):
    r"""$\sum_t E\|\pi_t - x^\star(S_T)\|^2 + \mathrm{const} = E[R^2]$: forecast the action that turns out best.

    Args:
        actions: number of actions $d$, an integer >= 1.
        horizon: rounds $T$ per sequence, an integer >= 1.
        distribution: distribution of the losses, which must be i.i.d. Gaussian.
        conditional: forecast the mean of $x^\star(S_T)$ given the past. This is the known optimum, so a model trained
            this way is not evidence of emergence.
        swap: train the heads of a `SwapAttention` on Gaussian blocks.

    >>> import jax
    >>> HindsightObjective(actions=3, horizon=20).draw(8, key=jax.random.key(0)).shape
    (20, 3, 8)
    """

    distribution: Distribution = Gaussian()
    conditional: bool = eqx.field(static=True, default=False)
    swap: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_distribution("distribution", self.distribution)
        if not isinstance(self.distribution, Gaussian):
            kind = type(self.distribution).__name__
            raise ValueError(f"the hindsight loss requires i.i.d. Gaussian losses, got {kind}")
        if not self.is_standard and (self.conditional or self.swap):
            raise ValueError(
                "conditional and swap require standard Gaussian losses, got a covariance"
            )

    @property
    def heads(self) -> int:
        return self.actions if self.swap else 1

    @property
    def is_standard(self) -> bool:
        return _is_standard_gaussian(self.distribution)

    def recipe(self, model: Learner) -> Recipe:
        """Return the model's recipe, with twice the batch unless the loss is `conditional`, which has less noise."""
        recipe = super().recipe(model)
        return recipe if self.conditional else recipe._replace(batch=2 * recipe.batch)

    def draw(self, count: int, *, key: PRNGKeyArray) -> Batch | Blocks:
        if self.swap:
            return draw_blocks(self.horizon, self.actions, count, key)
        return self.distribution.draw(self.horizon, self.actions, count, key=key)

    def loss(self, model: Learner, data: Batch | Blocks) -> Loss:
        count = data.shape[-1]
        losses = heads_last(data)
        played = heads_last(policies(model, data))
        if self.conditional:
            _check_simplex("the conditional mean", model)
            lowest = best_loss(self.actions, self.horizon, self.heads)
            return lowest + jnp.sum((played - best_policy(losses)) ** 2) / count
        totals = losses.sum(0)
        best = model.domain.best(totals)
        errors = self._squared_norm(played - best[None])
        constant = self.horizon * self._squared_norm(best[None])
        lowest = jnp.sum(totals * best, 0).reshape(-1, count).sum(0)
        return (errors - constant) / count + jnp.mean(lowest**2)

    @property
    def optimum(self) -> float:
        """Deprecated alias for `optimal_loss(model)`."""
        warnings.warn(
            "HindsightObjective.optimum is now optimal_loss(model)",
            DeprecationWarning,
            stacklevel=2,
        )
        return best_loss(self.actions, self.horizon, self.heads)

    def _squared_norm(self, points: Float[Array, "t d m"]) -> Loss:
        r"""Sum $\langle x, C x \rangle$ over all rounds and sequences, where $C$ is the covariance of the losses."""
        covariance = self.distribution.covariance  # pyright: ignore[reportAttributeAccessIssue]
        if covariance is None:
            return jnp.sum(points**2, 1).sum()
        return jnp.einsum("tim,ij,tjm->tm", points, jnp.asarray(covariance, float), points).sum()


def policies(model: Learner, data: Batch | Blocks) -> Batch | Blocks:
    """Compute the policy of every round on every sequence; on blocks, the columns of a swap model's heads.

    Models use their training form, other learners play.
    """
    if data.ndim == 4:
        if not isinstance(model, SwapAttention):
            raise ValueError(f"an objective on blocks requires a SwapAttention, got {model}")
        return model.columns(data)
    if isinstance(model, TrainableLearner):
        return model.policies(data)
    if isinstance(model, HostLearner) and hasattr(model, "answer_batch"):

        def answer(batch: Any) -> np.ndarray:
            answers = model.answer_batch(np.moveaxis(np.asarray(batch), -1, 0))  # pyright: ignore
            return np.moveaxis(answers, 0, -1).astype(data.dtype)

        return jax.pure_callback(answer, data, data)
    return play_batch(model, data)


def draw_blocks(horizon: int, actions: int, count: int, key: PRNGKeyArray) -> Blocks:
    """Draw Gaussian blocks: entry `[t, i, :, n]` is $x_{i,t}$."""
    checks.at_least("count", count, 1)
    return jax.random.normal(key, (horizon, actions, actions, count))


def heads_last(array: Float[Array, "T *h d n"]) -> Float[Array, "T d m"]:
    """Merge the heads of blocks with the sequences, making every head a sequence; return other batches unchanged."""
    if array.ndim == 3:
        return array
    rounds, _, actions, _ = array.shape
    return jnp.moveaxis(array, 2, 1).reshape(rounds, actions, -1)


def sums_before(losses: Batch) -> Batch:
    r"""Compute $S_{t-1}$, the sum of the losses before each round."""
    start = jnp.zeros(losses.shape[1:], losses.dtype)
    return lax.scan(lambda total, loss: (total + loss, total), start, losses)[1]


def best_policy(losses: Batch) -> Batch:
    r"""Compute $\pi^*_t(S_{t-1})$, the best possible policy on standard Gaussian losses."""
    remaining = np.arange(losses.shape[0], 0, -1)[:, None]  # rounds
    return perturbed_leader(sums_before(losses), remaining**0.5, axis=1)


@cache
def best_loss(actions: int, rounds: int, heads: int = 1) -> float:
    r"""Return $L^*$, the lowest loss of any policy; over $b$ independent heads $b L^* + b (b - 1) T (E m)^2$.

    >>> best_loss(3, 20), best_loss(3, 20, heads=3)
    (14.6276164, 129.826)
    """
    cross = heads * (heads - 1) * rounds * theory.minimum_moment(actions, 1) ** 2
    return heads * theory.optimal_loss(actions, rounds) + cross


def _check_simplex(quantity: str, model: Learner) -> None:
    if not isinstance(model.domain, Simplex):
        raise ValueError(
            f"{quantity} is defined on the simplex, but {model} plays on the {model.domain.name}"
        )


def _is_standard_gaussian(distribution: Distribution) -> bool:
    return isinstance(distribution, Gaussian) and distribution.covariance is None
