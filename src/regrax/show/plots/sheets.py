"""Shared figure style: sheets for print, slides and screen, a colour-blind-safe palette, and labels."""

import dataclasses
import io
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from jaxtyping import Int
from matplotlib import figure as matplotlib_figure
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from regrax import _checks as checks
from regrax.learners import Learner

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The Okabe-Ito palette; line styles distinguish the colours in greyscale."""
LINES = ("-", "--", "-.", ":")
MAX_CURVE_POINTS = 1500  # more points would not be visible
PANEL = 22  # width of a readable panel, in multiples of the type size
SIZES = {"paper": (8.0, 3.25), "slides": (18.0, 11.0), "screen": (10.0, 8.0)}
"""Type size in points and figure width in inches."""
NAMES = {
    "AdaHedge": "AdaHedge",
    "BlumMansour": "Blum-Mansour",
    "EuclideanFTRL": "Euclidean FTRL",
    "Exp3IX": "Exp3-IX",
    "PredictiveRegretMatchingPlus": "Predictive regret matching+",
    "RegretMatchingPlus": "Regret matching+",
    "StoltzLugosi": "Stoltz-Lugosi",
    "TsallisINF": "Tsallis-INF",
}
"""Names of learners whose class name does not split into words."""


def style(name: str, width: float | None = None) -> None:
    """Set matplotlib's defaults for figures that are printed, projected or read on a screen.

    `"paper"` uses 8-point type at the true width of a column, so that a figure is included without scaling: 3.25
    inches for one of two columns, 5.5 for a page with one column, 6.75 across two columns. Undo it with
    `matplotlib.rcdefaults()`.

    Args:
        name: `"paper"`, `"slides"` or `"screen"`.
        width: Width of new figures in inches; by default 3.25, 11 and 8.

    >>> style("paper", width=5.5)
    >>> matplotlib.rcParams["font.size"], matplotlib.rcParams["figure.figsize"][0]
    (8.0, 5.5)
    >>> matplotlib.rcdefaults()
    """
    checks.one_of("style", name, SIZES)
    if width is not None:
        checks.positive("width", width)
    matplotlib.rcParams.update(_sheet(name, width))


def _sheet(name: str, width: float | None = None) -> dict[Any, Any]:
    size, usual = SIZES[name]
    width = width or usual
    return {
        "axes.linewidth": 0.07 * size,
        "axes.prop_cycle": cycler(color=COLORS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": "medium",
        "figure.figsize": (width, 0.66 * width),
        "figure.titlesize": "medium",
        "font.size": size,
        "legend.borderaxespad": 0.2,
        "legend.columnspacing": 1.2,
        "legend.fontsize": "medium",
        "legend.frameon": False,
        "legend.handlelength": 1.4,
        "lines.linewidth": 0.16 * size,
        "lines.markersize": 0.55 * size,
        "pdf.fonttype": 42,  # publishers reject type 3 fonts
        "ps.fonttype": 42,
    }


@contextmanager
def styled() -> Iterator[None]:
    """Draw with the sheet for screens, except for settings that differ from matplotlib's defaults."""
    unset = {}
    for key, value in _sheet("screen").items():
        if matplotlib.rcParams[key] == matplotlib.rcParamsDefault[key]:
            unset[key] = value
    with matplotlib.rc_context(unset):
        yield


class Figure(matplotlib_figure.Figure):
    """A figure that notebooks display, without pyplot's global state."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Save the figure after a second layout, because tick labels depend on the space they get."""
        self.draw_without_rendering()
        super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()


def ems() -> float:
    """Return the width of a new figure in multiples of the type size."""
    return matplotlib.rcParams["figure.figsize"][0] * 72 / matplotlib.rcParams["font.size"]


def is_narrow() -> bool:
    """Return True if a new figure has room for only one readable panel in a row."""
    return ems() < 2 * PANEL


