"""The whole reproduction: train what is missing, run what is missing, compare, and write numbers and report."""

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from regrax._atomic_write import write_whole
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments._store import Store
from regrax.experiments.paper import (
    _depth,
    _equilibrium,
    _generalization,
    _matching,
    _step_size,
    _table_one,
)
from regrax.experiments.paper._models import FULL, QUICK, models_of
from regrax.experiments.paper._rows import Row
from regrax.experiments.runs import TrainConfig
from regrax.show.report import Section, Table, render

AT_ONCE = 2
PACKAGES = ("regrax", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy")


def _whole(settings: dict[str, Any]) -> list[dict[str, Any]]:
    return [settings]


def _only(parts: list[Any]) -> Any:
    return parts[0]


class Experiment(NamedTuple):
    """A figure or table: which models it needs, how its numbers are made, compared and shown."""

    models: Sequence[str]
    settings: Callable[[bool], dict[str, Any]]
    run: Callable[[dict[str, Any], dict[str, Any]], Any]
    rows: Callable[[Any], list[Row]]
    section: Callable[[Any], Section]
    source: str  # experiments with one source share its numbers
    parts: Callable[[dict[str, Any]], list[dict[str, Any]]] = _whole  # each is run, and kept, apart
    gather: Callable[[list[Any]], Any] = _only  # of the parts' numbers


def _module(module: Any) -> Experiment:
    return Experiment(
        module.MODELS, module.settings, module.run, module.rows, module.section, module.NAME
    )


_GAPS = (_equilibrium.MODELS, _equilibrium.settings, _equilibrium.run)
EXPERIMENTS = {
    "step-size": _module(_step_size)._replace(parts=_step_size.cells, gather=_step_size.summarise),
    "matching": _module(_matching),
    "depth": _module(_depth),
    "cce": Experiment(*_GAPS, _equilibrium.cce_rows, _equilibrium.cce_section, "equilibrium"),
    "ce": Experiment(*_GAPS, _equilibrium.ce_rows, _equilibrium.ce_section, "equilibrium"),
    "table-one": _module(_table_one),
    "beyond": _module(_generalization),
}


def reproduce(
    out: Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    on_progress: OnProgress = ignore,
) -> list[Row]:
    """Run the experiments (all, or `only` these), write `results.json` and `report.html` into `out`, give the rows.

    Every trained model and every experiment is kept under `out/pieces` as soon as it is finished; a repeated call
    does what is missing or whose settings changed.
    """
    names = _chosen(only)
    pieces = _pieces(names, quick, Store(out / "pieces"), on_progress)
    rows = {name: EXPERIMENTS[name].rows(piece["numbers"]) for name, piece in pieces.items()}
    sections = [EXPERIMENTS[name].section(piece["numbers"]) for name, piece in pieces.items()]
    results = {
        "quick": quick,
        "versions": {
            **{name: version(name) for name in PACKAGES},
            "python": platform.python_version(),
        },
        "models": {name: asdict(_trainings(quick)[name]) for name in _needed(names, quick)},
        "experiments": pieces,
        "rows": [dict(row._asdict()) for lines in rows.values() for row in lines],
    }
    write_whole(out / "results.json", json.dumps(results, indent=1, allow_nan=False).encode())
    everything = [row for lines in rows.values() for row in lines]
    write_whole(out / "report.html", report(everything, sections, results).encode())
    return everything


def _chosen(only: Sequence[str]) -> list[str]:
    for name in only:
        if name not in EXPERIMENTS:
            raise ValueError(f"no experiment is named {name!r}; there are {', '.join(EXPERIMENTS)}")
    return [name for name in EXPERIMENTS if not only or name in only]


def _needed(names: Sequence[str], quick: bool) -> list[str]:
    """The models that these experiments use."""
    used = {model for name in names for model in EXPERIMENTS[name].models}
    return [model for model in _trainings(quick) if model in used]


def _pieces(
    names: Sequence[str], quick: bool, store: Store, on_progress: OnProgress
) -> dict[str, dict[str, Any]]:
    """The numbers of every experiment. Compiling uses one core, so two things are done at a time.

    TrainConfigs are submitted before the experiments that wait for them, so no two threads wait for a third.
    """
    stop = Event()

    def tell(task: Progress) -> None:
        if stop.is_set():
            raise InterruptedError
        on_progress(task)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        models = {
            name: pool.submit(_train, name, _trainings(quick)[name], store, tell)
            for name in _needed(names, quick)
        }
        sources = {EXPERIMENTS[name].source: name for name in names}
        numbers = {
            source: pool.submit(_piece, name, quick, models, store, tell)
            for source, name in sources.items()
        }
        try:
            return {name: numbers[EXPERIMENTS[name].source].result() for name in names}
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _train(name: str, training: TrainConfig, store: Store, on_progress: OnProgress) -> Any:
    task = f"train {name}"
    on_progress(Progress(task, 0, 1))
    models = models_of(name, training, store, lambda at: on_progress(at._replace(task=task)))
    on_progress(Progress(task, 1, 1))
    return models


def _trainings(quick: bool) -> Mapping[str, TrainConfig]:
    return QUICK if quick else FULL


def _piece(
    name: str,
    quick: bool,
    models: "dict[str, Future[Any]]",
    store: Store,
    on_progress: OnProgress,
) -> dict[str, Any]:
    experiment = EXPERIMENTS[name]
    settings, task = experiment.settings(quick), experiment.source
    used = {m: asdict(t) for m, t in _trainings(quick).items() if m in experiment.models}
    mine = {m: models[m].result() for m in used}
    parts, done = experiment.parts(settings), []
    for index, part in enumerate(parts):
        on_progress(Progress(task, index, len(parts)))
        kept = store.result(
            task, {**part, "models": used}, dict, lambda part=part: experiment.run(part, mine)
        )
        done.append(kept)
    on_progress(Progress(task, len(parts), len(parts)))
    return {
        "settings": {**settings, "models": used},
        "numbers": experiment.gather([kept.result for kept in done]),
        "seconds": sum(kept.seconds for kept in done),
    }


def report(rows: Sequence[Row], sections: Sequence[Section], results: dict[str, Any]) -> str:
    """The page: the comparison first, then the story experiment by experiment."""
    lead = [
        "Single-layer linear attention, trained with nothing but the square of its regret, becomes smoothed fictitious "
        "play; trained with swap regret through a fixed point, it becomes Blum-Mansour. Played against itself it "
        "approaches coarse correlated and correlated equilibrium. This page repeats the experiments of Park and "
        "Ozdaglar and sets them beside exact theory.",
    ]
    if results["quick"]:
        lead.append(
            "This is the quick run: fewer samples and shorter training than the full one, the same story."
        )
    table = Table(("quantity", "paper", "here", "exact", "verdict"), rows)
    text = ["± is one standard deviation over three seeds, or over the nine pairs of them."]
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    numbers = Section("numbers", "Every number", text, tables=[table])
    return render(
        "Regret-trained attention, reproduced", lead, [numbers, *sections], f"Made with {versions}."
    )
