"""Panels of a figure: how a player moves in the simplex of three actions, and tables of shades."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize

from regrax.games import CorrelatedProfile, Game
from regrax.learners import Learner
from regrax.show.plots._style import COLORS, MAX_CURVE_POINTS, SHADES, in_math, short

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
MAX_WRITTEN_ACTIONS = 10  # rows or columns whose cells have their numbers in them
MAX_NAMED_ACTIONS = 16  # rows or columns that have their names beside them


def draw_simplex(
    axes: Axes,
    policies: Float[np.ndarray, "T 3"],
    labels: Sequence[str],
    equilibria: Sequence[Float[np.ndarray, "3"]],
) -> None:
    """The path of a player's policies, dark at first and bright at last, its average, and known equilibria."""
    draw_triangle(axes, labels)
    points = policies @ CORNERS
    _path(axes, thinned(points))
    average = thinned(running_mean(policies) @ CORNERS)
    axes.plot(*average.T, color=COLORS[1], lw=1.6, label="average")
    for end, marker, label in ((0, "s", "start"), (-1, "o", "end")):
        axes.plot(*points[end], marker, color="#000000", ms=6, label=label)
    draw_nash(axes, [point @ CORNERS for point in equilibria], color=COLORS[2])
    axes.legend(frameon=False, fontsize="small", loc="upper left")


def _path(axes: Axes, points: Float[np.ndarray, "T 2"]) -> None:
    segments = np.stack([points[:-1], points[1:]], 1)
    path = LineCollection(list(segments), cmap=SHADES, linewidths=1.1, alpha=0.9)
    path.set_array(np.linspace(0, 1, len(segments)))
    axes.add_collection(path)


def title_of(game: Game, learners: Iterable[Learner], most: int) -> str:
    """The game, and who plays it."""
    names = short(" against ".join(dict.fromkeys(map(str, learners))), most)
    return in_math(f"{game}: {names}")


def known_nash(game: Game) -> list[CorrelatedProfile]:
    """The Nash equilibria that are known from theory."""
    known = [one.joint(game.sizes) for one in game.equilibria if one.concept == "nash"]
    return [CorrelatedProfile(joint, game) for joint in known]


def draw_nash(axes: Axes, points: Sequence[Float[np.ndarray, "2"]], **look: Any) -> None:
    """A star for every equilibrium."""
    if points:
        axes.plot(*np.transpose(points), "*", ms=13, mec="white", label="Nash", **look)


def running_mean(policies: Float[np.ndarray, "T d"]) -> Float[np.ndarray, "T d"]:
    """The average policy of rounds 1 to t, for every t."""
    return policies.cumsum(0) / np.arange(1, len(policies) + 1)[:, None]


def thinned(points: np.ndarray) -> np.ndarray:
    """As many of the points as can be seen."""
    return points[np.unique(np.linspace(0, len(points) - 1, MAX_CURVE_POINTS).round().astype(int))]


def draw_triangle(axes: Axes, labels: Sequence[str]) -> None:
    """The simplex with a label at each corner, and no axes."""
    axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#888888", linewidth=1.0)
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
    norm: Normalize,
    digits: int = 3,
) -> None:
    """Shades for numbers, as `norm` spreads them, with the numbers where there is room; a dash where there is none."""
    shaded, aspect = np.ma.masked_invalid(values), "equal" if len(rows) == len(columns) else "auto"
    image = axes.imshow(shaded, cmap=SHADES, norm=norm, aspect=aspect)
    bar = axes.figure.colorbar(image, ax=axes, label=what, shrink=0.85)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    _name(axes, rows, columns)
    if max(len(rows), len(columns)) <= MAX_WRITTEN_ACTIONS:
        _write(axes, values, digits, norm)
    axes.spines[:].set_visible(False)


def _name(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    tilted = {"rotation": 30, "ha": "right"} if max(map(len, columns)) > 4 else {}
    for axis, names, look in ((axes.yaxis, rows, {}), (axes.xaxis, columns, tilted)):
        if len(names) <= MAX_NAMED_ACTIONS:
            axis.set_ticks(range(len(names)), map(in_math, names), **look)
        axis.set_tick_params(length=0)


def _write(axes: Axes, values: Float[np.ndarray, "n m"], digits: int, norm: Normalize) -> None:
    shades = np.asarray(norm(np.nan_to_num(values)), float)
    for (i, j), value in np.ndenumerate(values):
        text = "-" if np.isnan(value) else f"{round(float(value), digits) + 0.0:.{digits}f}"
        color = "#000000" if np.isnan(value) or shades[i, j] > 0.5 else "#ffffff"
        cell = axes.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
        cell.set_in_layout(False)  # it is inside its cell: nothing to measure
