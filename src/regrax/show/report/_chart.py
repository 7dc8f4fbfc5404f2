"""What a figure shows, apart from how it is drawn: plain numbers with labels, written to JSON and drawn as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Numbers = Sequence[float | int] | np.ndarray
Style = Literal["line", "dashed", "points", "marked"]  # marked: a line with its points


@dataclass(frozen=True)
class Series:
    """One curve: `y` over `x`.

    Args:
        label: in the legend.
        x: horizontal coordinates.
        y: vertical coordinates.
        band: half width of the band around the curve; None draws none.
        style: of the curve.
        color: index into the palette.

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
    """Curves on one pair of axes, linear or logarithmic.

    Args:
        name: of the figure, for links and tests.
        title: above it.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        series: the curves.
        x_log: logarithmic horizontal axis.
        y_log: logarithmic vertical axis.
        caption: below it.

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


@dataclass(frozen=True)
class Ternary:
    """Paths of distributions over three actions, drawn in the triangle whose corners are the actions.

    Args:
        name: of the figure, for links and tests.
        title: above it.
        corners: labels of the three actions.
        paths: by label the distributions, in order.
        target: a distribution to mark.
        caption: below it.

    >>> Ternary("play", "Play", ("a", "b", "c"), {"row": [[1.0, 0.0, 0.0]]}).corners
    ('a', 'b', 'c')
    """

    name: str
    title: str
    corners: tuple[str, str, str]
    paths: Mapping[str, Sequence[Numbers] | np.ndarray]
    target: Numbers | None = None
    caption: str = ""


Figure = Chart | Ternary
