"""Figures as SVG: crisp at any size, in the page's colours (light or dark), with the value of a point on hover."""

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from regrax.show.report._chart import Chart, Figure, Numbers, Series, Ternary

WIDTH, HEIGHT = 520, 340
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 14, 48
MAX_HOVER_POINTS = 60  # points of a curve that answer to the pointer

Place = Callable[[float | int], float]


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
    x_low, x_high = _extent(xs, chart.x_log, 0.02)
    y_low, y_high = _extent(_heights(chart), chart.y_log, 0.06)
    across = _scale(x_low, x_high, LEFT, WIDTH - RIGHT, chart.x_log)
    up = _scale(y_low, y_high, HEIGHT - BOTTOM, TOP, chart.y_log)
    parts = [_x_axis(chart, x_low, x_high, across), _y_axis(chart, y_low, y_high, up)]
    parts += [_band(s, across, up, y_low) for s in chart.series if s.band is not None]
    parts += [_curve(s, chart, across, up) for s in chart.series]
    return "".join(parts)


def _heights(chart: Chart) -> list[float]:
    values = []
    for s in chart.series:
        band = s.band if s.band is not None else [0.0] * len(s.y)
        values += [v for y, b in zip(s.y, band, strict=True) for v in (y, y - b, y + b)]
    return values


def _extent(values: Numbers, log: bool, margin: float) -> tuple[float, float]:
    usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    low, high = min(usable), max(usable)
    if low == high:
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
    if log:
        spread = (high / low) ** margin
        return low / spread, high * spread
    return low - margin * (high - low), high + margin * (high - low)


def _scale(low: float, high: float, start: float, end: float, log: bool) -> Place:
    if log:
        low, high = math.log(low), math.log(high)
        return lambda v: start + (end - start) * (math.log(v) - low) / (high - low)
    return lambda v: start + (end - start) * (v - low) / (high - low)


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
        marks = [
            round(i * step, 12) for i in range(math.ceil(low / step), math.floor(high / step) + 1)
        ]
    return [m for m in marks if low * (1 - 1e-9) <= m <= high * (1 + 1e-9) or (low <= m <= high)]


def number(value: float | int) -> str:
    """A number as a person writes it.

    >>> number(10000.0), number(0.25), number(1e-05)
    ('10,000', '0.25', '1e-05')
    """
    if value and (abs(value) >= 1e7 or abs(value) < 1e-4):
        return f"{value:.3g}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _x_axis(chart: Chart, low: float, high: float, across: Place) -> str:
    floor = HEIGHT - BOTTOM
    marks = "".join(
        f'<line class="grid" x1="{across(v):.1f}" x2="{across(v):.1f}" y1="{TOP}" y2="{floor}"/>'
        f'<text x="{across(v):.1f}" y="{floor + 18}" text-anchor="middle">{number(v)}</text>'
        for v in ticks(low, high, chart.x_log)
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    name = f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(chart.x_label)}</text>'
    return f'{marks}<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>{name}'


def _y_axis(chart: Chart, low: float, high: float, up: Place) -> str:
    marks = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(v):.1f}" y2="{up(v):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{up(v) + 4:.1f}" text-anchor="end">{number(v)}</text>'
        for v in ticks(low, high, chart.y_log)
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    return f'{marks}<text class="name" x="14" y="{middle}" text-anchor="middle" {turned}>{escape(chart.y_label)}</text>'


def _band(series: Series, across: Place, up: Place, least: float) -> str:
    """A shaded band around a line, a bar through every point."""
    band = () if series.band is None else series.band
    rows = [
        (across(x), up(max(y + b, least)), up(max(y - b, least)))
        for x, y, b in zip(series.x, series.y, band, strict=True)
    ]
    if series.style == "points":
        bars = "".join(f"M{x:.1f} {top:.1f}V{bottom:.1f}" for x, top, bottom in rows)
        return f'<path class="bar c{series.color}" d="{bars}"/>'
    around = [f"{x:.1f},{top:.1f}" for x, top, _ in rows]
    around += [f"{x:.1f},{bottom:.1f}" for x, _, bottom in reversed(rows)]
    return f'<polygon class="band c{series.color}" points="{" ".join(around)}"/>'


def _curve(series: Series, chart: Chart, across: Place, up: Place) -> str:
    shown = [
        i
        for i, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if math.isfinite(y) and (y > 0 or not chart.y_log) and (x > 0 or not chart.x_log)
    ]
    spots = {i: (across(series.x[i]), up(series.y[i])) for i in shown}
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots.values())
    parts = (
        []
        if series.style == "points"
        else [f'<polyline class="{series.style} c{series.color}" points="{line}"/>']
    )
    radius = 4 if series.style in ("points", "marked") else 0
    parts += [_spot(series, chart, i, *spots[i], radius) for i in _spread(shown)]
    return "".join(parts)


