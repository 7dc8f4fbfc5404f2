"""Curves over rounds on log axes: gaps of joint play, and regret with what theory promises."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure as AnyFigure
from matplotlib.ticker import LogFormatter, NullLocator

from regrax import _checks as checks
from regrax.learners import Bound
from regrax.show.plots._style import COLORS, LINES, axes_of, dress, in_math, shown_rounds

Values = Float[np.ndarray, "T"]
Rounds = Int[np.ndarray, "T"]


class Curve(NamedTuple):
    """Values after the rounds that are shown, and the bound on them there, if there is one.

    Attributes:
        label: of the values.
        values: after the rounds that are shown.
        bound: on the values, or None.
        expected: True if the bound is on the values' expectation.
    """

    label: str
    values: Values
    bound: Bound = None
    expected: bool = False


def plot_gaps(gaps: Mapping[str, Values], title: str = "", *, ax: Axes | None = None) -> AnyFigure:
    """Equilibrium gaps over rounds on log axes, one line per gap, in `ax` or a new figure.

    >>> plot_gaps({"cce_gap": np.array([0.5, 0.25])}).axes[0].get_xlabel()
    'round'
    """
    checks.instance("gaps", gaps, Mapping, "a dictionary of gaps by name")
    axes = axes_of(ax, (6.4, 4.0))
    rounds = shown_rounds(max(map(len, gaps.values())))
    draw_gaps(axes, rounds, {name: np.asarray(gap)[rounds - 1] for name, gap in gaps.items()})
    axes.set_title(in_math(title))
    return axes.figure  # pyright: ignore[reportReturnType]


def draw_gaps(axes: Axes, rounds: Rounds, gaps: Mapping[str, Values]) -> None:
    """One line per gap."""
    curves = [Curve(_label(name), values) for name, values in gaps.items()]
    draw_curves(axes, rounds, curves, "gap of joint play", LINES)


def draw_curves(
    axes: Axes, rounds: Rounds, curves: Sequence[Curve], what: str, lines: Sequence[str]
) -> None:
    """A line for each, in these styles by turns, and in the same colour, dotted, its bound."""
    marker = "o" if len(rounds) == 1 else None
    for index, (label, values, bound, expected) in enumerate(curves):
        look: Any = {"color": COLORS[index % len(COLORS)], "ls": lines[index % len(lines)]}
        # a log axis has no place for zero and below: leave a break in the line there
        shown = np.where(values > 0, values, np.nan)
        axes.plot(rounds, shown, lw=1.8, marker=marker, ms=4, label=in_math(label), **look)
        if bound is not None:
            name = "bound on its expectation" if expected else "its bound"
            axes.plot(rounds, bound, lw=1.4, label=name, color=look["color"], ls=":")
    _finish(axes, what)


class Powers(LogFormatter):
    """Powers of ten in plain text, on the ticks that have room for one: formulas take a third of the time of drawing.

    >>> Powers.text(0.001), Powers.text(200.0)
    ('10⁻³', '2·10²')
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        return self.text(x) if super().__call__(x, pos) else ""

    @staticmethod
    def text(value: float) -> str:
        """A number above zero as a multiple of a power of ten."""
        factor, power = f"{value:.2e}".split("e")
        power = f"10{str(int(power)).translate(RAISED)}"
        return power if float(factor) == 1 else f"{float(factor):g}·{power}"


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _finish(axes: Axes, what: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel=what)
    dress(axes)
    if not any(np.isfinite(line.get_ydata()).any() for line in axes.lines):  # pyright: ignore
        axes.set_yscale("linear")  # a log axis without a positive number warns
        axes.text(0.5, 0.5, "never above zero", ha="center", transform=axes.transAxes)
        return
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(Powers())
        axis.set_minor_formatter(Powers())
        low, high = sorted(axis.get_view_interval())
        # two powers of ten say enough, and ticks take most of the time of drawing
        if high >= 100 * low:
            axis.set_minor_locator(NullLocator())
    axes.legend(frameon=False, fontsize="small")


def _label(name: str) -> str:
    kind = name.removesuffix("_gap")
    return kind.upper() if kind in ("ce", "cce") else kind.capitalize()
