"""Curves over rounds on log axes: equilibrium gaps, and regret with its theoretical bound."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure as AnyFigure

from regrax import _checks as checks
from regrax.learners import Bound
from regrax.show.plots.sheets import (
    COLORS,
    LINES,
    axes_or_new,
    dress,
    label_ends,
    plain,
    shown_rounds,
    styled,
)

Values = Float[np.ndarray, "T"]
Rounds = Int[np.ndarray, "T"]


class Curve(NamedTuple):
    """Values at some rounds, with a bound.

    Attributes:
        label: Name of the values.
        values: Values at the rounds shown.
        bound: Bound on the values, or None.
        expected: True if the bound holds for the expectation of the values.
    """

    label: str
    values: Values
    bound: Bound = None
    expected: bool = False


@styled
def plot_gaps(gaps: Mapping[str, Values], title: str = "", *, ax: Axes | None = None) -> AnyFigure:
    """Plot equilibrium gaps over rounds on log axes.

    Args:
        gaps: Values after every round for each gap, as returned by `running_gaps`.
        title: Title of the axes.
        ax: Axes to draw in; by default a new figure.

    >>> plot_gaps({"cce_gap": np.array([0.5, 0.25])}).axes[0].get_xlabel()
    'round'
    """
    checks.instance("gaps", gaps, Mapping, "a dictionary of gaps by name")
    (axes,) = axes_or_new(ax, ["gaps"], [1], [0.6])
    rounds = shown_rounds(max(map(len, gaps.values())))
    draw_gaps(axes, rounds, {name: np.asarray(gap)[rounds - 1] for name, gap in gaps.items()})
    axes.set_title(plain(title))
    return axes.figure  # pyright: ignore[reportReturnType]


def draw_gaps(axes: Axes, rounds: Rounds, gaps: Mapping[str, Values]) -> None:
    """Draw one line per gap."""
    curves = []
    for name, values in gaps.items():
        kind = name.removesuffix("_gap")
        label = kind.upper() if kind in ("ce", "cce") else kind.capitalize()
        curves.append(Curve(label, values))
    draw_curves(axes, rounds, curves, "gap")


def draw_curves(axes: Axes, rounds: Rounds, curves: Sequence[Curve], what: str) -> None:
    """Draw one line per curve, and its bound as a dotted line of the same colour, each labelled at its end.

    Args:
        axes: Axes to draw in.
        rounds: Rounds to show.
        curves: Values at these rounds.
        what: Label of the vertical axis.
    """
    marker = "o" if len(rounds) == 1 else None
    lines = LINES[: 3 if any(curve.bound is not None for curve in curves) else 4]
    for index, (label, values, bound, expected) in enumerate(curves):
        color = COLORS[index % len(COLORS)]
        dashes = lines[index % len(lines)]
        positive = np.where(values > 0, values, np.nan)  # NaN leaves a gap on a log axis
        axes.plot(rounds, positive, dashes, color=color, marker=marker, label=plain(label))
        if bound is not None:
            name = "bound on mean" if expected else "bound"
            axes.plot(rounds, bound, ":", color=color, label=name)
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel=what)
    dress(axes)
    if not any((curve.values > 0).any() for curve in curves):
        axes.text(0.5, 0.5, "never above zero", ha="center", transform=axes.transAxes)
    if any(np.isfinite(line.get_ydata()).any() for line in axes.lines):  # pyright: ignore
        label_ends(axes)
    else:
        axes.set_yscale("linear")  # a log axis without positive numbers raises a warning
        axes.set(xlim=(rounds[0], rounds[-1] + 1), yticks=[])
