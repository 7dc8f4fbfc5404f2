r"""`fit`: minimise an objective over a model's parameters, one compiled `scan` from report to report.

The draws of a step depend on `key`, the number of the step and the position in its batch only, and everything else that
training remembers is in its state: a run continued from a reported state gives the same bits as one that never stopped.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree, UInt32

from regrax import _checks as checks
from regrax.attention import Transformer
from regrax.learners import Learner
from regrax.sharding import Devices, everywhere, here, mesh_of, split, together, total
from regrax.training._objectives import Objective

Keys = PRNGKeyArray | Key[Array, "seeds"] | UInt32[Array, "seeds _"]  # one key, or one per seed


@runtime_checkable
class Optimizer(Protocol):
    """An optimizer of optax, or anything with its `init` and `update`."""

    def init(self, model: Any, /) -> Any: ...

    def update(self, gradient: Any, state: Any, model: Any, /) -> tuple[Any, Any]: ...


class TrainingState(eqx.Module):
    """Everything a run needs to go on; with several seeds every array has a leading axis for them.

    Attributes:
        model: after the last step.
        average: of the models after each of the last steps; until then, the model.
        optimizer: the optimizer's state.
        step: how many are done.
    """

    model: Learner
    average: Learner
    optimizer: PyTree
    step: Int[Array, ""] | Int[Array, "seeds"]


class Report(eqx.Module):
    """What a callback is given after every `every` steps.

    Attributes:
        step: steps done.
        steps: steps in all.
        losses: of every step since the last report, of shape `(every, *seeds)`.
        state: to continue from.
    """

    step: int
    steps: int
    losses: Float[np.ndarray, "every *seeds"]
    state: TrainingState


class Fitted(eqx.Module):
    """A finished run: the averaged model, the loss of every step taken, and the state to go on from."""

    model: Learner
    losses: Float[np.ndarray, "steps *seeds"]
    state: TrainingState


class Plan(NamedTuple):
    """How a run is cut up."""

    steps: int
    every: int  # steps from report to report
    pieces: int  # of a batch
    chunk: int  # sequences to a piece
    settled: int  # the step after which models are averaged
    mesh: Mesh | None  # of the devices that share the pieces


class TrainingDiverged(ArithmeticError):
    """The loss stopped being a finite number; `state` is the last one reported good."""

    def __init__(self, step: int, state: TrainingState) -> None:
        good = int(np.asarray(state.step).max())
        super().__init__(
            f"the loss must be finite, got nan or inf at step {step}; the state after step {good} is the "
            "last good one: go on from it with a lower learning rate"
        )
        self.state = state


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

    Whatever is None takes the default of the model (`recipe`).

    Args:
        model: to train; with a `key` of shape `(n,)` its arrays have a leading axis of `n`, and `n` seeds train in one
            `vmap`.
        objective: what to minimise.
        key: of the sequences that are drawn.
        steps: of the optimizer; by default the model's own number.
        batch: sequences per step.
        chunk: sequences taken at a time, a divisor of `batch`.
        optimizer: any optimizer of optax; by default `adam` with the model's rate.
        tail: fraction of the last steps whose models are averaged: the average has less noise than the last model.
        every: steps per report; by default a twentieth of them all.
        callback: called with a `Report` after every `every` steps.
        state: of a report, to continue that run.
        devices: that share the chunks of every batch, as in `jax.devices()`; what is drawn stays the same.

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
    usual = recipe(model)
    steps = usual.steps if steps is None else steps
    batch = usual.batch * objective.effort if batch is None else batch
    chunk = min(batch, usual.chunk if chunk is None else chunk)
    tail = usual.tail if tail is None else tail
    every = max(1, steps // 20) if every is None else every
    for name, value in {"steps": steps, "batch": batch, "chunk": chunk, "every": every}.items():
        checks.at_least(name, value, 1)
    if batch % chunk:
        raise ValueError(f"batch must be a multiple of chunk = {chunk}, got {batch}")
    if not 0 <= tail <= 1:
        raise ValueError(f"tail must be a fraction between 0 and 1, got {tail}")
    optimizer = adam(usual.rate, steps) if optimizer is None else optimizer
    state = start(model, optimizer, key) if state is None else state
    mesh = mesh_of(devices, batch // chunk)
    plan = Plan(steps, every, batch // chunk, chunk, steps - round(tail * steps), mesh)
    return _run(state, objective, key, optimizer, plan, callback)


@cache  # a program is compiled for an optimizer, so equal ones are the same
def adam(rate: float, steps: int) -> optax.GradientTransformation:
    """Adam on gradients clipped to length 1; the rate rises over a twentieth of the steps, then falls as a cosine.

    The highest rate is a hyperparameter in the state, so that one program trains models with different rates.

    Args:
        rate: the highest learning rate.
        steps: after which the rate is zero.

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


