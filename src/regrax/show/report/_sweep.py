"""The page of a sweep: learned steps beside the exact ones, and how far from the optimum each architecture ends."""

import statistics
from collections.abc import Sequence
from typing import Any

from regrax.experiments.sweep import Group, Row, groups, percent_above, summary
from regrax.show.report._chart import Chart, Series
from regrax.show.report._page import Section, Table, render
from regrax.show.report._svg import number

COLORS = 7
AXES = {"horizon": ("horizon T", "T"), "actions": ("actions d", "d")}


def sweep_page(rows: Sequence[Row], failed: dict[str, str], name: str) -> str:
    """The self-contained HTML page of finished cells (`rx.sweep.rows_of`) and of the errors of those that failed."""
    found = groups(rows)
    known = [group for group in found if group.mean["gap"] is not None]
    sections = [*_steps(known), *_limit(known), *_size(known), *_compute(known)]
    sections += [_table(rows)] if rows else []
    sections += [_failed(failed)] if failed else []
    return render(f"Sweep: {name}", _lead(rows, found, known), sections, "Written by regrax sweep.")


def _lead(rows: Sequence[Row], groups: list[Group], known: list[Group]) -> list[str]:
    sizes = [sorted({getattr(row.config, axis) for row in rows}) for axis in AXES]
    over = ", ".join(f"{AXES[a][1]} = {_listed(s)}" for a, s in zip(AXES, sizes, strict=True))
    text = [f"{len(rows)} cells of {len(_labels(groups))} kinds, over {over}."] if rows else []
    text = text or ["No cell is finished yet."]
    shared = _shared([_of(known, label) for label in _labels(known)])
    if shared:
        means = sorted((_mean(_of(known, label), shared, "gap"), label) for label in _labels(known))
        gaps = "; ".join(f"{label} {number(gap)}" for gap, label in means)
        pairs = ", ".join(f"({d}, {T})" for d, T in sorted(shared))
        text.append(
            "Of the distance from Hedge at the exact step k* (1) to the best possible policy (0) there remains, "
            f"as a mean over seeds and the pairs (d, T) that all kinds share, {pairs}: {gaps}."
        )
    if len(known) < len(groups):
        text.append(
            "The least possible loss and the exact step are known for squared regret on standard Gaussian losses; "
            "cells of other kinds are in the table only."
        )
    return text


def _steps(known: list[Group]) -> list[Section]:
    if not known:
        return []
    axis, other = _axes(known)
    colors = {value: place % COLORS for place, value in enumerate(_by(known, other))}
    lengths = {label: len(_by(_of(known, label), axis)) for label in _labels(known)}
    curves = [label for label, length in lengths.items() if length > 1]  # one point is no curve
    charts = []
    for place, label in enumerate(curves or lengths):
        series = []
        for value, mine in _by(_of(known, label), other).items():
            mine = sorted(mine, key=lambda group: getattr(group.row.config, axis))
            xs = [getattr(group.row.config, axis) for group in mine]
            exact = [group.row.exact_step or 0.0 for group in mine]
            name, color = f"{AXES[other][1]} = {value}", colors[value]
            style = "line" if len(mine) > 1 else "marked"
            series.append(Series(f"k*, {name}", xs, exact, style=style, color=color))
            series.append(_series(f"learned, {name}", mine, axis, "step_size", color, "points"))
        caption = "Lines: the exact step. Points: the step of the FTRL nearest to the model, mean over seeds; bars: SD."
        title = f"Learned step, {label}"
        charts.append(
            Chart(f"step-{place}", title, AXES[axis][0], "step", series, True, True, caption)
        )
    text = [
        "Each model is compared with smoothed fictitious play, softmax(-k S), on fresh Gaussian losses, at the k that "
        "plays most like it. One linear layer can come to rest only at k*. A transformer is not confined to a constant "
        "step: where it plays better than k*, its nearest step describes it only roughly."
    ]
    return [Section("steps", "The step that training finds", text, charts)]


def _limit(known: list[Group]) -> list[Section]:
    if not known:
        return []
    axis, other = _axes(known)
    charts = []
    for value, here in _by(known, other).items():
        series = [
            _series(label, _of(here, label), axis, "above", place % COLORS, _style(place))
            for place, label in enumerate(_labels(known))
            if _of(here, label)
        ]
        series += _reference(here, axis, _labels(known))
        title, name = f"{AXES[other][1]} = {value}", f"limit-{other}-{value}"
        caption = "Mean over seeds, bands: one SD. Zero, which a log axis does not have, is the best possible policy."
        y_label = "% above the least loss"
        charts.append(Chart(name, title, AXES[axis][0], y_label, series, True, True, caption))
    text = [
        "Expected squared regret on fresh sequences, in percent above the least that any policy can have. The dashed "
        "line is Hedge at the exact constant step k*: below it a model has learned more than a constant step."
    ]
    return [Section("limit", "How far from the optimum", text, charts)]