def axes_or_new(
    axes: Any, names: Sequence[str], columns: int, heights: Sequence[float], share: float = 1
) -> list[Axes]:
    """Return the axes that were passed, or the axes of a new figure whose rows fill its width.

    Args:
        axes: Matplotlib axes, an array or list of them, or None.
        names: Names of the panels, for the error message.
        columns: Panels in a row; a row with fewer has wider panels.
        heights: Height of each row as a multiple of the figure's width.
        share: Width of the figure as a fraction of the usual one.
    """
    if axes is None:
        width = share * matplotlib.rcParams["figure.figsize"][0]
        figure = Figure(figsize=(width, width * sum(heights)), layout="constrained")
        panels = range(len(names))
        rows = [panels[first : first + columns] for first in panels[::columns]]
        mosaic: Any = [np.repeat(row, math.lcm(*map(len, rows)) // len(row)) for row in rows]
        return list(figure.subplot_mosaic(mosaic, height_ratios=heights).values())
    given = list(np.ravel(np.asarray(axes, object)))
    if len(given) != len(names) or not all(isinstance(ax, Axes) for ax in given):
        which = "matplotlib axes"
        if len(names) > 1:
            which = f"{len(names)} matplotlib axes, for {', '.join(names)}"
        raise ValueError(f"axes must be {which}, got {axes!r}")
    return given


def shown_rounds(rounds: int) -> Int[np.ndarray, "P"]:
    """Return the rounds to show on a log axis: all of them, or an approximately evenly spaced subset.

    >>> shown_rounds(4).tolist()
    [1, 2, 3, 4]
    """
    if rounds <= MAX_CURVE_POINTS:
        return np.arange(1, rounds + 1)
    return np.unique(np.geomspace(1, rounds, MAX_CURVE_POINTS).round().astype(int))


def thinned(points: np.ndarray) -> np.ndarray:
    """Return evenly spaced points, no more than are visible."""
    return points[np.unique(np.linspace(0, len(points) - 1, MAX_CURVE_POINTS).round().astype(int))]


def dress(axes: Axes) -> None:
    """Draw a light grid, no box, and round numbers on the axes."""
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    label_axis(axes.xaxis)
    label_axis(axes.yaxis)


def label_axis(axis: Axis) -> None:
    """Label an axis with about five round numbers."""
    low, high = sorted(axis.get_view_interval())
    locator = MaxNLocator(6, steps=[1, 2, 5, 10])
    if axis.get_scale() == "log":
        axis.set_minor_locator(NullLocator())
        if high > 8 * low:
            locator = LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0))
    axis.set_major_locator(locator)
    axis.set_major_formatter(lambda value, _: number(value))


def number(value: float | int, digits: int = 4) -> str:
    """Format a number with four significant digits, or another number of them.

    >>> number(10000.0), number(0.25), number(1e-05), number(12.345, 3)
    ('10,000', '0.25', '1e-05', '12.3')
    """
    if value and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"


def label_ends(axes: Axes) -> None:
    """Write the label of each line to the right of its end, moved apart where labels would overlap."""
    lines = []
    for line in axes.lines:
        values = np.asarray(line.get_ydata(), float)
        known = values[np.isfinite(values)]
        if len(known) and not str(line.get_label()).startswith("_"):
            lines.append((known[-1], line))
    ends = np.array([[0.0, end] for end, _ in lines]).reshape(-1, 2)
    heights = axes.transAxes.inverted().transform(axes.transData.transform(ends))[:, 1]
    # the layout takes about a quarter of the height for titles and tick labels
    inches = 0.75 * axes.get_position().height * axes.figure.get_figheight()  # pyright: ignore
    spacing = 1.2 * matplotlib.rcParams["font.size"] / 72 / inches
    places = spread_out(heights, spacing)
    places -= max(0, places.max(initial=0) - 1)  # below the title
    places += max(0, 0.05 - places.min(initial=1))  # above the numbers of the horizontal axis
    for place, (_, line) in zip(places, lines, strict=True):
        look = {"color": line.get_color(), "va": "center", "transform": axes.transAxes}
        axes.text(1.02, place, str(line.get_label()), **look)


def spread_out(values: np.ndarray, spacing: float) -> np.ndarray:
    """Move numbers apart until neighbours are at least `spacing` apart, keeping their order and mean.

    >>> spread_out(np.array([0.5, 0.5, 0.9]), 0.25).round(3).tolist()
    [0.383, 0.633, 0.883]
    """
    order = np.argsort(values, kind="stable")
    offsets = spacing * np.arange(len(values))
    pushed = np.empty(len(values))
    pushed[order] = np.maximum.accumulate(values[order] - offsets) + offsets
    return pushed - (pushed - values).mean() if len(values) else pushed


def title_of(learner: Any) -> str:
    """Return a learner's name and settings in words.

    >>> from regrax.learners import BlumMansour, Hedge, InverseSqrt
    >>> title_of(Hedge(0.3)), title_of(BlumMansour(Hedge(InverseSqrt(1.0))))
    ('Hedge, k = 0.3', 'Blum-Mansour with Hedge, k = 1/√t')
    """
    if not dataclasses.is_dataclass(learner) or type(learner).__str__ is not Learner.__str__:
        return str(learner)  # an agent or a model, which names itself
    kind = type(learner).__name__
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", kind)
    title = NAMES.get(kind, words[0] + words[1:].lower().replace("hedge", "Hedge"))
    for field in dataclasses.fields(learner):
        value = getattr(learner, field.name)
        if isinstance(value, Learner):
            title += f" with {title_of(value)}"
        elif hasattr(value, "scale"):
            title += f", k = {value.scale:g}/√t"
        elif isinstance(value, int | float) and value != field.default:
            symbol = "k" if field.name == "step_size" else field.name.replace("_", " ")
            title += f", {symbol} = {value:.4g}"
    return title


def short(label: str, most: int = 14) -> str:
    """Shorten a label so that it fits next to a cell."""
    return label if len(label) <= most else label[: most - 1] + "…"


def wrapped(text: str, width: int) -> str:
    """Break a text into lines, but not within a setting.

    >>> wrapped("Hedge, k = 0.3", 12)
    'Hedge,\\nk = 0.3'
    """
    solid = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return textwrap.fill(solid, width).replace("\N{NO-BREAK SPACE}", " ")


def plain(text: str) -> str:
    """Escape dollar signs, which would start a formula."""
    return text.replace("$", r"\$")
