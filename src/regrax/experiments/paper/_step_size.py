"""Figure 1: the stationary step by Monte Carlo over (d, T), both architectures, with the exact curve through it."""

from typing import Any

import jax
import numpy as np

from regrax import theory
from regrax.certify import monte_carlo_steps
from regrax.experiments.paper._rows import Row, row
from regrax.show.report import Chart, Section, Series

NAME, TITLE = "step-size", "The stationary step size"
MODELS = ()


def settings(quick: bool) -> dict[str, Any]:
    """The grid, and how many runs of how many samples."""
    if quick:
        return {"actions": [2, 3], "horizons": [10, 20, 50], "runs": 12, "samples": 800, "seed": 0}
    return {
        "actions": [2, 3, 5, 10],
        "horizons": [10, 20, 50, 100, 200],
        "runs": 50,
        "samples": 800,
        "seed": 0,
    }


def cells(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The grid cell by cell, so that an interrupted run keeps what it has."""
    common = {name: settings[name] for name in ("runs", "samples", "seed")}
    return [
        {"architecture": a, "actions": d, "horizon": T, **common}
        for a in ("single", "swap")
        for d in settings["actions"]
        for T in settings["horizons"]
    ]


def run(cell: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """The estimates of one cell, and the exact step."""
    key = jax.random.fold_in(jax.random.key(cell["seed"]), 1000 * cell["actions"] + cell["horizon"])
    steps = monte_carlo_steps(
        cell["actions"],
        cell["horizon"],
        key=key,
        architecture=cell["architecture"],
        samples=cell["samples"],
        runs=cell["runs"],
    )
    exact = theory.step_size(cell["actions"], cell["horizon"])
    return {**cell, "steps": np.asarray(steps, float).tolist(), "exact": exact}


def summarise(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Means, deviations and the fitted exponents in T."""
    cells = [
        {**c, "mean": float(np.mean(c["steps"])), "sd": float(np.std(c["steps"], ddof=1))}
        for c in cells
    ]
    return {"cells": cells, "exponents": {a: _exponents(cells, a) for a in ("single", "swap")}}


def _exponents(cells: list[dict[str, Any]], architecture: str) -> dict[str, dict[str, float]]:
    found = {}
    for d in sorted({c["actions"] for c in cells}):
        mine = [c for c in cells if c["actions"] == d and c["architecture"] == architecture]
        log_t = np.log([c["horizon"] for c in mine])
        slopes = {
            w: float(np.polyfit(log_t, np.log([c[w] for c in mine]), 1)[0])
            for w in ("mean", "exact")
        }
        found[str(d)] = slopes
    return found


def rows(numbers: dict[str, Any]) -> list[Row]:
    """The exponents, and the step at (3, 20) by both architectures."""
    lines = []
    for architecture, label in (("single", "single head"), ("swap", "swap architecture")):
        here = [c for c in numbers["cells"] if c["architecture"] == architecture]
        at = next(c for c in here if (c["actions"], c["horizon"]) == (3, 20))
        why = f"Monte Carlo over {len(at['steps'])} runs of {at['samples']} samples; ± is the SD of one run"
        lines.append(row(f"k*(3, 20), {label}", None, at["steps"], exact=at["exact"], why=why))
        slopes = numbers["exponents"][architecture]["3"]
        why = "the paper's claim is -1/2 up to logarithms, from a figure without numbers"
        text = f"exponent of k* in T, d = 3, {label}"
        lines.append(row(text, None, [slopes["mean"]], exact=slopes["exact"], why=why))
    return lines


def section(numbers: dict[str, Any]) -> Section:
    """Two panels, as in the paper, with the exact curves drawn through the estimates."""
    text = [
        "The paper locates the step by minimising the mean squared regret of 800 random sequences, fifty times, and "
        "shows the mean with a band of one standard deviation. Points and bars below are the same experiment; the "
        "lines are not fitted: they are the exact step, an integral evaluated to ten digits or more.",
        "Both architectures share one exact curve. The swap objective is noisier, because the regrets of d heads are "
        "added before squaring, and a run of 800 samples can land far from the truth when d is large.",
    ]
    panels = [("single", "Single softmax head"), ("swap", "Swap architecture")]
    return Section(NAME, TITLE, text, [_panel(numbers, a, title) for a, title in panels])


def _panel(numbers: dict[str, Any], architecture: str, title: str) -> Chart:
    series = []
    for color, d in enumerate(sorted({c["actions"] for c in numbers["cells"]})):
        mine = [
            c for c in numbers["cells"] if c["actions"] == d and c["architecture"] == architecture
        ]
        horizons = [c["horizon"] for c in mine]
        series.append(Series(f"d = {d}, exact", horizons, [c["exact"] for c in mine], color=color))
        means, spread = [c["mean"] for c in mine], [c["sd"] for c in mine]
        series.append(Series(f"d = {d}", horizons, means, spread, style="points", color=color))
    caption = "Points: mean of the Monte Carlo estimates, bars: one standard deviation of a run."
    return Chart(f"step-{architecture}", title, "horizon T", "k*", series, True, True, caption)
