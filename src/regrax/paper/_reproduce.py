"""The whole reproduction: train what is missing, compute what is missing, and keep it."""

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from regrax.experiments.pool import Pool, Tell, Threads, run_all
from regrax.experiments.progress import OnProgress, Progress, ignore
from regrax.experiments.runs import Measured, Trained, train
from regrax.experiments.store import Store
from regrax.paper import _depth, _equilibrium, _generalization, _step_size, _table_one
from regrax.paper._config import ReproduceConfig
from regrax.paper._depth import Depth
from regrax.paper._equilibrium import Equilibrium
from regrax.paper._generalization import Generalization
from regrax.paper._step_size import Steps
from regrax.paper._table_one import Systems

PACKAGES = ("regrax", "jax", "jaxlib", "equinox", "numpy", "scipy")


class Experiment(NamedTuple):
    """A figure or table: its names in the command, and what its parts give.

    Its module says which `MODELS` it needs, its `parts` are settings, and `run` computes one of them.
    """

    names: tuple[str, ...]
    module: ModuleType
    kind: Any


EXPERIMENTS = {
    "step_size": Experiment(("step-size",), _step_size, Steps),
    "depth": Experiment(("depth",), _depth, Depth),
    "equilibrium": Experiment(("cce", "ce"), _equilibrium, Equilibrium),
    "table_one": Experiment(("table-one",), _table_one, Systems),
    "generalization": Experiment(("generalization",), _generalization, Generalization),
}
MATCHING = ("linear", "linear-hindsight", "full")
"""The models of the experiment that only trains and measures."""


@dataclass(frozen=True)
class Reproduction:
    """Every number of the experiments that were asked for; what was not is empty.

    Attributes:
        config: what was asked for.
        versions: of the packages.
        measured: of the trained models, by name, one per seed.
        step_size: by actions and horizons.
        depth: deep transformers beside the optimum.
        equilibrium: gaps of play.
        table_one: the paper's Table 1.
        generalization: to other losses and horizons.
    """

    config: ReproduceConfig
    versions: dict[str, str]
    measured: dict[str, list[Measured]]
    step_size: list[Steps]
    depth: list[Depth]
    equilibrium: list[Equilibrium]
    table_one: list[Systems]
    generalization: list[Generalization]


def reproduce(
    config: ReproduceConfig, out: str | Path, *, on_progress: OnProgress = ignore
) -> Reproduction:
    """Run the experiments that `config` asks for.

    Every trained model and every part of an experiment is kept under `out/pieces` as soon as it is finished; a repeated
    call does what is missing or whose settings changed.
    """
    out = Path(out)
    with Store(out).held():
        run = _Run(config, Store(out / "pieces"), on_progress)
        run_all(Threads(), run.first(), run.begin, run.end)
    measured = {name: [one.measured for one in run.trained[name]] for name in run.trainings}
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    return Reproduction(config, versions, measured, **run.found)


class _Run:
    """A reproduction on its way. Compiling uses one core, so two things are done at a time."""

    def __init__(self, config: ReproduceConfig, store: Store, on_progress: OnProgress) -> None:
        self.config, self.store, self.on_progress = config, store, on_progress
        self.waiting = {n: one for n, one in EXPERIMENTS.items() if config.has(*one.names)}
        used = set(MATCHING if config.has("matching") else ())
        used.update(*(one.module.MODELS for one in self.waiting.values()))
        self.trainings = {name: one for name, one in config.trainings().items() if name in used}
        self.trained: dict[str, list[Trained]] = {}
        self.found: dict[str, list[Any]] = {name: [] for name in EXPERIMENTS}

    def first(self) -> list[str]:
        """The trainings, the longest first, and the experiments that wait for none."""
        return [*reversed(self.trainings), *self._ready()]

    def begin(self, pool: Pool, task: str) -> Any:
        """Submit a training or an experiment."""
        training = task in self.trainings
        name = f"train {task}" if training else task.replace("_", "-")
        function = self._train if training else self._compute
        return pool.submit(function, task, lambda at: self.on_progress(Progress(name, at, 1.0)))

    def end(self, task: str, future: Any) -> Iterable[str]:
        """Take what a task gave; the experiments that it was the last to be waited for come next."""
        (self.trained if task in self.trainings else self.found)[task] = future.result()
        return self._ready()

    def _ready(self) -> list[str]:
        missing = self.trainings.keys() - self.trained.keys()
        ready = [name for name, one in self.waiting.items() if not missing & set(one.module.MODELS)]
        for name in ready:
            del self.waiting[name]
        return ready

    def _train(self, name: str, tell: Tell) -> list[Trained]:
        config = self.trainings[name]
        folder = self.store.path(f"model-{name}", config)
        return train(config, folder, on_progress=lambda at: tell(at.done / at.total))

    def _compute(self, name: str, tell: Tell) -> list[Any]:
        _, module, kind = EXPERIMENTS[name]
        parts = module.parts(
            self.config, {m: one for m, one in self.trainings.items() if m in module.MODELS}
        )
        found = []
        for index, part in enumerate(parts):
            tell(index / len(parts))
            compute = partial(module.run, part, self.trained)
            found.append(self.store.result(name, part, kind, compute).result)
        tell(1.0)
        return found
