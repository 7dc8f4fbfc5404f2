"""The whole reproduction: train what is missing, run what is missing, compare, and write numbers and report."""

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from regrax.files import write_whole
from regrax.paper import beyond, depth, equilibrium, matching, step_size, table_one
from regrax.paper.models import FULL, QUICK, models_of
from regrax.paper.rows import Row
from regrax.paper.store import Store
from regrax.report import Section, Table, render
from regrax.runs import Training

PACKAGES = ("regrax", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy")


class Experiment(NamedTuple):
    """A figure or table: which models it needs, how its numbers are made, compared and shown."""

    models: Sequence[str]
    settings: Callable[[bool], dict[str, Any]]
    run: Callable[[dict[str, Any], dict[str, Any]], Any]
    rows: Callable[[Any], list[Row]]
    section: Callable[[Any], Section]
    source: str  # experiments with one source share its numbers


def _module(module: Any) -> Experiment:
    return Experiment(
        module.MODELS, module.settings, module.run, module.rows, module.section, module.NAME
    )


_GAPS = (equilibrium.MODELS, equilibrium.settings, equilibrium.run)
EXPERIMENTS = {
    "step-size": Experiment(
        (), step_size.settings, lambda *_: None, step_size.rows, step_size.section, "step-size"
    ),
    "matching": _module(matching),
    "depth": _module(depth),
    "cce": Experiment(*_GAPS, equilibrium.cce_rows, equilibrium.cce_section, "equilibrium"),
    "ce": Experiment(*_GAPS, equilibrium.ce_rows, equilibrium.ce_section, "equilibrium"),
    "table-one": _module(table_one),
    "beyond": _module(beyond),
}


class Task(NamedTuple):
    """What is being done, and how much of it is done; what a progress bar shows."""

    name: str
    done: int
    total: int


def reproduce(
    out: Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    heard: Callable[[Task], None] = lambda _: None,
) -> list[Row]:
    """Run the experiments (all, or `only` these), write `results.json` and `report.html` into `out`, give the rows.

    Every trained model and every experiment is kept under `out/pieces` as soon as it is finished; a repeated call
    does what is missing or whose settings changed.
    """
    names = _chosen(only)
    store = Store(out / "pieces")
    models = _train({m for name in names for m in EXPERIMENTS[name].models}, quick, store, heard)
    pieces = {name: _piece(name, quick, models, store, heard) for name in names}
    rows = {name: EXPERIMENTS[name].rows(piece["numbers"]) for name, piece in pieces.items()}
    sections = [EXPERIMENTS[name].section(piece["numbers"]) for name, piece in pieces.items()]
    results = {
        "quick": quick,
        "versions": {
            **{name: version(name) for name in PACKAGES},
            "python": platform.python_version(),
        },
        "models": {name: asdict(t) for name, t in _trainings(quick).items() if name in models},
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


def _train(
    names: set[str], quick: bool, store: Store, heard: Callable[[Task], None]
) -> dict[str, Any]:
    models = {}
    for name, training in _trainings(quick).items():
        if name in names:
            task = f"train {name}"
            heard(Task(task, 0, 1))
            models[name] = models_of(
                name, training, store, lambda at, task=task: heard(Task(task, at.step, at.steps))
            )
            heard(Task(task, 1, 1))
    return models


def _trainings(quick: bool) -> Mapping[str, Training]:
    return QUICK if quick else FULL


def _piece(
    name: str, quick: bool, models: dict[str, Any], store: Store, heard: Callable[[Task], None]
) -> dict[str, Any]:
    experiment = EXPERIMENTS[name]
    settings = experiment.settings(quick)
    if name == "step-size":
        return _step_size(settings, store, heard)
    heard(Task(name, 0, 1))
    used = {name: asdict(t) for name, t in _trainings(quick).items() if name in experiment.models}
    mine = {m: models[m] for m in experiment.models if m in models}
    piece = store.piece(
        experiment.source, {**settings, "models": used}, lambda: experiment.run(settings, mine)
    )
    heard(Task(name, 1, 1))
    return piece


def _step_size(
    settings: dict[str, Any], store: Store, heard: Callable[[Task], None]
) -> dict[str, Any]:
    """The Monte Carlo grid cell by cell."""
    cells = step_size.cell_settings(settings)
    done = []
    for index, cell in enumerate(cells):
        heard(Task("step-size", index, len(cells)))
        done.append(store.piece("step-size", cell, lambda cell=cell: step_size.run_cell(cell)))
    heard(Task("step-size", len(cells), len(cells)))
    numbers = step_size.summarise([piece["numbers"] for piece in done])
    seconds = sum(piece["seconds"] for piece in done)
    return {"settings": settings, "numbers": numbers, "seconds": seconds}


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
