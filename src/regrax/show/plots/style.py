"""Shared figure style: a colour-blind-safe palette, light axes, and file formats."""

import io
from pathlib import Path

import numpy as np
from jaxtyping import Int
from matplotlib import figure as matplotlib_figure
from matplotlib.axes import Axes

from regrax import _checks as checks

SUFFIXES = (".pdf", ".png", ".svg")
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The Okabe-Ito palette; line styles distinguish the colours in greyscale."""
LINES = ("-", "--", "-.", ":")
SHADES = "cividis"
MAX_CURVE_POINTS = 1500  # more points would not be visible


class Figure(matplotlib_figure.Figure):
    """A figure that notebooks display, without pyplot's global state."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=110)
        return file.getvalue()


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure with this size in inches."""
    if ax is None:
        return Figure(figsize=size, layout="constrained").add_subplot()
    checks.instance("ax", ax, Axes, "matplotlib axes")
    return ax


def check_suffix(file: Path, known: tuple[str, ...] = SUFFIXES, what: str = "a plot") -> None:
    """Raise ValueError if a file's suffix is not a known format."""
    if file.suffix.lower() not in known:
        raise ValueError(f"{what} file must end in {', '.join(known)}, got {file}")


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
    """Draw a light grid and no box."""
    axes.grid(alpha=0.25, which="both", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def short(label: str, most: int = 14) -> str:
    """Shorten a label so that it fits next to a cell."""
    return label if len(label) <= most else label[: most - 1] + "…"


def plain(text: str) -> str:
    """Escape dollar signs, which would start a formula."""
    return text.replace("$", r"\$")
