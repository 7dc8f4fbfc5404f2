"""Figures of the sweep, from its folder: `python docs/figures/sweep.py out/architectures`."""

import sys
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from regrax import theory
from regrax.experiments.sweep import Group, groups, rows_of
from regrax.show.plots import COLORS

HERE = Path(__file__).parent
KINDS = ("linear", "swap", "transformer 1x16", "transformer 2x16")
matplotlib.rcParams.update({"svg.hashsalt": "regrax", "svg.fonttype": "none", "font.size": 10})


def steps(found: list[Group]) -> Figure:
    """The nearest step of each architecture on the exact curves."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 3, sharey=True), KINDS[:2] + KINDS[3:], strict=True):
        for color, d in zip(COLORS, _sizes(found, "actions"), strict=False):
            mine = _of(found, kind, actions=d)
            xs = [group.row.config.horizon for group in mine]
            grid = range(min(xs), max(xs) + 1)
            axes.plot(
                grid, [theory.step_size(d, T) for T in grid], color=color, label=f"k*, d = {d}"
            )
            _points(axes, mine, "step_size", color, marker="o", linestyle="none")
        _dress(axes, kind, "rounds T", "step")
    figure.axes[0].legend(frameon=False)
    return figure


def gaps(found: list[Group]) -> Figure:
    """What remains of the distance from k* to the optimum, as d and T grow."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    sizes = _sizes(found, "actions")
    for axes, d in zip(figure.subplots(1, len(sizes), sharey=True), sizes, strict=True):
        axes.axhline(1.0, color="0.3", linestyle="--", label="Hedge at k*")
        for color, kind in zip(COLORS, KINDS, strict=False):
            _points(axes, _of(found, kind, actions=d), "gap", color, marker="o", label=kind)
        _dress(axes, f"d = {d}", "rounds T", "gap")
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


def sizes(found: list[Group]) -> Figure:
    """Gap against width, depth and compute for transformers at d = 3, T = 20."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    here = [g for g in found if (g.row.config.actions, g.row.config.horizon) == (3, 20)]
    deep = [g for g in here if g.row.config.model == "transformer"]
    panels: list[tuple[str, str, str]] = [
        ("width", "layers", "{} layers"),
        ("layers", "width", "{} wide"),
        ("operations", "layers", "{} layers"),
    ]
    for axes, (size, rest, words) in zip(figure.subplots(1, 3, sharey=True), panels, strict=True):
        for color, value in zip(
            COLORS, sorted({getattr(g.row.config, rest) for g in deep}), strict=False
        ):
            mine = sorted(
                (g for g in deep if getattr(g.row.config, rest) == value),
                key=lambda g: _setting(g, size),
            )
            label = words.format(value).replace("1 layers", "1 layer")
            _points(axes, mine, "gap", color, size=size, marker="o", label=label)
        axes.axhline(1.0, color="0.3", linestyle="--", label="Hedge at k*")
        _dress(axes, "", size, "gap")
        axes.legend(frameon=False, fontsize=8)
    return figure


def _setting(group: Group, name: str) -> Any:
    return group.row.operations if name == "operations" else getattr(group.row.config, name)


def _points(
    axes: Axes, mine: list[Group], name: str, color: str, size: str = "horizon", **style: Any
) -> None:
    ys, bars = [g.mean[name] for g in mine], [g.spread[name] for g in mine]
    axes.errorbar([_setting(g, size) for g in mine], ys, bars, color=color, markersize=4, **style)


def _of(found: list[Group], label: str, **wanted: int) -> list[Group]:
    mine = [g for g in found if g.label == label]
    return [
        g
        for g in mine
        if all(getattr(g.row.config, name) == value for name, value in wanted.items())
    ]


def _sizes(found: list[Group], name: str) -> list[int]:
    return sorted({getattr(group.row.config, name) for group in found})


def _dress(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log")
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    if x != "operations":
        axes.set_xticks({"rounds T": [5, 10, 20], "width": [8, 16, 32], "layers": [1, 2, 4]}[x])
        axes.xaxis.set_major_formatter(plain)
    if y == "gap":
        axes.set_yticks([0.5, 1, 2, 5])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain if y == "step" else NullFormatter())
    axes.grid(alpha=0.25, which="both", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def main(folder: str) -> None:
    """Write every figure."""
    found = groups(rows_of(folder))
    for draw in (steps, gaps, sizes):
        draw(found).savefig(HERE / f"sweep-{draw.__name__}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
