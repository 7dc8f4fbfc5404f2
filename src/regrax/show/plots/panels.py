"""Figure panels: the simplex over three actions, and heat maps of tables."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize

from regrax.games import CorrelatedProfile, Game
from regrax.learners import Learner
from regrax.show.plots.style import COLORS, SHADES, plain, short, thinned

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
"""Corners of the simplex over three actions in the plane."""
MAX_NUMBERED_CELLS = 10  # maximum rows or columns for which cells show numbers
MAX_NAMED_CELLS = 16  # maximum rows or columns for which names are shown


def draw_triangle(axes: Axes, labels: Sequence[str]) -> None:
    """Draw the simplex with a label at each corner and no axes."""
    axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#888888", linewidth=1.0)
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
    """Draw the path of a player's policies from dark to bright, with their average and known equilibria."""
    draw_triangle(axes, labels)
    points = policies @ CORNERS
    shown = thinned(points)
    segments = np.stack([shown[:-1], shown[1:]], 1)
    path = LineCollection(list(segments), cmap=SHADES, linewidths=1.1, alpha=0.9)
    path.set_array(np.linspace(0, 1, len(segments)))
    axes.add_collection(path)
    average = thinned(running_mean(policies) @ CORNERS)
    axes.plot(*average.T, color=COLORS[1], lw=1.6, label="average")
    axes.plot(*points[0], "s", color="#000000", ms=6, label="start")
    axes.plot(*points[-1], "o", color="#000000", ms=6, label="end")
    draw_nash(axes, [point @ CORNERS for point in equilibria], color=COLORS[2])
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def draw_nash(axes: Axes, points: Sequence[Float[np.ndarray, "2"]], **look: Any) -> None:
    """Draw a star at each equilibrium."""
    if points:
        axes.plot(*np.transpose(points), "*", ms=13, mec="white", label="Nash", **look)


def known_nash(game: Game) -> list[CorrelatedProfile]:
    """Return the Nash equilibria of a game that are known from theory."""
    known = [entry for entry in game.equilibria if entry.concept == "nash"]
    return [CorrelatedProfile(entry.joint(game.sizes), game) for entry in known]


def running_mean(policies: Float[np.ndarray, "T d"]) -> Float[np.ndarray, "T d"]:
    """Return the average policy over rounds 1 to t, for every t."""
    return policies.cumsum(0) / np.arange(1, len(policies) + 1)[:, None]


def title_of(game: Game, learners: Iterable[Learner], most: int) -> str:
    """Return a title with the game and its learners, in at most `most` characters."""
    names = short(" against ".join(dict.fromkeys(map(str, learners))), most)
    return plain(f"{game}: {names}")


def draw_table(
    axes: Axes,
    values: Float[np.ndarray, "n m"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    what: str,
    norm: Normalize,
    digits: int = 3,
) -> None:
    """Draw a heat map, with numbers if there is room; missing numbers are shown as dashes.

    Args:
        axes: Axes to draw in.
        values: Numbers of the table, NaN where they are missing.
        rows: Names of the rows.
        columns: Names of the columns.
        what: Label of the colour bar.
        norm: Maps numbers to shades.
        digits: Number of decimals.
    """
    aspect = "equal" if len(rows) == len(columns) else "auto"
    image = axes.imshow(np.ma.masked_invalid(values), cmap=SHADES, norm=norm, aspect=aspect)
    bar = axes.figure.colorbar(image, ax=axes, label=what, shrink=0.85)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    tilted = {"rotation": 30, "ha": "right"} if max(map(len, columns)) > 4 else {}
    for axis, names, look in ((axes.yaxis, rows, {}), (axes.xaxis, columns, tilted)):
        if len(names) <= MAX_NAMED_CELLS:
            axis.set_ticks(range(len(names)), map(plain, names), **look)
        axis.set_tick_params(length=0)
    axes.spines[:].set_visible(False)
    if max(len(rows), len(columns)) > MAX_NUMBERED_CELLS:
        return
    shades = np.asarray(norm(np.nan_to_num(values)), float)
    for (i, j), value in np.ndenumerate(values):
        text = "-" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"
        color = "#000000" if np.isnan(value) or shades[i, j] > 0.5 else "#ffffff"
        cell = axes.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
        cell.set_in_layout(False)  # the text is inside its cell, so the layout need not measure it
