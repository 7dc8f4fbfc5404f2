"""Figures as SVG: crisp at any size, in the page's colours (light or dark), with the value of a point on hover."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

import numpy as np

from regrax.show.report._chart import Chart, Figure, Numbers, Series, Style, Ternary

WIDTH, HEIGHT = 520, 340
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 14, 48
MAX_HOVER_POINTS = 60  # points of a curve that answer to the pointer
PEAK, BASE = 34, HEIGHT - 36  # of a ternary plot
HALF = (BASE - PEAK) / math.sqrt(3)  # of its side
CORNERS = np.array([[WIDTH / 2, PEAK], [WIDTH / 2 - HALF, BASE], [WIDTH / 2 + HALF, BASE]])

Place = Callable[[float | int], float]
Marks = list[tuple[str, float]]


def draw(figure: Figure) -> str:
    """The figure as an `<svg>` element.

    >>> draw(Chart("c", "t", "x", "y", [Series("s", [0, 1], [0, 1])])).startswith("<svg")
    True
    """
    body = _ternary(figure) if isinstance(figure, Ternary) else _chart(figure)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(figure.title)}" '
        f'data-figure="{escape(figure.name)}">{body}</svg>'
    )


def legend(figure: Figure) -> str:
    """The names of the curves in their colours, as HTML that wraps on a small screen."""
    if isinstance(figure, Ternary):
        items = [(label, index, "line") for index, label in enumerate(figure.paths)]
    else:
        items = [(s.label, s.color, s.style) for s in figure.series]
    keys = "".join(
        f'<span class="key c{color} {style}">{escape(label)}</span>'
        for label, color, style in items
    )
    return f'<div class="legend">{keys}</div>'


def _chart(chart: Chart) -> str:
    xs = [float(v) for s in chart.series for v in s.x]
    ys = [v for s in chart.series for sign in (0, 1, -1) for v in _shifted(s, sign)]
    across, columns = _axis(xs, chart.x_log, 0.02, LEFT, WIDTH - RIGHT)
    up, rows = _axis(ys, chart.y_log, 0.06, HEIGHT - BOTTOM, TOP)
    parts = [_x_axis(chart.x_label, columns), _y_axis(chart.y_label, rows)]
    parts += [_band(s, across, up) for s in chart.series if s.band is not None]
    parts += [_curve(s, chart, across, up) for s in chart.series]
    return "".join(parts)


def _shifted(series: Series, sign: int) -> np.ndarray:
    """The curve, or with a sign the upper or lower end of its band."""
    band = 0.0 if series.band is None else np.asarray(series.band)
    return np.asarray(series.y, float) + sign * band


def _axis(
    values: Sequence[float], log: bool, margin: float, start: float, end: float
) -> tuple[Place, Marks]:
    """Where a value stands from `start` to `end`, what a log axis lacks at its start; and marks with their places."""
    usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    scale = math.log if log else float
    low, high = scale(min(usable)), scale(max(usable))
    if low == high:
        half = math.log(2) if log else 0.5
        low, high = low - half, high + half
    low, high = low - margin * (high - low), high + margin * (high - low)

    def place(value: float | int) -> float:
        at = low if log and value <= 0 else scale(value)
        return start + (end - start) * (at - low) / (high - low)

    ends = (math.exp(low), math.exp(high)) if log else (low, high)
    return place, [(number(mark), place(mark)) for mark in ticks(*ends, log)]


def ticks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers between `low` and `high`, about five of them.

    >>> ticks(0.0, 1.0, log=False)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(1.0, 1000.0, log=True)
    [1.0, 10.0, 100.0, 1000.0]
    """
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        span = math.log10(high / low)
        steps = (1,) if span > 2.2 else (1, 2, 5) if span > 0.9 else range(1, 10)
        marks = [m * 10.0**e for e in decades for m in steps]
    else:
        rough = (high - low) / 5
        power = 10 ** math.floor(math.log10(rough))
        step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - rough))
        steps = range(math.ceil(low / step), math.floor(high / step) + 1)
        marks = [round(i * step, 12) for i in steps]
    return [m for m in marks if low - 1e-9 * abs(low) <= m <= high + 1e-9 * abs(high)]


