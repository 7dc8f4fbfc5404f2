"""Report charts, drawn by matplotlib as SVG in the page's light or dark colours."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib import figure as matplotlib_figure
from matplotlib.axes import Axes

from regrax.show.plots.panels import CORNERS, draw_triangle
from regrax.show.plots.sheets import COLORS, label_axis, plain

WIDTH = 420
HEIGHT = 290
INK = "#1c2024"
SOFT = "#5b6470"
RULE = "#e3e5e8"
PALETTE = (*COLORS[:6], "#444444")
DASHES: Any = (0, (3.2, 2.2))
VARIABLES = {INK: "--ink", SOFT: "--soft", RULE: "--rule", "#888888": "--soft"} | {
    color.lower(): f"--c{index}" for index, color in enumerate(PALETTE)
}
"""Style sheet variables that replace the colours of a chart."""
LOOK: Any = {
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.labelpad": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 13,
    "grid.color": RULE,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "regrax",  # makes output reproducible
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}

Numbers = Sequence[float | int] | np.ndarray
Style = Literal["line", "dashed", "points", "marked"]


@dataclass(frozen=True)
class Series:
    """A curve of `y` over `x`.

    Args:
        label: Name in the legend.
        x: Horizontal coordinates.
        y: Vertical coordinates.
        band: Half-width of the band around the curve, or of the error bars through points; None draws neither.
        style: A line, a dashed line, points, or a line with marked points.
        color: Index into the palette of seven colours, which repeats.

    >>> Series("gap", [1, 2], [0.5, 0.25]).style
    'line'
    """

    label: str
    x: Numbers
    y: Numbers
    band: Numbers | None = None
    style: Style = "line"
    color: int = 0


@dataclass(frozen=True)
class Chart:
    """Curves on linear or logarithmic axes.

    Args:
        name: Name of the figure in the page.
        title: Title above the chart.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        series: Curves.
        x_log: True for a logarithmic horizontal axis.
        y_log: True for a logarithmic vertical axis.
        caption: Text below the chart.

    >>> Chart("gaps", "Gaps fall", "round", "gap", [Series("CCE", [1, 10], [0.1, 0.01])], y_log=True).name
    'gaps'
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    caption: str = ""

    def draw_in(self, axes: Axes) -> None:
        axes.grid(lw=1)
        axes.set_axisbelow(True)
        for series in self.series:
            _draw_series(axes, series, self.y_log)
        axes.set(xlabel=plain(self.x_label), ylabel=plain(self.y_label))
        if self.y_log and np.isfinite(axes.dataLim.minposy):  # some number is positive
            axes.set_yscale("log")
        if self.x_log:
            axes.set_xscale("log")
        label_axis(axes.xaxis)
        label_axis(axes.yaxis)


@dataclass(frozen=True)
class Ternary:
    """Paths of distributions over three actions, drawn in the simplex.

    Args:
        name: Name of the figure in the page.
        title: Title above the figure.
        corners: Names of the three actions.
        paths: Sequence of distributions for each label.
        target: Distribution to mark with a cross.
        caption: Text below the figure.

    >>> Ternary("play", "Play", ("a", "b", "c"), {"row": [[1.0, 0.0, 0.0]]}).corners
    ('a', 'b', 'c')
    """

    name: str
    title: str
    corners: tuple[str, str, str]
    paths: Mapping[str, Sequence[Numbers] | np.ndarray]
    target: Numbers | None = None
    caption: str = ""

    @property
    def series(self) -> list[Series]:
        """Paths in the plane."""
        paths = enumerate(self.paths.items())
        return [
            Series(label, *(np.asarray(path) @ CORNERS).T, color=i) for i, (label, path) in paths
        ]

    def draw_in(self, axes: Axes) -> None:
        draw_triangle(axes, self.corners)
        for series in self.series:
            _draw_series(axes, series)
        if self.target is not None:
            axes.plot(*np.asarray(self.target) @ CORNERS, "+", color=INK, ms=12, mew=2)