def _spread(indices: Sequence[int]) -> list[int]:
    """At most `MAX_HOVER_POINTS` of them with the first and the last, denser at the start as a log axis wants."""
    if len(indices) <= MAX_HOVER_POINTS:
        return list(indices)
    last = len(indices) - 1
    return [
        indices[j]
        for j in sorted(
            {round((last + 1) ** (k / (MAX_HOVER_POINTS - 1)) - 1) for k in range(MAX_HOVER_POINTS)}
        )
    ]


def _spot(series: Series, chart: Chart, index: int, x: float, y: float, radius: int) -> str:
    spread = f" ± {number(series.band[index])}" if series.band is not None else ""
    where = f"{chart.x_label} {number(series.x[index])}"
    tip = escape(f"{series.label} · {where}: {number(series.y[index])}{spread}")
    dot = (
        f'<circle class="dot c{series.color}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
        if radius
        else ""
    )
    return f'{dot}<circle class="hover c{series.color}" cx="{x:.1f}" cy="{y:.1f}" r="8"><title>{tip}</title></circle>'


def _ternary(figure: Ternary) -> str:
    size = HEIGHT - 70
    corners = (
        (WIDTH / 2, 34.0),
        (WIDTH / 2 - size / math.sqrt(3), 34.0 + size),
        (WIDTH / 2 + size / math.sqrt(3), 34.0 + size),
    )

    def place(p: Numbers) -> tuple[float, float]:
        return math.fsum(w * c[0] for w, c in zip(p, corners, strict=True)), sum(
            w * c[1] for w, c in zip(p, corners, strict=True)
        )

    outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    offsets = ((0, -12, "middle"), (0, 22, "middle"), (0, 22, "middle"))
    names = "".join(
        f'<text class="name" x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}">{escape(label)}</text>'
        for (x, y), (dx, dy, anchor), label in zip(corners, offsets, figure.corners, strict=True)
    )
    parts = [f'<polygon class="triangle" points="{outline}"/>', names]
    for color, (label, path) in enumerate(figure.paths.items()):
        parts.append(_path(label, path, color, place, figure.corners))
    if figure.target is not None:
        x, y = place(figure.target)
        parts.append(
            f'<path class="target" d="M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12"><title>equilibrium</title></path>'
        )
    return "".join(parts)


def _path(
    label: str,
    path: Sequence[Numbers] | np.ndarray,
    color: int,
    place: Callable,
    corners: Sequence[str],
) -> str:
    spots = [place(p) for p in path]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    parts = [f'<polyline class="line c{color}" points="{line}"/>']
    for i in _spread(range(len(path))):
        weights = ", ".join(f"{name} {number(w)}" for name, w in zip(corners, path[i], strict=True))
        tip = escape(f"{label} · round {i + 1}: {weights}")
        x, y = spots[i]
        parts.append(
            f'<circle class="hover c{color}" cx="{x:.1f}" cy="{y:.1f}" r="6"><title>{tip}</title></circle>'
        )
    return "".join(parts)
