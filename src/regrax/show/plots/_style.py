"""What all figures share: colours that everyone can tell apart, and the formats they are saved in."""

import io
from pathlib import Path

import numpy as np
from jaxtyping import Int
from matplotlib import figure as matplotlib_figure
from matplotlib.axes import Axes

from regrax import _checks as checks

SUFFIXES = (".pdf", ".png", ".svg")

# Okabe and Ito's palette: told apart with any colour vision, and in grey by the line styles beside it.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")
SHADES = "cividis"  # from dark to bright, alike to colour-blind eyes
MAX_CURVE_POINTS = 1500  # of a curve: more would not be seen


class Figure(matplotlib_figure.Figure):
    """A figure that shows itself in a notebook, without pyplot's global state."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=110)
        return drawn.getvalue()


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes to draw in: those given, or those of a new figure of this size in inches."""
    if ax is None:
        return Figure(figsize=size, layout="constrained").add_subplot()
    checks.instance("ax", ax, Axes, "axes of matplotlib")
    return ax


def check_suffix(file: Path, known: tuple[str, ...] = SUFFIXES, what: str = "a plot") -> None:
    """Raise unless the file's ending names a format that is known."""
    if file.suffix.lower() not in known:
        raise ValueError(f"{what} file must end in {', '.join(known)}, got {file}")


def shown_rounds(rounds: int) -> Int[np.ndarray, "P"]:
    """The rounds that a curve on a log axis shows: all, or about evenly spaced ones there.

    >>> shown_rounds(4).tolist()
    [1, 2, 3, 4]
    """
    if rounds <= MAX_CURVE_POINTS:
        return np.arange(1, rounds + 1)
    return np.unique(np.geomspace(1, rounds, MAX_CURVE_POINTS).round().astype(int))


def dress(axes: Axes) -> None:
    """A light grid and no box."""
    axes.grid(alpha=0.25, which="both", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def short(label: str, most: int = 14) -> str:
    """A label that fits beside a cell."""
    return label if len(label) <= most else label[: most - 1] + "…"


def in_math(text: str) -> str:
    """Text in which a dollar sign is one."""
    return text.replace("$", r"\$")
