"""Figures of the page on theory: `python docs/figures/theory.py` writes them beside itself (about half a minute)."""

import math
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from regrax import theory
from regrax.show.plots import COLORS

HERE = Path(__file__).parent
BLUE, RED, GREEN, PINK, *_ = COLORS
ACTIONS = np.unique(np.round(np.geomspace(2, 10**6, 25)).astype(int)).tolist()
matplotlib.rcParams.update({"svg.hashsalt": "regrax", "svg.fonttype": "none", "font.size": 10})


def step_limit() -> Figure:
    """The scaled step against its asymptote and the bracket of the paper's theorem."""
    d = np.array(ACTIONS, float)
    limit = [theory.step_size(actions, math.inf) for actions in ACTIONS]
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    for axes, scale in zip(figure.subplots(1, 2), ("linear", "log"), strict=True):
        if scale == "log":
            bracket = "the paper's bracket, without its logarithms"
            axes.fill_between(d, 1 / np.sqrt(d), 1, color="0.85", label=bracket)
        name = r"$c^*(d) = \lim\, k^*(d,T)\,\sqrt{T}$, exact"
        axes.plot(d, limit, "o-", color=BLUE, markersize=4, label=name)
        axes.plot(d, np.sqrt(2 * np.log(d)), "--", color=RED, label=r"$\sqrt{2\,\log\,d}$")
        axes.set(xscale="log", yscale=scale, xlabel="actions d", ylabel="step x root of rounds")
    return _finish(figure)


def loss_curve() -> Figure:
    """The loss of every constant step between uniform play and the limit."""
    best = theory.step_size(3, 20)
    schedule = theory.step_schedule(3, 20)
    steps = np.geomspace(0.05, 3, 60)
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    curve = [theory.loss(step, 3, 20) for step in steps]
    axes.plot(steps, curve, color=BLUE, label="smoothed fictitious play with step k")
    axes.plot(best, theory.loss(best, 3, 20), "o", color=BLUE, label=f"k* = {best:.6f}")
    lines = [
        ("uniform play", theory.uniform_loss(3, 20), ":", PINK),
        ("best step for each round", schedule.loss, "-.", GREEN),
        ("best possible policy", schedule.optimal_loss, "--", RED),
    ]
    for label, level, style, color in lines:
        axes.axhline(level, linestyle=style, color=color, label=f"{label}: {level:.4f}")
    axes.set(
        xscale="log",
        ylim=(14, 23),
        xlabel="step k",
        ylabel="expected squared regret, d = 3, T = 20",
    )
    return _finish(figure)


def schedules() -> Figure:
    """The best step of each round, scaled, beside the best constant one."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    horizon = 1000
    for actions, color in zip((2, 10, 1000), (BLUE, RED, GREEN), strict=True):
        schedule = theory.step_schedule(actions, horizon)
        scaled = schedule.steps * math.sqrt(horizon)
        label = f"d = {actions}: closes {100 * schedule.closed:.1f} %"
        axes.plot(np.arange(horizon) / horizon, scaled, color=color, label=label)
        axes.axhline(theory.step_size(actions, horizon) * math.sqrt(horizon), ls=":", color=color)
    axes.set(yscale="log", xlabel="share of the rounds played", ylabel="step x root of rounds")
    return _finish(figure)


def _finish(figure: Figure) -> Figure:
    for axes in figure.axes:
        axes.grid(alpha=0.25, which="major", linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    return figure


def main() -> None:
    """Write every figure."""
    for draw in (step_limit, loss_curve, schedules):
        name = draw.__name__.replace("_", "-")
        draw().savefig(HERE / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
