"""Figure panels: the simplex over three actions, and heat maps of tables."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize

from regrax.games import Game
from regrax.show.plots.sheets import COLORS, ems, plain, short, thinned, title_of, wrapped

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
"""Corners of the simplex over three actions in the plane."""
PATH = "viridis_r"
MAX_NAMED_CELLS = 16  # maximum rows or columns for which names are shown


def draw_triangle(axes: Axes, labels: Sequence[str]) -> None:
    """Draw the simplex with a label at each corner and no axes."""
    axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#888888", lw=0.8)
    for (x, y), label, side in zip(CORNERS, labels, ("top", "top", "bottom"), strict=True):
        gap = 0.03 if side == "bottom" else -0.03
        axes.text(x, y + gap, plain(short(label, 20)), ha="center", va=side)
    axes.set(xlim=(-0.18, 1.18), ylim=(-0.13, 1.0), aspect="equal")
    axes.set_axis_off()


def draw_simplex(
    axes: Axes,
    policies: Float[np.ndarray, "T 3"],
    labels: Sequence[str],
    equilibria: Sequence[Float[np.ndarray, "3"]],
) -> None:
    """Draw the path of a player's policies, coloured by round, with their average and known equilibria."""
    draw_triangle(axes, labels)
    points = policies @ CORNERS
    shown = thinned(points)
    segments = np.stack([shown[:-1], shown[1:]], 1)
    path = LineCollection(list(segments), cmap=PATH, linewidths=0.9)
    path.set_array(np.linspace(1, len(points), len(segments)))
    axes.add_collection(path)
    average = thinned(running_mean(points))
    axes.plot(*average.T, color=COLORS[1], label="average")
    axes.plot(*points[0], "s", color="#000000", label="start")
    axes.plot(*points[-1], "o", color="#000000", label="end")
    draw_nash(axes, [point @ CORNERS for point in equilibria], color=COLORS[2])
    axes.legend(loc="upper left", fontsize="small", labelspacing=0.3)
    if len(segments) > 1:
        place = axes.inset_axes((0.95, 0.5, 0.03, 0.36), transform=axes.transData)
        bar = axes.figure.colorbar(path, place, ticks=[1, len(points)], format="{x:,.0f}")
        bar.ax.set_title("round", fontsize="small")
        bar.ax.tick_params(labelsize="small", length=0)
        bar.ax.invert_yaxis()
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def draw_nash(axes: Axes, points: Sequence[Float[np.ndarray, "2"]], **look: Any) -> None:
    """Draw a star at each equilibrium."""
    if points:
        size = 2.2 * rcParams["lines.markersize"]
        axes.plot(*np.transpose(points), "*", ms=size, mec="white", label="Nash", **look)


def running_mean(rows: Float[np.ndarray, "T d"]) -> Float[np.ndarray, "T d"]:
    """Return the average of rows 1 to t, for every t."""
    return rows.cumsum(0) / np.arange(1, len(rows) + 1)[:, None]


def play_title(game: Game, learners: Iterable[Any], share: float = 1.0) -> str:
    """Return a title with the game and its learners, in lines that fit a share of a new figure's width."""
    first, *others = dict.fromkeys(map(title_of, learners))
    comma = "," if others and "," in first else ""
    text = f"{game.name}: {short(' against '.join([first + comma, *others]), 90)}"
    return plain(wrapped(text, int(1.65 * share * ems())))


def draw_table(
    axes: Axes,
    values: Float[np.ndarray, "n m"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    label: str,
    norm: Normalize,
    digits: int | None,
    cmap: str = "cividis",
    tilt: int = 35,
) -> None:
    """Draw a heat map with numbers or a colour bar; missing numbers are dashes.

    Args:
        axes: Axes to draw in.
        values: Numbers of the table, NaN where they are missing.
        rows: Names of the rows.
        columns: Names of the columns.
        label: Label of the colour bar.
        norm: Maps numbers to colours.
        digits: Number of decimals in the cells, or None for a colour bar.
        cmap: Colour map.
        tilt: Angle of the column names in degrees.
    """
    height, width = values.shape
    aspect = "equal" if height == width else "auto"
    image = axes.imshow(np.ma.masked_invalid(values), cmap=cmap, norm=norm, aspect=aspect)
    for axis, names in ((axes.yaxis, rows), (axes.xaxis, columns)):
        shown = names if len(names) <= MAX_NAMED_CELLS else []
        axis.set_ticks(range(len(shown)), map(plain, shown))
        axis.set_tick_params(length=0)
    if max(map(len, columns), default=0) > 4:
        for name in axes.get_xticklabels():
            align = "center" if tilt == 90 else "top"
            name.set(rotation=tilt, ha="right", va=align, rotation_mode="anchor")
    axes.spines[:].set_visible(False)
    if digits is None:
        bar = axes.figure.colorbar(image, ax=axes, label=label, shrink=0.85)
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
        return
    for (i, j), value in np.ndenumerate(values):
        text = "-" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"
        color = "#000000" if np.isnan(value) or _is_light(image.to_rgba(value)) else "#ffffff"
        cell = axes.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
        cell.set_in_layout(False)  # the text is inside its cell, so the layout need not measure it


def _is_light(color: Any) -> bool:
    """True if black text is easier to read on a colour than white text."""
    return float(np.dot(color[:3], (0.299, 0.587, 0.114))) > 0.5