def _reference(here: list[Group], axis: str, labels: list[str]) -> list[Series]:
    """Hedge at the exact step: alone, and as the heads of the swap architecture, in its colour."""
    found = []
    for swap in (False, True):
        mine = [g for g in here if (g.row.config.model == "swap") == swap]
        if mine:
            levels = {
                getattr(g.row.config, axis): percent_above(g.row, g.row.exact_step_loss or 0.0)
                or 0.0
                for g in mine
            }
            xs = sorted(levels)
            label = "Hedge at k*" + (", d heads" if swap else "")
            color = labels.index(mine[0].label) % COLORS if swap else 6
            ys = [levels[x] for x in xs]
            found.append(Series(label, xs, ys, style="dashed", color=color))
    return found


def _size(known: list[Group]) -> list[Section]:
    deep = [group for group in known if group.row.config.model == "transformer"]
    sizes = (("width", "layers", "wide"), ("layers", "width", "layers"))
    charts = [chart for size, rest, word in sizes for chart in _against(deep, size, rest, word)]
    if not charts:
        return []
    text = [
        "The share that remains of the distance from Hedge at k* (1) to the best possible policy (0), as a mean over "
        "the pairs (d, T) that every size was trained on."
    ]
    return [Section("size", "Width and depth", text, charts)]


def _against(deep: list[Group], size: str, rest: str, word: str) -> list[Chart]:
    """Transformers over one of their sizes, a curve for each value of the other."""
    series = []
    for value, mine in _by(deep, rest).items():
        by_size = _by(mine, size)
        shared = _shared(list(by_size.values()))
        if len(by_size) < 2 or not shared:
            continue
        means = [_mean(part, shared, "gap") for part in by_size.values()]
        label = f"{value} {'layers' if rest == 'layers' else 'wide'}".replace("1 layers", "1 layer")
        color = len(series) % COLORS
        series.append(Series(label, list(by_size), means, style="marked", color=color))
    if not series:
        return []
    title = "Gap against width" if size == "width" else "Gap against depth"
    return [Chart(f"gap-{size}", title, size, "gap that remains", series, True, True)]


def _compute(known: list[Group]) -> list[Section]:
    counted = [group for group in known if group.mean["operations"]]
    if not counted:
        return []
    series = []
    for place, label in enumerate(_labels(counted)):
        mine = sorted(_of(counted, label), key=lambda group: group.mean["operations"] or 0)
        xs = [group.mean["operations"] or 0.0 for group in mine]
        ys, bars = [g.mean["gap"] or 0.0 for g in mine], [g.spread["gap"] for g in mine]
        series.append(Series(label, xs, ys, bars, "points", place % COLORS))
    text = [
        "Compute is counted, not timed: the additions and multiplications of every loss and gradient of the training, "
        "read from the program, loops times their length. The drawing of losses and the optimiser are left out."
    ]
    caption = "A point for each (d, T), mean over seeds; bars: one SD."
    chart = Chart(
        "gap-compute",
        "Gap against compute",
        "operations",
        "gap that remains",
        series,
        True,
        True,
        caption,
    )
    return [Section("compute", "Compute", text, [chart])]


def _table(rows: Sequence[Row]) -> Section:
    columns, lines = summary(rows, number)
    text = [
        "Means over seeds. Gap: the share that remains of the distance from Hedge at k* to the best possible policy. "
        "Seconds: a cell's share of the time of the batch that it was trained and measured in."
    ]
    return Section("numbers", "Every number", text, tables=[Table(columns, lines)])


def _failed(failed: dict[str, str]) -> Section:
    lines = [[name, error] for name, error in failed.items()]
    text = [
        "These cells failed, were tried again, and failed again. The same command tries them anew."
    ]
    return Section("failed", "Cells that failed", text, tables=[Table(("cell", "error"), lines)])


def _series(label: str, mine: list[Group], axis: str, name: str, color: int, style: Any) -> Series:
    mine = sorted(mine, key=lambda group: getattr(group.row.config, axis))
    ys = [group.mean[name] or 0.0 for group in mine]
    band = [group.spread[name] for group in mine]
    return Series(
        label,
        [getattr(g.row.config, axis) for g in mine],
        ys,
        band if any(band) else None,
        style,
        color,
    )


def _style(place: int) -> str:
    return "marked" if place < COLORS else "dashed"


def _axes(known: list[Group]) -> tuple[str, str]:
    """The setting along the axis, and the one that separates curves or charts."""
    horizons, actions = (len({getattr(group.row.config, axis) for group in known}) for axis in AXES)
    return ("actions", "horizon") if horizons == 1 < actions else ("horizon", "actions")


def _by(groups: list[Group], setting: str) -> dict[Any, list[Group]]:
    values = sorted({getattr(group.row.config, setting) for group in groups})
    return {
        value: [g for g in groups if getattr(g.row.config, setting) == value] for value in values
    }


def _of(groups: list[Group], label: str) -> list[Group]:
    return [group for group in groups if group.label == label]


def _labels(groups: list[Group]) -> list[str]:
    return list(dict.fromkeys(group.label for group in groups))


def _sizes(group: Group) -> tuple[int, int]:
    return group.row.config.actions, group.row.config.horizon


def _mean(groups: list[Group], among: set[tuple[int, int]], name: str) -> float:
    return statistics.fmean(g.mean[name] or 0.0 for g in groups if _sizes(g) in among)


def _shared(parts: Sequence[list[Group]]) -> set[tuple[int, int]]:
    """The pairs (d, T) that every part has."""
    pairs = [{_sizes(group) for group in part} for part in parts]
    return set.intersection(*pairs) if pairs else set()


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