def number(value: float | int) -> str:
    """A number as a person writes it.

    >>> number(10000.0), number(0.25), number(1e-05)
    ('10,000', '0.25', '1e-05')
    """
    if value and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _x_axis(label: str, marks: Marks) -> str:
    floor = HEIGHT - BOTTOM
    grid = "".join(
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{floor}"/>'
        f'<text x="{x:.1f}" y="{floor + 18}" text-anchor="middle">{mark}</text>'
        for mark, x in marks
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    name = f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
    return f'{grid}<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>{name}'


def _y_axis(label: str, marks: Marks) -> str:
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{mark}</text>'
        for mark, y in marks
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    return f'{grid}<text class="name" x="14" y="{middle}" text-anchor="middle" {turned}>{escape(label)}</text>'


def _band(series: Series, across: Place, up: Place) -> str:
    """A shaded band around a line, a bar through every point."""
    xs = list(map(across, series.x))
    tops, bottoms = (list(map(up, _shifted(series, sign))) for sign in (1, -1))
    if series.style == "points":
        rows = zip(xs, tops, bottoms, strict=True)
        bars = "".join(f"M{x:.1f} {top:.1f}V{bottom:.1f}" for x, top, bottom in rows)
        return f'<path class="bar c{series.color}" d="{bars}"/>'
    around = zip(xs + xs[::-1], tops + bottoms[::-1], strict=True)
    return f'<polygon class="band c{series.color}" points="{_points(around)}"/>'


def _curve(series: Series, chart: Chart, across: Place, up: Place) -> str:
    spots = {
        i: (across(x), up(y))
        for i, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if math.isfinite(y) and (y > 0 or not chart.y_log) and (x > 0 or not chart.x_log)
    }

    def tip(i: int) -> str:
        spread = "" if series.band is None else f" ± {number(series.band[i])}"
        where = f"{chart.x_label} {number(series.x[i])}"
        return f"{series.label} · {where}: {number(series.y[i])}{spread}"

    return _drawn(spots, series.color, series.style, tip, 8)


def _points(spots: Iterable[Numbers]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)


def _spread(indices: Sequence[int]) -> list[int]:
    """At most `MAX_HOVER_POINTS` of them with the first and the last, denser at the start as a log axis wants."""
    if len(indices) <= MAX_HOVER_POINTS:
        return list(indices)
    places = np.geomspace(1, len(indices), MAX_HOVER_POINTS).round().astype(int) - 1
    return [indices[j] for j in np.unique(places)]


def _drawn(
    spots: Mapping[int, Numbers], color: int, style: Style, tip: Callable[[int], str], radius: int
) -> str:
    """A line through the spots, or dots on them, and what some of them say to the pointer."""
    line = f'<polyline class="{style} c{color}" points="{_points(spots.values())}"/>'
    parts = [] if style == "points" else [line]
    for i in _spread(list(spots)):
        place = 'cx="{:.1f}" cy="{:.1f}"'.format(*spots[i])
        if style in ("points", "marked"):
            parts.append(f'<circle class="dot c{color}" {place} r="4"/>')
        title = f"<title>{escape(tip(i))}</title>"
        parts.append(f'<circle class="hover c{color}" {place} r="{radius}">{title}</circle>')
    return "".join(parts)


def _ternary(figure: Ternary) -> str:
    names = "".join(
        f'<text class="name" x="{x:.1f}" y="{y + dy:.1f}" text-anchor="middle">{escape(label)}</text>'
        for (x, y), dy, label in zip(CORNERS, (-12, 22, 22), figure.corners, strict=True)
    )
    parts = [f'<polygon class="triangle" points="{_points(CORNERS)}"/>', names]
    for color, (label, path) in enumerate(figure.paths.items()):
        parts.append(_path(label, np.asarray(path), color, figure.corners))
    if figure.target is not None:
        x, y = figure.target @ CORNERS
        cross = f"M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12"
        parts.append(f'<path class="target" d="{cross}"><title>equilibrium</title></path>')
    return "".join(parts)


def _path(label: str, path: np.ndarray, color: int, corners: Sequence[str]) -> str:
    def tip(i: int) -> str:
        weights = [f"{name} {number(w)}" for name, w in zip(corners, path[i], strict=True)]
        return f"{label} · round {i + 1}: {', '.join(weights)}"

    return _drawn(dict(enumerate(path @ CORNERS)), color, "line", tip, 6)