class Interval(NamedTuple):
    """A mean with its confidence interval, and the colour to draw it in."""

    label: str
    mean: float
    low: float | None = None
    high: float | None = None
    color: int = 0


@dataclass(frozen=True)
class Intervals:
    """Means and their confidence intervals, one below the other.

    Args:
        name: Name of the figure in the page.
        title: Title above the figure.
        x_label: Label of the horizontal axis.
        rows: Means and intervals, from top to bottom.
        zero: True to mark zero with a line.
        caption: Text below the figure.

    >>> Intervals("pairs", "Differences", "regret", [Interval("B minus A", -3.1, -5.0, -1.2)]).zero
    True
    """

    name: str
    title: str
    x_label: str
    rows: Sequence[Interval]
    zero: bool = True
    caption: str = ""
    series = ()  # no legend, because labels are next to the marks

    def draw_in(self, axes: Axes) -> None:
        if self.zero:
            axes.axvline(0, color=SOFT, lw=1.2, ls=DASHES)
        for place, row in enumerate(self.rows):
            if row.low is not None and row.high is not None:
                axes.hlines(place, row.low, row.high, color=_color(row.color), lw=3, alpha=0.7)
            axes.plot(row.mean, place, "o", color=_color(row.color), ms=9)
            where: Any = {"transform": axes.get_yaxis_transform(), "va": "bottom"}
            axes.text(0, place - 0.22, plain(row.label), **where)
        axes.set(ylim=(len(self.rows) - 0.5, -0.8), yticks=[], xlabel=plain(self.x_label))
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", lw=1)
        label_axis(axes.xaxis)


Figure = Chart | Intervals | Ternary


def draw(figure: Figure) -> str:
    """Draw a figure as an `<svg>` element.

    >>> draw(Chart("c", "t", "x", "y", [Series("s", [0, 1], [0, 1])])).startswith("<svg")
    True
    """
    file = io.StringIO()
    height = 60 + 44 * len(figure.rows) if isinstance(figure, Intervals) else HEIGHT
    with matplotlib.rc_context(LOOK):
        size = (WIDTH / 72, height / 72)
        picture = matplotlib_figure.Figure(figsize=size, layout="constrained")
        figure.draw_in(picture.add_subplot())
        picture.savefig(file, format="svg", transparent=True)
    text = file.getvalue()
    body = text[text.index('<g id="figure') : text.rindex("</svg>")]
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(figure.title)}" '
        f'data-figure="{escape(figure.name)}">{_for_page(body)}</svg>'
    )


def _for_page(svg: str) -> str:
    """Drop comments, unused ids, spaces and extra decimals, and replace colours with style sheet variables."""
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    svg = re.sub(r">\s+<", "><", svg).replace("xlink:href", "href")
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg)
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, f"var({variable})")
    return svg


def legend(figure: Figure) -> str:
    """Return the legend as HTML, which wraps on small screens."""
    keys = ""
    for series in figure.series:
        kind = f"key c{series.color % len(PALETTE)} {series.style}"
        keys += f'<span class="{kind}">{escape(series.label)}</span>'
    return f'<div class="legend">{keys}</div>' if keys else ""


def _color(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def _draw_series(axes: Axes, series: Series, log: bool = False) -> None:
    x = np.asarray(series.x, float)
    y = np.asarray(series.y, float)
    if log:
        y = np.where(y > 0, y, np.nan)
    color = _color(series.color)
    if series.band is not None:
        band = np.asarray(series.band, float)
        low = y - band
        if log:
            low = np.where(low > 0, low, np.nanmin(y))  # a log axis cannot show zero
        if series.style == "points":
            axes.vlines(x, low, y + band, color=color, lw=1.6, alpha=0.7)
        else:
            axes.fill_between(x, low, y + band, color=color, alpha=0.18, lw=0)
    line = {"dashed": DASHES, "points": "none"}.get(series.style, "-")
    marker = "o" if series.style in ("points", "marked") else None
    axes.plot(x, y, color=color, lw=2.2, ls=line, marker=marker, ms=7)
