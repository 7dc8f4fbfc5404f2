r"""`fit` minimises an objective over a model's parameters, with a compiled `lax.scan` between reports.

Each step draws a batch, differentiates the loss, updates the model with optax, and adds the new model to an average:

    loss, gradient = value_and_grad(objective.loss)(model, objective.draw(batch, key=fold_in(key, step)))
    changes, optimizer_state = optimizer.update(gradient, optimizer_state, model)
    model = model + changes

Batches are drawn in pieces of `chunk` sequences, each from its own key. The draws depend only on `key`, the step and
the index of the piece, and everything else is in the state, so a run resumed with the same arguments is bit-identical
to an uninterrupted one.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree, UInt32

from regrax import _checks as checks
from regrax.learners import Learner
from regrax.sharding import Devices, local, mesh_of, replicate, split, total
from regrax.simplex import Number
from regrax.training.objectives import Objective

Keys = PRNGKeyArray | Key[Array, "seeds"] | UInt32[Array, "seeds _"]  # one key, or one per seed
Optimizer = optax.GradientTransformation


class TrainingState(eqx.Module):
    """Everything needed to resume a run. With several seeds, every array has a leading seed axis.

    Attributes:
        model: the model after the last step.
        average: average of the models over the last steps; before averaging begins, the model itself.
        optimizer: state of the optimizer.
        step: number of steps taken.
    """

    model: Learner
    average: Learner
    optimizer: PyTree
    step: Int[Array, ""] | Int[Array, "seeds"]


class Report(NamedTuple):
    """Progress, passed to the callback every `every` steps.

    Attributes:
        step: number of steps taken.
        steps: total number of steps.
        losses: loss of every step since the last report, of shape `(at most every, *seeds)`.
        state: state to resume from.
    """

    step: int
    steps: int
    losses: Float[np.ndarray, "every *seeds"]
    state: TrainingState


class Fitted(NamedTuple):
    """Result of `fit`: the averaged model, the loss of every step, and the state to resume from."""

    model: Learner
    losses: Float[np.ndarray, "steps *seeds"]
    state: TrainingState


class TrainingDiverged(ArithmeticError):
    """Raised when the loss is no longer finite; `state` is the last good state."""

    def __init__(self, step: int, state: TrainingState) -> None:
        good = int(np.max(state.step))
        super().__init__(
            f"the loss became nan or inf at step {step}; resume from the last good state, after step {good}, "
            "with a lower learning rate"
        )
        self.state = state


class Plan(NamedTuple):
    """Settings of a training step, fixed at compile time."""

    pieces: int  # pieces per batch
    chunk: int  # sequences per piece
    average_after: int  # the step after which models are averaged
    mesh: Mesh | None  # devices that share the pieces


def fit(
    model: Learner,
    objective: Objective,
    *,
    key: Keys,
    steps: int | None = None,
    batch: int | None = None,
    chunk: int | None = None,
    optimizer: Optimizer | None = None,
    tail: float | None = None,
    every: int | None = None,
    callback: Callable[[Report], None] | None = None,
    state: TrainingState | None = None,
    devices: Devices | None = None,
) -> Fitted:
    r"""Train `model` on `objective` for `steps` steps of `batch` sequences.

    Settings left as None come from `objective.recipe(model)`.

    Args:
        model: model to train. With a `key` of shape `(n,)` its arrays have a leading axis of length `n`, and `n` seeds
            train in one `vmap`.
        objective: objective to minimise.
        key: random key for the sequences.
        steps: number of optimizer steps.
        batch: sequences per step.
        chunk: sequences processed at a time, a divisor of `batch`.
        optimizer: any optax optimizer; by default `adam` at the recipe's rate.
        tail: fraction of steps at the end of training whose models are averaged. The average is less noisy than the
            last model.
        every: steps per report; by default a twentieth of all steps.
        callback: function called with a `Report` every `every` steps.
        state: state from a report, to resume that run.
        devices: devices that share the pieces of every batch, e.g. `jax.devices()`. This does not change the draws.

    >>> import jax
    >>> from regrax.attention import LinearAttention
    >>> from regrax.training import RegretObjective
    >>> model = LinearAttention(2, key=jax.random.key(0))
    >>> fitted = fit(model, RegretObjective(2, 5), key=jax.random.key(1), steps=40, batch=64)
    >>> fitted.losses.shape
    (40,)
    """
    checks.instance("model", model, Learner, "a model with parameters")
    checks.instance("objective", objective, Objective, "an objective")
    checks.random_key(key)
    recipe = objective.recipe(model)
    if steps is None:
        steps = recipe.steps
    if batch is None:
        batch = recipe.batch
    if chunk is None:
        chunk = recipe.chunk
    chunk = min(batch, chunk)
    if tail is None:
        tail = recipe.tail
    if every is None:
        every = max(1, steps // 20)
    for name, value in {"steps": steps, "batch": batch, "chunk": chunk, "every": every}.items():
        checks.at_least(name, value, 1)
    if batch % chunk:
        raise ValueError(f"batch must be a multiple of chunk = {chunk}, got {batch}")
    if not 0 <= tail <= 1:
        raise ValueError(f"tail must be a fraction between 0 and 1, got {tail}")
    if optimizer is None:
        optimizer = adam(recipe.rate, steps)
    if state is None:
        state = start(model, optimizer, key)

    pieces = batch // chunk
    mesh = mesh_of(devices, pieces)
    plan = Plan(pieces, chunk, steps - round(tail * steps), mesh)
    key, objective, shared = replicate((key, objective, state), mesh)
    done = int(np.max(state.step))
    history = [np.zeros((0, *_seeds(key)), np.float32)]
    while done < steps:
        count = min(every - done % every, steps - done)
        shared, losses = _train(shared, objective, key, optimizer, plan, count)
        losses = np.moveaxis(np.asarray(losses), -1, 0)
        diverged = np.flatnonzero(~np.isfinite(losses.reshape(count, -1)).all(1))
        if diverged.size:
            raise TrainingDiverged(done + int(diverged[0]) + 1, state)
        state = local(shared, mesh)
        done += count
        history.append(losses)
        if callback is not None:
            callback(Report(done, steps, losses, state))
    return Fitted(state.average, np.concatenate(history), state)


@eqx.filter_jit
def start(model: Learner, optimizer: Optimizer, key: Keys) -> TrainingState:
    """Return the state before the first step."""
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), model)
    init: Any = jax.vmap(optimizer.init) if _seeds(key) else optimizer.init
    return TrainingState(model, model, init(model), jnp.zeros(_seeds(key), int))


@eqx.filter_jit
def _train(
    state: TrainingState,
    objective: Objective,
    key: Keys,
    optimizer: Any,
    plan: Plan,
    count: int,
) -> tuple[TrainingState, Float[Array, "*seeds count"]]:
    """Take `count` steps; return the new state and the loss of every step."""

    def piece(shared: tuple, index: Int[Array, ""]) -> tuple[Number, Learner]:
        model, objective, key = shared
        data = objective.draw(plan.chunk, key=jax.random.fold_in(key, index))
        return jax.value_and_grad(objective.loss)(model, split(data, plan.mesh))

    def step(state: TrainingState, key: PRNGKeyArray) -> tuple[TrainingState, Number]:
        shared = (state.model, objective, jax.random.fold_in(key, state.step))
        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, state.model))
        summed = total(piece, shared, plan.pieces, zero, plan.mesh)
        loss, gradient = jax.tree.map(lambda part: part / plan.pieces, summed)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes integers and floats
            changes, memory = optimizer.update(gradient, state.optimizer, state.model)
        model = jax.tree.map(jnp.add, state.model, changes)
        share = 1 / jnp.maximum(state.step + 1 - plan.average_after, 1).astype(float)
        average = jax.tree.map(lambda old, new: old + share * (new - old), state.average, model)
        return TrainingState(model, average, memory, state.step + 1), loss

    def steps(state: TrainingState, key: PRNGKeyArray) -> tuple[TrainingState, Any]:
        return lax.scan(lambda state, _: step(state, key), state, None, count)

    if _seeds(key):
        steps = jax.vmap(steps)
    return replicate(steps(state, key), plan.mesh)


@cache  # equal arguments must give the same object, because `fit` compiles once per optimizer
def adam(rate: float, steps: int) -> optax.GradientTransformation:
    """Return Adam with gradients clipped to norm 1, a warm-up over a twentieth of the steps and cosine decay.

    The highest rate is a hyperparameter in the state, so one compiled program can train models at different rates.

    Args:
        rate: highest learning rate.
        steps: number of steps after which the rate reaches zero.

    >>> import jax
    >>> from regrax.attention import LinearAttention
    >>> from regrax.training import RegretObjective
    >>> model, key = LinearAttention(2, key=jax.random.key(0)), jax.random.key(1)
    >>> slow = fit(model, RegretObjective(2, 5), key=key, steps=20, batch=64, optimizer=adam(1e-4, 20))
    >>> float(abs(slow.model.values - model.values).max()) < 20 * 1e-4
    True
    """
    share = optax.warmup_cosine_decay_schedule(0.0, 1.0, steps // 20, steps)
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(b2=0.99),
        optax.scale_by_schedule(share),
        optax.inject_hyperparams(optax.scale_by_learning_rate)(learning_rate=rate),
    )


def _seeds(key: Keys) -> tuple[int, ...]:
    """Return the shape of a key or an array of keys: `()` or `(seeds,)`."""
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key.shape
    return key.shape[:-1]
