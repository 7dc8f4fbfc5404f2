"""Run a sweep; cells that share a program train in one `vmap`, in this process or on a Dask cluster."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf, isfinite, prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from regrax import _checks as checks
from regrax.experiments.pool import Dask, OnProgress, Pool, Progress, Tell, Threads, ignore, run_all
from regrax.experiments.runs import (
    TrainConfig,
    Trained,
    build_models,
    build_objective,
    draw_keys,
    measure,
    model_shapes,
    save_trained,
    unstack,
)
from regrax.experiments.store import Store
from regrax.experiments.sweep.grid import Batch, batches, name_of
from regrax.experiments.sweep.results import CellResult, cell_path, write_results
from regrax.specs import import_own
from regrax.training import adam, fit, start

ELEMENTWISE = (
    "add", "add_any", "sub", "mul", "div", "neg", "abs", "max", "min", "sign", "square", "integer_pow", "pow", "sqrt",
    "rsqrt", "exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "erf", "erfc", "erf_inv", "sin", "cos",
)  # fmt: skip
SUMS = (
    "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "cumsum", "argmin", "argmax",
)  # fmt: skip


@dataclass(frozen=True)
class Finished:
    """Outcome of a sweep.

    Attributes:
        rows: Finished cells.
        failed: Error of each cell that failed, by name.
        done_before: Number of cells finished in earlier runs.
    """

    rows: list[CellResult]
    failed: dict[str, str]
    done_before: int


Attempt = tuple[Batch, int]
"""A batch and the number of previous attempts at its cells."""


def run_sweep(
    cells: Sequence[TrainConfig],
    folder: str | Path,
    *,
    dask: str | None = None,
    retries: int = 2,
    module: str | None = None,
    on_progress: OnProgress = ignore,
) -> Finished:
    """Train and measure the cells that are not in `folder` yet, in this process or on a Dask cluster.

    If a batch of cells fails, its cells are retried one by one. A cell that keeps failing is reported and the others
    continue. The table of results is written at the end, even after an error.

    Args:
        cells: Settings with one seed each, as returned by `completed`.
        folder: Folder for the results.
        dask: Address of the cluster's scheduler.
        retries: Number of times to retry a failed cell.
        module: Module of your own that defines models; workers of a cluster import it too.
        on_progress: Called several times a second.

    >>> import tempfile
    >>> from dataclasses import replace
    >>> from regrax.experiments.sweep import completed
    >>> small = completed(TrainConfig("linear", 2, 5, steps=10, batch=64, sequences=200))
    >>> cells = [replace(small, first_seed=seed) for seed in (0, 1)]
    >>> folder = tempfile.mkdtemp()
    >>> run_sweep(cells, folder).done_before, run_sweep(cells, folder).done_before
    (0, 2)
    """
    checks.at_least("retries", retries, 0)
    import_own(module)
    folder = Path(folder)
    cells = list(cells)
    failed: dict[str, str] = {}
    shares: dict[TrainConfig, float] = {}

    def begin(pool: Pool, attempt: Attempt) -> Future:
        batch, _ = attempt

        def tell(share: float) -> None:
            shares.update(dict.fromkeys(batch, 0.99 * share))

        return pool.submit(partial(work, module=module), batch, tell)

    def end(attempt: Attempt, future: Future) -> Iterable[Attempt]:
        """Save the cells of a batch, or return the cells to retry."""
        batch, tries = attempt
        try:
            trained = future.result()
        except CancelledError:
            raise ConnectionError(
                "lost the Dask scheduler; finished cells are saved, run the same command again to finish the rest"
            ) from None
        except Exception as error:
            if len(batch) > 1 or tries < retries:
                return [((cell,), tries + 1) for cell in batch]
            reason = " ".join(str(error).split()) or "no reason given"
            for cell in batch:
                failed[name_of(cell)] = f"{type(error).__name__}: {reason}"[:500]
            return []
        for cell, model in zip(batch, trained, strict=True):
            save_trained(cell_path(folder, cell), cell, model)
            shares[cell] = 1.0
        return []

    def show(status: str) -> None:
        finished = sum(share == 1 for share in shares.values())
        parts = [f"{finished} of {len(shares)} cells"]
        if failed:
            parts.append(f"{len(failed)} failed")
        if status:
            parts.append(status)
        share = sum(shares.values()) / len(shares)
        on_progress(Progress("sweep", share, 1.0, ", ".join(parts)))

    with Store(folder).locked():
        (folder / "cells").mkdir(exist_ok=True)
        done = {row.config for row in write_results(folder, cells, {})}
        shares |= {cell: float(cell in done) for cell in cells}
        missing = [cell for cell in cells if cell not in done]
        try:
            if missing:
                pool = Threads() if dask is None else Dask(dask)
                run_all(pool, [(batch, 0) for batch in batches(missing)], begin, end, show)
        finally:
            rows = write_results(folder, cells, failed)
    return Finished(rows, failed, len(done))


def work(cells: Batch, tell: Tell = lambda _: None, module: str | None = None) -> list[Trained]:
    """Train and measure cells that differ only in seed and learning rate.

    Args:
        cells: Settings with one seed each.
        tell: Called with the completed fraction of training.
        module: Module to import first.

    >>> from regrax.experiments.sweep import completed
    >>> small = completed(TrainConfig("linear", 2, 5, steps=10, batch=64, sequences=200))
    >>> first, second = work((small, replace(small, first_seed=1)))
    >>> first.measured.optimal_loss == second.measured.optimal_loss
    True
    """
    import_own(module)
    began = time.perf_counter()
    shared = cells[0]
    seeds = np.array([cell.first_seed for cell in cells], np.uint32)
    models = build_models(shared, seeds)
    keys = draw_keys(seeds)
    optimizer = adam(1.0, shared.steps or 0)
    state = start(models, optimizer, keys)
    rates = jnp.array([cell.rate for cell in cells], float)
    state = replace(state, optimizer=optax.tree.set(state.optimizer, learning_rate=rates))
    fitted = fit(
        models,
        build_objective(shared),
        key=keys,
        steps=shared.steps,
        batch=shared.batch,
        optimizer=optimizer,
        callback=lambda report: tell(report.step / report.steps),
        state=state,
    )
    trained = unstack(fitted.model)  # pyright: ignore[reportArgumentType]
    measured = [measure(model, shared) for model in trained]
    seconds = (time.perf_counter() - began) / len(cells)
    count = _training_operations(replace(shared, rate=None, first_seed=0))
    return [Trained(*pair, seconds, count) for pair in zip(trained, measured, strict=True)]


@cache
def _training_operations(cell: TrainConfig) -> int | None:
    """Count the operations in all losses and gradients of a training run, without loss sampling and the optimizer."""
    objective = build_objective(cell)
    model = model_shapes(cell)
    chunk = objective.recipe(model).chunk
    data = jax.eval_shape(lambda: objective.draw(chunk, key=jax.random.key(0)))
    once = operations(jax.value_and_grad(objective.loss), model, data)
    if once is None:
        return None
    return once * (cell.steps or 0) * (cell.batch or 0) // chunk


def operations(function: Callable[..., Any], *arguments: Any) -> int | None:
    """Count the arithmetic operations in one call from its jaxpr; None if a loop's length is not known in advance.

    A product of matrices $(m, k)$ and $(k, n)$ counts as $2mkn$, an element-wise operation as the size of its output, a
    sum as the size of its input, and a loop as its body times its length. XLA's own `cost_analysis` counts a loop body
    only once, and so finds a third of the operations of a linear layer and a twelfth of those of closed-loop swap
    training.

    Args:
        function: Function that jax can trace.
        arguments: Arguments of the function, or their shapes.

    >>> import jax.numpy as jnp
    >>> operations(lambda a, b: a @ b + 1.0, jnp.zeros((2, 3)), jnp.zeros((3, 5)))
    70
    """
    count = _count(jax.make_jaxpr(function)(*arguments).jaxpr)
    return int(count) if isfinite(count) else None


def _count(program: Any) -> float:
    total: float = 0
    for equation in program.eqns:
        name = equation.primitive.name
        size = sum(prod(output.aval.shape) for output in equation.outvars)
        parts = [getattr(leaf, "jaxpr", leaf) for leaf in jax.tree.leaves(equation.params)]
        inner = [_count(part) for part in parts if hasattr(part, "eqns")]
        if name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            total += 2 * size * prod(shape[axis] for axis in contracted)
        elif name in ELEMENTWISE:
            total += size
        elif name in SUMS:
            total += sum(prod(argument.aval.shape) for argument in equation.invars)
        elif name == "while":
            total += inf
        elif name == "cond":
            total += max(inner)
        else:
            total += equation.params.get("length", 1) * sum(inner)
    return total
