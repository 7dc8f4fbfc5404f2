"""Panels of a figure: how a player moves in the simplex of three actions, and tables of shades."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage

from regrax.show.plots._style import COLORS, MAX_CURVE_POINTS, SHADES, in_math, short

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
MAX_WRITTEN_ACTIONS = 10  # rows or columns whose cells have their numbers in them
MAX_NAMED_ACTIONS = 16  # rows or columns that have their names beside them


def draw_simplex(
    axes: Axes,
    policies: Float[np.ndarray, "T 3"],
    labels: Sequence[str],
    equilibria: Sequence[Float[np.ndarray, "3"]] = (),
) -> None:
    """The path of a player's policies, dark at first and bright at last, its average, and known equilibria."""
    outline = np.vstack([CORNERS, CORNERS[:1]])
    axes.plot(*outline.T, color="#888888", linewidth=1.0)
    average = np.cumsum(policies, 0) / np.arange(1, len(policies) + 1)[:, None]
    _path(axes, policies @ CORNERS)
    draw_path(axes, average @ CORNERS, color=COLORS[1], linewidth=1.6, label="average")
    ends = ((policies[0], "s", "start"), (policies[-1], "o", "end"))
    for point, marker, label in ends:
        axes.plot(*(point @ CORNERS), marker=marker, color="#000000", ls="", ms=6, label=label)
    for index, point in enumerate(equilibria):
        label = "Nash" if index == 0 else "_more"
        axes.plot(
            *(point @ CORNERS), marker="*", color=COLORS[2], ls="", ms=13, mec="white", label=label
        )
    name_corners(axes, labels)
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def _path(axes: Axes, points: Float[np.ndarray, "T 2"]) -> None:
    points = _thinned(points)
    segments = np.stack([points[:-1], points[1:]], 1)
    path = LineCollection(list(segments), cmap=SHADES, linewidths=1.1, alpha=0.9)
    path.set_array(np.linspace(0, 1, max(len(segments), 1))[: len(segments)])
    axes.add_collection(path)


def draw_path(axes: Axes, points: Float[np.ndarray, "T 2"], **look: Any) -> None:
    """A line through the points, or through as many of them as can be seen."""
    axes.plot(*_thinned(points).T, **look)


def _thinned(points: np.ndarray) -> np.ndarray:
    return points[np.unique(np.linspace(0, len(points) - 1, MAX_CURVE_POINTS).round().astype(int))]


def name_corners(axes: Axes, labels: Sequence[str]) -> None:
    """A label at each corner of the simplex, and no axes."""
    names = [in_math(short(label, 20)) for label in labels]
    for (x, y), name, where in zip(CORNERS, names, ("top", "top", "bottom"), strict=True):
        axes.text(x, y + (0.03 if where == "bottom" else -0.03), name, ha="center", va=where)
    axes.set(xlim=(-0.18, 1.18), ylim=(-0.13, 1.0), aspect="equal")
    axes.set_axis_off()


def draw_table(
    axes: Axes,
    values: Float[np.ndarray, "n m"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    what: str,
    digits: int = 3,
    norm: Normalize | None = None,
) -> None:
    """Shades for numbers, as `norm` spreads them, with the numbers where there is room; a dash where there is none."""
    shaded = np.ma.masked_invalid(values)
    image = axes.imshow(
        shaded, cmap=SHADES, norm=norm, aspect="equal" if len(rows) == len(columns) else "auto"
    )
    bar = axes.figure.colorbar(image, ax=axes, label=what, shrink=0.85)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    _name(axes, rows, columns)
    if max(len(rows), len(columns)) <= MAX_WRITTEN_ACTIONS:
        _write(axes, values, digits, image)
    axes.spines[:].set_visible(False)


def _name(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        if len(names) <= MAX_NAMED_ACTIONS:
            axis.set_ticks(range(len(names)), [in_math(name) for name in names])
        axis.set_tick_params(length=0)
    if len(columns) <= MAX_NAMED_ACTIONS and max(map(len, columns)) > 4:
        axes.tick_params(axis="x", labelrotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _write(axes: Axes, values: Float[np.ndarray, "n m"], digits: int, image: AxesImage) -> None:
    shades = np.asarray(image.norm(np.nan_to_num(values)), float)
    for (i, j), value in np.ndenumerate(values):
        text = "-" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"
        color = "#000000" if np.isnan(value) or shades[i, j] > 0.5 else "#ffffff"
        axes.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
