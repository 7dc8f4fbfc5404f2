r"""Evaluation of a trained model: its expected loss, and the step size of the algorithm nearest to it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention import SwapAttention, TrainableLearner
from regrax.domains import Simplex
from regrax.learners import Learner
from regrax.sharding import Devices, each, mesh_of, replicate
from regrax.simplex import Number
from regrax.specs import as_learner
from regrax.training.objectives import Objective, draw_blocks, heads_last, policies, sums_before

MAX_STEP = 5.0  # largest step size that `fit_step_size` considers


class Evaluation(NamedTuple):
    """An expected loss, its standard error, and the lowest loss of any policy (None if unknown)."""

    loss: float
    error: float
    optimal_loss: float | None


class StepFit(NamedTuple):
    r"""Step size of the FTRL algorithm nearest to a model, and the distance between the two.

    Attributes:
        step: step size $k$.
        mse: mean squared difference between the policies, over sequences, rounds and actions.
        l1: mean over sequences and rounds of $\|\pi_t - \pi_t(k)\|_1$.
        total_variation: half of `l1`.
        per_action: `l1` divided by $d$.
    """

    step: float
    mse: float
    l1: float
    total_variation: float
    per_action: float


def evaluate(
    model: Learner | str,
    objective: Objective,
    *,
    key: PRNGKeyArray,
    sequences: int = 100_000,
    devices: Devices | None = None,
) -> Evaluation:
    r"""Estimate the expected loss of `model` on fresh sequences.

    For squared regret on standard Gaussian losses the estimate is $L^* + \sum_t E\|\pi_t - \pi^*_t(S_{t-1})\|^2$, whose
    noise is a hundredth of the plain average's. For any other objective it is the plain average.

    Args:
        model: a learner, or its spec.
        objective: objective whose loss is measured.
        key: random key; the same key gives the same sequences.
        sequences: number of sequences, at least 2, or two groups if the objective has groups.
        devices: devices that share the sequences, e.g. `jax.devices()`; by default one.

    >>> import jax
    >>> from regrax.training import RegretObjective
    >>> evaluate("hedge(0.4479049)", RegretObjective(3, 20), key=jax.random.key(0), sequences=2000).loss
    14.79
    """
    checks.instance("objective", objective, Objective, "an objective")
    group = getattr(objective, "group_size", 1)
    checks.at_least("sequences", sequences, 2 * group)
    checks.random_key(key)
    model = as_learner(model)
    chunk = min(1000, sequences // 20)  # 20 chunks or more, for the standard error
    chunk = max(chunk // group, 1) * group
    mesh = mesh_of(devices)
    shared = replicate((model, objective.low_noise(model), key), mesh)
    losses = np.asarray(_chunk_losses(*shared, sequences // chunk, chunk, mesh), float)
    error = losses.std(ddof=1) / len(losses) ** 0.5
    return Evaluation(float(losses.mean()), float(error), objective.optimal_loss(model))


@eqx.filter_jit
def _chunk_losses(
    model: Learner,
    objective: Objective,
    key: PRNGKeyArray,
    chunks: int,
    chunk: int,
    mesh: Mesh | None,
) -> Float[Array, "chunks"]:
    def loss(shared: tuple, index: Int[Array, ""]) -> Number:
        model, objective, key = shared
        return objective.loss(model, objective.draw(chunk, key=jax.random.fold_in(key, index)))

    return each(loss, (model, objective, key), chunks, mesh)


def fit_step_size(
    model: TrainableLearner, horizon: int, *, key: PRNGKeyArray, sequences: int = 4096
) -> StepFit:
    r"""Find the step $k$ in $[0, 5]$ of the FTRL algorithm nearest to a model, in mean $\|\pi_t - \pi_t(k)\|^2$.

    The mean is over fresh Gaussian sequences and rounds. $\pi_t(k) = \mathrm{softmax}(-k S_{t-1})$, or $-k S_{t-1}$ on
    the ball, the form that training uses. Every head of the swap architecture is compared with the sum of its own
    block.

    Args:
        model: model to compare with FTRL.
        horizon: rounds $T$ per sequence, an integer >= 1.
        key: random key; the same key gives the same sequences.
        sequences: number of sequences.

    >>> import jax
    >>> from regrax.attention import LinearAttention
    >>> fit_step_size(LinearAttention.hedge(2, 0.3), 5, key=jax.random.key(0), sequences=64).step
    0.3000
    """
    checks.at_least("horizon", horizon, 1)
    checks.at_least("sequences", sequences, 1)
    checks.instance("model", model, TrainableLearner, "a model with parameters")
    checks.random_key(key)
    step, mse, l1 = (float(number) for number in _nearest_step(model, horizon, key, sequences))
    return StepFit(step, mse, l1, l1 / 2, l1 / model.actions)


@eqx.filter_jit
def _nearest_step(
    model: TrainableLearner, horizon: int, key: PRNGKeyArray, sequences: int
) -> tuple:
    if isinstance(model, SwapAttention):
        data = draw_blocks(horizon, model.actions, sequences, key)
    else:
        data = jax.random.normal(key, (horizon, model.actions, sequences))
    losses = heads_last(data)
    played = heads_last(policies(model, data))
    before = sums_before(losses)

    def difference(step: Number, count: int | None = None) -> Float[Array, "T d m"]:
        nearest = -step * before[..., :count]
        if isinstance(model.domain, Simplex):
            nearest = jax.nn.softmax(nearest, axis=1)
        return nearest - played[..., :count]

    def gauss_newton(step: Number, _: None) -> tuple:
        residual, slope = jax.jvp(difference, (step,), (jnp.ones_like(step),))
        moved = step - jnp.vdot(slope, residual) / jnp.vdot(slope, slope)
        return jnp.clip(moved, 0, MAX_STEP), None

    # start from the best step on a grid, using a subset of the sequences
    grid = jnp.linspace(0, MAX_STEP, 101)
    errors = lax.map(lambda step: jnp.mean(difference(step, 256) ** 2), grid)
    step, _ = lax.scan(gauss_newton, grid[jnp.argmin(errors)], None, 20)
    error = difference(step)
    return step, jnp.mean(error**2), jnp.abs(error).sum(1).mean()
