"""The whole reproduction: train what is missing, compute what is missing, and keep it."""

import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from regrax.experiments._pool import Pool, Tell, Threads, run_all
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments._store import Store
from regrax.experiments.paper import (
    _depth,
    _equilibrium,
    _generalization,
    _step_size,
    _table_one,
)
from regrax.experiments.paper._config import ReproduceConfig
from regrax.experiments.paper._depth import Depth
from regrax.experiments.paper._equilibrium import Equilibrium
from regrax.experiments.paper._generalization import Generalization
from regrax.experiments.paper._step_size import Steps
from regrax.experiments.paper._table_one import Systems
from regrax.experiments.runs import Measured, TrainConfig, Trained, train

PACKAGES = ("regrax", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy")


class Experiment(NamedTuple):
    """A figure or table: its names in the command, the models it needs, its parts, and how each is computed."""

    names: tuple[str, ...]
    models: tuple[str, ...]
    parts: Callable[[ReproduceConfig, dict[str, TrainConfig]], list[Any]]
    run: Callable[[Any, dict[str, list[Trained]]], Any] | None = None
    kind: Any = None


EXPERIMENTS = {
    "step_size": Experiment(
        ("step-size",), (), lambda config, _: _step_size.cells(config), _step_size.run, Steps
    ),
    "matching": Experiment(("matching",), ("linear", "linear-hindsight", "full"), lambda *_: []),
    "depth": Experiment(("depth",), _depth.MODELS, _depth.config_of, _depth.run, Depth),
    "equilibrium": Experiment(
        ("cce", "ce"),
        _equilibrium.MODELS,
        _equilibrium.config_of,
        _equilibrium.run,
        Equilibrium,
    ),
    "table_one": Experiment(
        ("table-one",), _table_one.MODELS, _table_one.config_of, _table_one.run, Systems
    ),
    "generalization": Experiment(
        ("generalization",),
        _generalization.MODELS,
        _generalization.config_of,
        _generalization.run,
        Generalization,
    ),
}


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
    found = {name: run.found.get(name, []) for name in EXPERIMENTS if name != "matching"}
    return Reproduction(config, versions, measured, **found)


class _Run:
    """A reproduction on its way. Compiling uses one core, so two things are done at a time."""

    def __init__(self, config: ReproduceConfig, store: Store, on_progress: OnProgress) -> None:
        self.config, self.store, self.on_progress = config, store, on_progress
        self.waiting = {n: one for n, one in EXPERIMENTS.items() if config.has(*one.names)}
        used = {model for one in self.waiting.values() for model in one.models}
        every = config.trainings()
        self.trainings = {name: every[name] for name in every if name in used}
        self.trained: dict[str, list[Trained]] = {}
        self.found: dict[str, list[Any]] = {}

    def first(self) -> list[str]:
        """The trainings, and the experiments that wait for none."""
        return [*self.trainings, *self._ready()]

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
        ready = [name for name, one in self.waiting.items() if not missing & set(one.models)]
        for name in ready:
            del self.waiting[name]
        return ready

    def _train(self, name: str, tell: Tell) -> list[Trained]:
        config = self.trainings[name]
        folder = self.store.path(f"model-{name}", config)
        return train(config, folder, on_progress=lambda at: tell(at.done / at.total))

    def _compute(self, name: str, tell: Tell) -> list[Any]:
        experiment, kept = EXPERIMENTS[name], []
        used = {m: one for m, one in self.trainings.items() if m in experiment.models}
        parts = experiment.parts(self.config, used)
        for index, part in enumerate(parts):
            tell(index / len(parts))
            kept.append(self._kept(name, experiment, part))
        tell(1.0)
        return kept

    def _kept(self, name: str, experiment: Experiment, part: Any) -> Any:
        run = experiment.run
        assert run is not None
        return self.store.result(
            name, part, experiment.kind, lambda: run(part, self.trained)
        ).result
