"""The complete reproduction: train and compute what is missing, and store every result."""

import platform
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Any

from regrax.experiments import OnProgress, Progress, Store, ignore
from regrax.experiments.runs import Measured, Trained, train
from regrax.paper.config import ReproduceConfig
from regrax.paper.experiments import (
    EXPERIMENTS,
    MATCHING,
    Depth,
    Equilibrium,
    Generalization,
    Seeds,
    Steps,
    Systems,
    measure_seeds,
)

PACKAGES = ("regrax", "jax", "jaxlib", "equinox", "numpy", "scipy")
WORKERS = 2  # one computes while the other compiles on a single core


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
    used: set[str] = set()
    if config.has("matching"):
        used.update(MATCHING)
    for experiment in wanted.values():
        used.update(experiment.models)
    configs = {name: training for name, training in config.trainings().items() if name in used}
    store = Store(out / "pieces")
    stopped = Event()

    def report(task: str, share: float) -> None:
        if stopped.is_set():
            raise InterruptedError
        on_progress(Progress(task, share, 1.0))

    def train_model(name: str) -> list[Trained]:
        def step(at: Progress) -> None:
            report(f"train {name}", at.done / at.total)

        return train(configs[name], store.path(f"model-{name}", configs[name]), on_progress=step)

    def compute(name: str, trained: dict[str, Future]) -> list[Any]:
        experiment = wanted[name]
        models = {}
        for needed in experiment.models:
            if needed in trained:
                models[needed] = [seed.model for seed in trained[needed].result()]
        settings = {
            "actions": config.actions,
            "horizon": config.horizon,
            "sizes": config.sizes(),
            "models": {needed: configs[needed] for needed in models},
        }
        parts = experiment.parts(config)
        results = []
        for index, part in enumerate(parts):
            report(name.replace("_", "-"), index / len(parts))
            run = partial(experiment.run, models, config, part)
            key = settings | {"part": part}
            results.append(store.result(name, key, experiment.result, run).result)
        report(name.replace("_", "-"), 1.0)
        return results

    def measure(name: str, trained: dict[str, Future]) -> list[Measured]:
        models = [seed.model for seed in trained[name].result()]
        run = partial(measure_seeds, models, configs[name])
        return store.result(f"measured-{name}", configs[name], Seeds, run).result.measured

    # threads take tasks in order and models come first, so a task only ever waits for a model already in training
    with Store(out).locked(), ThreadPoolExecutor(WORKERS) as pool:
        trained = {name: pool.submit(train_model, name) for name in reversed(configs)}
        results = {name: pool.submit(compute, name, trained) for name in wanted}
        measured = {name: pool.submit(measure, name, trained) for name in configs}
        tasks = [*trained.values(), *results.values(), *measured.values()]
        try:
            done, _ = wait(tasks, return_when=FIRST_EXCEPTION)
            for task in done:
                task.result()
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    computed = {name: results[name].result() if name in results else [] for name in EXPERIMENTS}
    numbers = {name: task.result() for name, task in measured.items()}
    return Reproduction(config, versions, numbers, **computed)
