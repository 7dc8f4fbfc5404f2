"""A cell of a sweep: one training with one seed, and how it is measured; cells of one program train together."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import ceil
from typing import Any

import equinox as eqx
import jax

from regrax import _checks as checks
from regrax.attention import Transformer
from regrax.experiments.runs import Training
from regrax.training import recipe

SEQUENCES = 20_000
TOGETHER = 8  # cells in one vmap: more would not be faster on a processor, and a batch is what a failure loses
COMPILING = 1.5e10  # what a batch costs beside its cells, in the unit of their weight; about ten seconds on one core
DEEP = ("layers", "heads", "width")  # settings that only a transformer has


@dataclass(frozen=True)
class Cell:
    """One model to train, with every setting a value: what the recipe decides is written out.

    >>> cell = Cell(completed(Training("linear", actions=3, horizon=20)), seed=1)
    >>> cell.settings["steps"], cell.settings["objective"]
    (1000, 'regret')
    >>> cell.name[:16]
    'linear-d3-T20-s1'
    """

    training: Training  # of one seed, the first: the cell's own is beside it
    seed: int
    sequences: int = SEQUENCES  # fresh ones that the trained model is measured on

    def __post_init__(self) -> None:
        checks.at_least("seeds", self.seed, 0)
        checks.at_least("sequences", self.sequences, 2)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that decides the cell's numbers, as plain values."""
        found = asdict(self.training)
        del found["seeds"], found["first_seed"]
        return {**found, "seed": self.seed, "sequences": self.sequences}

    @property
    def name(self) -> str:
        """Where it is kept: readable, and another for other settings."""
        at = self.training
        written = json.dumps(self.settings, sort_keys=True).encode()
        digest = hashlib.sha256(written).hexdigest()[:12]
        return f"{at.model}-d{at.actions}-T{at.horizon}-s{self.seed}-{digest}"

    @property
    def seeded(self) -> Training:
        """The training with the cell's seed."""
        return replace(self.training, first_seed=self.seed)

    @property
    def program(self) -> tuple[Any, ...]:
        """What cells must share to be trained in one `vmap`: all but the seed and the learning rate."""
        own = {"seed", "rate"}
        return tuple(value for name, value in self.settings.items() if name not in own)

    @property
    def weight(self) -> float:
        """About how long it takes: the numbers that training touches."""
        at = self.training
        sequences = (at.steps or 0) * (at.batch or 0) + self.sequences
        return sequences * at.horizon * (_parameters(at) + 20 * at.actions)


def completed(training: Training) -> Training:
    """The training with nothing left to the recipe, and unused settings as they are by default.

    >>> completed(Training("linear", 3, 20, width=64)) == completed(Training("linear", 3, 20, steps=1000))
    True
    """
    for name in ("actions", "horizon"):
        checks.at_least(name, getattr(training, name), 2)
    model = eqx.filter_eval_shape(training.fresh)
    usual = recipe(model)
    batch = training.batch
    batch = usual.batch * training.made_objective().effort if batch is None else batch
    checks.at_least("batch", batch, 1)
    if batch % min(batch, usual.chunk):
        raise ValueError(f"batch must be a multiple of {usual.chunk}, or less, but is {batch}")
    unused = () if isinstance(model, Transformer) else DEEP
    return replace(
        training,
        objective=training.aim,
        steps=training.steps or usual.steps,
        batch=batch,
        rate=float(training.rate or usual.rate),
        **{name: getattr(Training, name) for name in unused},
    )


def batches(cells: Iterable[Cell]) -> list[tuple[Cell, ...]]:
    """Cells of one program together, at most `TOGETHER` and about as many in each; the longest batch first.

    >>> training = completed(Training("linear", actions=3, horizon=20))
    >>> [len(batch) for batch in batches(Cell(training, seed) for seed in range(10))]
    [5, 5]
    """
    groups: dict[tuple, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.program, []).append(cell)
    found = [part for group in groups.values() for part in _parts(group)]
    return sorted(found, key=weight, reverse=True)


def weight(batch: Sequence[Cell]) -> float:
    """About how long a batch takes, compiling it included."""
    return COMPILING + sum(cell.weight for cell in batch)


def _parts(group: Sequence[Cell]) -> list[tuple[Cell, ...]]:
    size = ceil(len(group) / ceil(len(group) / TOGETHER))
    return [tuple(group[at : at + size]) for at in range(0, len(group), size)]


@cache
def _parameters(training: Training) -> int:
    """How many numbers one model has."""
    leaves = jax.tree.leaves(eqx.filter_eval_shape(training.fresh))
    return sum(leaf.size for leaf in leaves) // training.seeds
