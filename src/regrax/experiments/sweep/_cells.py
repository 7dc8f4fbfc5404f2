"""Cells of a sweep: trainings of one seed with every setting written out; cells of one program train together."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil

import jax

from regrax import _checks as checks
from regrax.experiments._store import digest
from regrax.experiments.runs import DEEP, TrainConfig

CELLS_PER_BATCH = 8  # cells in one vmap: more would not be faster on a processor, and a batch is what a failure loses
COMPILATION_COST = 1.5e10  # of a batch, in the unit of its cells' weight; about ten seconds

Batch = tuple[TrainConfig, ...]


def name_of(cell: TrainConfig) -> str:
    """Where a cell is kept: readable, and another for other settings.

    >>> name_of(completed(TrainConfig("linear", actions=3, horizon=20, first_seed=1)))[:17]
    'linear-d3-T20-s1-'
    """
    return f"{cell.model}-d{cell.actions}-T{cell.horizon}-s{cell.first_seed}-{digest(cell)}"


def completed(config: TrainConfig) -> TrainConfig:
    """The training with nothing left to the recipe, and unused settings as they are by default.

    >>> completed(TrainConfig("linear", 3, 20, width=64)) == completed(TrainConfig("linear", 3, 20, steps=300))
    True
    """
    checks.instance("config", config, TrainConfig, "a TrainConfig")
    checks.at_least("horizon", config.horizon, 2)
    usual = config.build_objective().recipe(config.shapes())
    batch = config.batch or usual.batch
    if batch % min(batch, usual.chunk):
        raise ValueError(f"batch must be a multiple of {usual.chunk}, or less, got {batch}")
    unused = () if config.model == "transformer" else DEEP
    return replace(
        config,
        objective=config.objective_name,
        steps=config.steps or usual.steps,
        batch=batch,
        rate=float(config.rate or usual.rate),
        **{name: getattr(TrainConfig, name) for name in unused},
    )


def batches(cells: Iterable[TrainConfig]) -> list[Batch]:
    """Cells of one program together, at most `CELLS_PER_BATCH` and about as many in each; the longest batch first.

    >>> config = completed(TrainConfig("linear", actions=3, horizon=20))
    >>> [len(batch) for batch in batches(replace(config, first_seed=seed) for seed in range(10))]
    [5, 5]
    """
    groups: dict[TrainConfig, list[TrainConfig]] = {}
    for cell in cells:  # all but the seed and the learning rate must be shared in one `vmap`
        groups.setdefault(replace(cell, first_seed=0, rate=None), []).append(cell)
    found = [part for group in groups.values() for part in _parts(group)]
    return sorted(found, key=weight, reverse=True)


def weight(batch: Batch) -> float:
    """About how long a batch takes, compiling it included: the numbers that training touches, alike in every cell."""
    cell = batch[0]
    drawn = (cell.steps or 0) * (cell.batch or 0) + (cell.sequences or 0)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(cell.shapes()))
    touched = drawn * cell.horizon * (parameters + 20 * cell.actions)
    return COMPILATION_COST + len(batch) * touched


def _parts(group: Sequence[TrainConfig]) -> list[Batch]:
    size = ceil(len(group) / ceil(len(group) / CELLS_PER_BATCH))
    return [tuple(group[at : at + size]) for at in range(0, len(group), size)]