class Recipe(NamedTuple):
    """The settings that a model is trained with by default.

    Args:
        steps: of `adam`.
        batch: sequences per step.
        chunk: sequences at a time, so that they stay in the processor's cache.
        rate: the highest learning rate.
        tail: fraction of the last steps whose models are averaged.
    """

    steps: int
    batch: int
    chunk: int
    rate: float
    tail: float


LINEAR = Recipe(steps=300, batch=2048, chunk=1024, rate=0.03, tail=0.5)
DEEP = Recipe(steps=3000, batch=256, chunk=64, rate=0.003, tail=0.1)


def recipe(model: Learner) -> Recipe:
    """The recipe for a model.

    >>> from regrax.learners import Hedge
    >>> recipe(Hedge(0.1)).batch
    2048
    """
    return DEEP if isinstance(model, Transformer) else LINEAR


@eqx.filter_jit
def start(model: Learner, optimizer: Optimizer, key: Keys) -> TrainingState:
    """The state before the first step."""
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), model)
    initial: Any = jax.vmap(optimizer.init) if _is_many(key) else optimizer.init
    return TrainingState(model, model, initial(model), jnp.zeros(_seeds(key), int))


def _run(
    state: TrainingState,
    objective: Objective,
    key: Keys,
    optimizer: Optimizer,
    plan: Plan,
    callback: Callable[[Report], None] | None,
) -> Fitted:
    done, history = int(np.asarray(state.step).max()), []
    key, objective, moved = everywhere((key, objective, state), plan.mesh)
    while done < plan.steps:
        count = min(plan.every - done % plan.every, plan.steps - done)
        moved, losses = _advance(moved, objective, key, optimizer, plan, count)
        losses = np.moveaxis(np.asarray(losses), -1, 0)
        bad = np.flatnonzero(~np.isfinite(losses.reshape(count, -1)).all(1))
        if len(bad):
            raise TrainingDiverged(done + int(bad[0]) + 1, state)
        state, done = here(moved, plan.mesh), done + count
        history.append(losses)
        if callback is not None:
            callback(Report(done, plan.steps, losses, state))
    empty = np.zeros((0, *_seeds(key)), np.float32)
    return Fitted(state.average, np.concatenate(history) if history else empty, state)


@eqx.filter_jit
def _advance(
    state: TrainingState,
    objective: Objective,
    key: Keys,
    optimizer: Optimizer,
    plan: Plan,
    count: int,
) -> tuple[TrainingState, Float[Array, "*seeds count"]]:
    def one_seed(state: TrainingState, key: PRNGKeyArray) -> tuple[TrainingState, Any]:
        def step(state: TrainingState, _: None) -> tuple[TrainingState, Any]:
            draws = jax.random.fold_in(key, state.step)
            loss, gradient = _gradient(state.model, objective, draws, plan)
            return _move(state, gradient, optimizer, plan.settled), loss

        return lax.scan(step, state, None, count)

    return together((jax.vmap(one_seed) if _is_many(key) else one_seed)(state, key), plan.mesh)


def _move(state: TrainingState, gradient: Any, optimizer: Any, settled: int) -> TrainingState:
    with jax.numpy_dtype_promotion("standard"):  # optax mixes integers and floats
        changes, memory = optimizer.update(gradient, state.optimizer, state.model)
    model = jax.tree.map(jnp.add, state.model, changes)
    share = 1 / jnp.maximum(state.step + 1 - settled, 1).astype(float)
    average = jax.tree.map(lambda old, new: old + share * (new - old), state.average, model)
    return TrainingState(model, average, memory, state.step + 1)


def _gradient(
    model: Learner, objective: Objective, key: PRNGKeyArray, plan: Plan
) -> tuple[Float[Array, ""], Learner]:
    """The loss and its gradient on one batch, piece by piece."""

    def piece(shared: tuple, index: Int[Array, ""]) -> tuple[Float[Array, ""], Learner]:
        model, objective, key = shared
        data = objective.draw(plan.chunk, key=jax.random.fold_in(key, index))
        return jax.value_and_grad(objective.loss)(model, split(data, plan.mesh))

    zero = jnp.zeros(()), jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), model)
    summed = total(piece, (model, objective, key), plan.pieces, zero, plan.mesh)
    return jax.tree.map(lambda part: part / plan.pieces, summed)


def _is_many(key: Keys) -> bool:
    return bool(_seeds(key))


def _seeds(key: Keys) -> tuple[int, ...]:
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    return key.shape if typed else key.shape[:-1]
