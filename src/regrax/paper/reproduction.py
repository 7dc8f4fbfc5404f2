"""The complete reproduction: train and compute what is missing, and store every result."""

import platform
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from regrax.experiments import OnProgress, Progress, Store, Threads, ignore
from regrax.experiments.pool import Tell
from regrax.experiments.runs import Measured, Trained, train
from regrax.paper.config import ReproduceConfig
from regrax.paper.experiments import (
    EXPERIMENTS,
    MATCHING,
    Depth,
    Equilibrium,
    Generalization,
    Steps,
    Systems,
    measure_seeds,
)

PACKAGES = ("regrax", "jax", "jaxlib", "equinox", "numpy", "scipy")


@dataclass(frozen=True)
class Reproduction:
    """All numbers of the requested experiments; fields of other experiments are empty.

    Attributes:
        config: settings.
        versions: versions of the packages.
        measured: measurements of the trained models by name, one per seed.
        step_size: stationary steps by actions and horizon.
        depth: deep transformers compared with the optimum.
        equilibrium: gaps of play.
        table_one: the paper's Table 1.
        generalization: regret on other losses and horizons.
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
    """Run the experiments in `config`.

    Every trained model and every part of an experiment is stored under `out/pieces` as soon as it is finished. A
    repeated call computes only parts that are missing or have new settings.

    Args:
        config: experiments to run.
        out: folder for the results.
        on_progress: called with the progress of each training and experiment.
    """
    out = Path(out)
    wanted = {
        name: experiment
        for name, experiment in EXPERIMENTS.items()
        if config.has(*experiment.names)
    }
    used: set[str] = set(MATCHING) if config.has("matching") else set()
    used.update(*(experiment.models for experiment in wanted.values()))
    configs = {name: training for name, training in config.trainings().items() if name in used}
    store = Store(out / "pieces")

    def show(task: str) -> Tell:
        return lambda share: on_progress(Progress(task, share, 1.0))

    def train_model(name: str, tell: Tell) -> list[Trained]:
        folder = store.path(f"model-{name}", configs[name])
        return train(configs[name], folder, on_progress=lambda at: tell(at.done / at.total))

    def models_of(name: str) -> list[Any]:
        return [seed.model for seed in trained[name].result()]

    def compute(name: str, tell: Tell) -> list[Any]:
        experiment = wanted[name]
        models = {needed: models_of(needed) for needed in experiment.models if needed in trained}
        settings = {
            "actions": config.actions,
            "horizon": config.horizon,
            "sizes": config.sizes(),
            "models": {needed: configs[needed] for needed in models},
        }
        parts = experiment.parts(config)
        results = []
        for index, part in enumerate(parts):
            tell(index / len(parts))
            run = partial(experiment.run, models, config, part)
            key = settings | {"part": part}
            results.append(store.result(name, key, experiment.result, run).result)
        tell(1.0)
        return results

    def measure(name: str, tell: Tell) -> list[Measured]:
        run = partial(measure_seeds, models_of(name), configs[name])
        return store.result(f"measured-{name}", configs[name], list[Measured], run).result

    # threads take tasks in order and models come first, so a task only ever waits for a model already in training
    with Store(out).locked(), closing(Threads()) as pool:
        trained = {
            name: pool.submit(train_model, name, show(f"train {name}"))
            for name in reversed(configs)
        }
        results = {
            name: pool.submit(compute, name, show(name.replace("_", "-"))) for name in wanted
        }
        measured = {name: pool.submit(measure, name, show(name)) for name in configs}
        for task in as_completed([*trained.values(), *results.values(), *measured.values()]):
            task.result()
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    computed = {name: results[name].result() if name in results else [] for name in EXPERIMENTS}
    numbers = {name: task.result() for name, task in measured.items()}
    return Reproduction(config, versions, numbers, **computed)
