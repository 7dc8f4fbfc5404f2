"""Curves over rounds on log axes: gaps of joint play, and regret with what theory promises."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure as AnyFigure

from regrax.learners import Bound
from regrax.show.plots._style import COLORS, LINES, axes_of, dress, in_math, shown_rounds

Curve = Float[np.ndarray, "T"]


class Regret(NamedTuple):
    """A player's regret after every round, and the bound on it at the rounds that are shown, if there is one."""

    label: str
    regret: Curve
    bound: Bound


def plot_gaps(gaps: Mapping[str, Curve], title: str = "", *, ax: Axes | None = None) -> AnyFigure:
    """Equilibrium gaps over rounds on log axes, one line per gap, in `ax` or a new figure.

    >>> plot_gaps({"cce_gap": np.array([0.5, 0.25])}).axes[0].get_xlabel()
    'round'
    """
    axes = axes_of(ax, (6.4, 4.0))
    draw_gaps(axes, gaps)
    axes.set_title(in_math(title))
    return axes.figure  # pyright: ignore[reportReturnType]


def draw_gaps(axes: Axes, gaps: Mapping[str, Curve]) -> None:
    """One line a gap."""
    for index, (name, values) in enumerate(gaps.items()):
        color, line = COLORS[index % len(COLORS)], LINES[index % len(LINES)]
        _draw(axes, values, label=_label(name), color=color, linestyle=line)
    _finish(axes, "gap of joint play")


def draw_regrets(axes: Axes, regrets: Sequence[Regret]) -> None:
    """One line per player, and in the same colour, dotted, the bound."""
    for index, (label, regret, bound) in enumerate(regrets):
        color, line = COLORS[index % len(COLORS)], LINES[index % 3]
        _draw(axes, regret, label=in_math(label), color=color, linestyle=line)
        if bound is not None:
            rounds = shown_rounds(len(regret))
            axes.plot(rounds, bound, label="its bound", color=color, linestyle=":", linewidth=1.4)
    _finish(axes, "regret so far")


def _draw(axes: Axes, values: Curve, **look: str) -> None:
    values = np.asarray(values)
    rounds = shown_rounds(len(values))
    # a log axis has no place for zero and below: leave a break in the line there
    shown = np.where(values > 0, values, np.nan)[rounds - 1]
    marker = {"marker": "o", "markersize": 4} if len(rounds) == 1 else {}
    axes.plot(rounds, shown, linewidth=1.8, **look, **marker)  # pyright: ignore[reportArgumentType]


def _finish(axes: Axes, what: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel=what)
    dress(axes)
    if not any(np.isfinite(line.get_ydata()).any() for line in axes.lines):  # pyright: ignore
        axes.set_yscale("linear")  # a log axis without a positive number warns
        axes.text(0.5, 0.5, "never above zero", ha="center", transform=axes.transAxes)
        return
    axes.legend(frameon=False, fontsize="small")


def _label(name: str) -> str:
    kind = name.removesuffix("_gap")
    return kind.upper() if kind in ("ce", "cce") else kind.capitalize()
