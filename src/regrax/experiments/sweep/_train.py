"""The work of a sweep: train cells of one program in one `vmap`, and measure each."""

import time
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from regrax.attention import TrainableLearner
from regrax.experiments._pool import Tell
from regrax.experiments.runs import TrainConfig, Trained, measure
from regrax.experiments.sweep._cells import Batch
from regrax.experiments.sweep._operations import operations
from regrax.training import adam, fit, start


def work(cells: Batch, tell: Tell = lambda _: None) -> list[Trained]:
    """Train and measure cells of one program; `tell` is told the share that is done.

    >>> from regrax.experiments.sweep._cells import completed
    >>> small = completed(TrainConfig("linear", 2, 5, steps=10, batch=64, sequences=200))
    >>> first, second = work((small, replace(small, first_seed=1)))
    >>> first.measured.optimal_loss == second.measured.optimal_loss
    True
    """
    began = time.perf_counter()
    found = [(model, measure(model, cells[0])) for model in _trained(cells, tell)]
    share = (time.perf_counter() - began) / len(cells)
    cost = _cost(replace(cells[0], rate=None, first_seed=0))
    return [Trained(*pair, share, cost) for pair in found]


def _trained(cells: Batch, tell: Tell) -> list[TrainableLearner]:
    program = cells[0]
    models = jax.tree.map(lambda *parts: jnp.stack(parts), *[c.build_models() for c in cells])
    keys = jnp.stack([cell.keys(1) for cell in cells])
    optimizer = adam(1.0, program.steps or 0)
    rates = jnp.array([cell.rate for cell in cells], float)
    before = start(models, optimizer, keys)
    rated = optax.tree.set(before.optimizer, learning_rate=rates)
    before = replace(before, optimizer=rated)
    fitted: Any = fit(
        models,
        program.build_objective(),
        key=keys,
        steps=program.steps,
        batch=program.batch,
        optimizer=optimizer,
        callback=lambda report: tell(report.step / report.steps),
        state=before,
    ).model
    fitted = jax.tree.map(np.asarray, fitted)
    return [jax.tree.map(lambda leaf, at=at: leaf[at, ...], fitted) for at in range(len(cells))]


@cache
def _cost(cell: TrainConfig) -> int | None:
    """The operations of a whole training: the loss of every sequence and its gradient; drawing them is left out."""
    objective, model = cell.build_objective(), cell.shapes()
    chunk = objective.recipe(model).chunk
    data = jax.eval_shape(lambda: objective.draw(chunk, key=jax.random.key(0)))
    once = operations(jax.value_and_grad(objective.loss), model, data)
    return None if once is None else once * (cell.steps or 0) * (cell.batch or 0) // chunk
