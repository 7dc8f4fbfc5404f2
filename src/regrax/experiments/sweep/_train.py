"""The work of a sweep: train cells of one program in one `vmap`, and measure each."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from regrax import __version__, theory
from regrax.attention import Model
from regrax.experiments.runs import Training
from regrax.experiments.sweep._grid_cell import Cell
from regrax.experiments.sweep._operations import operations
from regrax.learners import Learner
from regrax.training import Objective, Report, adam, evaluate, fit, fit_step_size, recipe, start

MEASURING = 2**31  # the key of the sequences that models are measured on, the same for all


class Done(NamedTuple):
    """A trained model, its arrays numpy's, and the numbers about it."""

    model: Model
    numbers: dict[str, Any]


def work(
    cells: Sequence[Cell], heard: Callable[[float], None] = lambda _: None, asked: str = __version__
) -> list[Done]:
    """Train and measure cells of one program; `heard` is told the share that is done, `asked` the version wanted.

    >>> from regrax.experiments.sweep._grid_cell import completed
    >>> small = completed(Training("linear", actions=2, horizon=5, steps=10, batch=64))
    >>> first, second = work([Cell(small, seed, sequences=200) for seed in (0, 1)])
    >>> sorted(first.numbers)[:5]
    ['exact_step', 'exact_step_loss', 'excess', 'loss', 'loss_error']
    """
    if asked != __version__:
        raise RuntimeError(
            f"a worker must have the regrax of the command, {asked}, but has {__version__}"
        )
    began = time.perf_counter()
    models = _trained(cells, heard)
    program, cost = cells[0].training, _cost(cells[0].training)
    found = [_measured(model, program, cells[0].sequences) for model in models]
    share = (time.perf_counter() - began) / len(cells)
    more = {"operations": cost, "seconds": share}
    return [
        Done(jax.tree.map(np.asarray, model), {**numbers, **more})
        for model, numbers in zip(models, found, strict=True)
    ]


def _trained(cells: Sequence[Cell], heard: Callable[[float], None]) -> list[Model]:
    program = cells[0].training
    seeds = [cell.seeded for cell in cells]
    stacked = jax.tree.map(lambda *parts: jnp.concatenate(parts), *[one.fresh() for one in seeds])
    keys = jnp.concatenate([one.keys(1) for one in seeds])
    optimizer = _optimizer(program.steps or 0)
    rates = jnp.array([cell.training.rate for cell in cells], float)
    before = start(stacked, optimizer, keys)
    before = eqx.tree_at(lambda state: state.optimizer[1], before, rates)

    def report(report: Report) -> None:
        heard(report.step / report.steps)

    fitted: Any = fit(
        stacked,
        program.made_objective(),
        key=keys,
        steps=program.steps,
        batch=program.batch,
        optimizer=optimizer,
        callback=report,
        state=before,
    ).model
    return [jax.tree.map(lambda leaf, at=at: leaf[at], fitted) for at in range(len(cells))]


@cache
def _optimizer(steps: int) -> optax.GradientTransformation:
    """The recipe's Adam at rate 1, times a rate that is part of the state: cells differ in it and share a program."""

    def init(params: Any) -> Any:
        return jnp.ones(())

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return jax.tree.map(lambda change: state * change, updates), state

    return optax.chain(adam(1.0, steps), optax.GradientTransformation(init, update))


def _measured(model: Model, training: Training, sequences: int) -> dict[str, Any]:
    """The population loss beside the least possible and that of the exact step; and the nearest step."""
    objective, key = training.made_objective(), jax.random.key(MEASURING)
    found = evaluate(model, objective, key=key, sequences=sequences)
    nearest = fit_step_size(model, training.horizon, key=key)
    least = found.optimal_loss
    exact = (
        None if least is None else theory.step_size(*_sizes(training), operator=training.operator)
    )
    return {
        "loss": found.loss,
        "loss_error": found.error,
        "optimal_loss": least,
        "excess": None if least is None else found.loss - least,
        "exact_step_loss": None if least is None else _exact_step_loss(training, least),
        "step_size": nearest.step,
        "exact_step": exact,
        "total_variation": nearest.total_variation,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(model)),
    }


def _exact_step_loss(training: Training, least: float) -> float:
    """What the algorithm with the exact step loses; $d$ heads lose $d$ times as much above the least."""
    sizes, operator = _sizes(training), training.operator
    step = theory.step_size(*sizes, operator=operator)
    above = theory.loss(step, *sizes, operator=operator) - theory.optimal_loss(
        *sizes, operator=operator
    )
    return least + above * (training.actions if training.model == "swap" else 1)


def _sizes(training: Training) -> tuple[int, int]:
    return training.actions, training.horizon


@cache
def _cost(training: Training) -> int | None:
    """The operations of a whole training: the loss of every sequence and its gradient; drawing them is left out."""
    objective, shapes = training.made_objective(), eqx.filter_eval_shape(training.fresh)
    model = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), shapes)
    chunk = recipe(model).chunk
    once = _gradient_cost(model, objective, chunk)
    return None if once is None else once * (training.steps or 0) * (training.batch or 0) // chunk


def _gradient_cost(model: Learner, objective: Objective, count: int) -> int | None:
    data = jax.eval_shape(lambda: objective.draw(count, key=jax.random.key(0)))
    return operations(jax.value_and_grad(objective.loss), model, data)
