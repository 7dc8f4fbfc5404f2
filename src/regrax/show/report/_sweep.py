"""The page of a sweep: learned steps beside the exact ones, and how far from the optimum each architecture ends."""

import statistics
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
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
    sections = [_steps(known), _limit(known)] if known else []
    sections += [*_size(known), *_compute(known)]
    sections += [_table(rows)] if rows else []
    sections += [_failed(failed)] if failed else []
    return render(f"Sweep: {name}", _lead(found, known), sections, "Written by regrax sweep.")


def _lead(found: list[Group], known: list[Group]) -> list[str]:
    over = [f"{AXES[axis][1]} = {', '.join(map(str, _by(found, axis)))}" for axis in AXES]
    count, kinds = sum(group.seeds for group in found), _kinds(known)
    cells = f"{count} cells of {len(_kinds(found))} kinds, over {', '.join(over)}."
    text = [cells if found else "No cell is finished yet."]
    if shared := _shared(kinds.values()):
        means = sorted((_mean(mine, shared), label) for label, mine in kinds.items())
        gaps = "; ".join(f"{label} {number(gap)}" for gap, label in means)
        pairs = ", ".join(f"({d}, {T})" for d, T in sorted(shared))
        text.append(
            "Of the distance from Hedge at the exact step k* (1) to the best possible policy (0) there remains, "
            f"as a mean over seeds and the pairs (d, T) that all kinds share, {pairs}: {gaps}."
        )
    if len(known) < len(found):
        text.append(
            "The least possible loss and the exact step are known for squared regret on standard Gaussian losses; "
            "cells of other kinds are in the table only."
        )
    return text


def _steps(known: list[Group]) -> Section:
    axis, other = _axes(known)
    values, kinds, charts = list(_by(known, other)), _kinds(known), []
    curves = {label: of for label, of in kinds.items() if len(_by(of, axis)) > 1}
    for place, (label, of) in enumerate((curves or kinds).items()):  # one point is no curve
        series = []
        for value, mine in _by(of, other, axis).items():
            name, color = f"{AXES[other][1]} = {value}", values.index(value) % COLORS
            learned = _series(f"learned, {name}", mine, axis, "step_size", color, "points")
            exact = [group.row.exact_step or 0.0 for group in mine]
            style = "line" if len(mine) > 1 else "marked"
            series += [Series(f"k*, {name}", learned.x, exact, style=style, color=color), learned]
        caption = "Lines: the exact step. Points: the step of the FTRL nearest to the model, mean over seeds; bars: SD."
        labels = f"Learned step, {label}", AXES[axis][0], "step"
        charts.append(Chart(f"step-{place}", *labels, series, True, True, caption))
    text = [
        "Each model is compared with smoothed fictitious play, softmax(-k S), on fresh Gaussian losses, at the k that "
        "plays most like it. One linear layer can come to rest only at k*. A transformer is not confined to a constant "
        "step: where it plays better than k*, its nearest step describes it only roughly."
    ]
    return Section("steps", "The step that training finds", text, charts)


def _limit(known: list[Group]) -> Section:
    axis, other = _axes(known)
    kinds, charts = _kinds(known), []
    for value, here in _by(known, other, axis).items():
        series = []
        for place, (label, of) in enumerate(kinds.items()):
            if mine := _by(of, other, axis).get(value):
                style = "marked" if place < COLORS else "dashed"
                series.append(_series(label, mine, axis, "above", place % COLORS, style))
        series += _reference(here, axis, list(kinds))
        caption = "Mean over seeds, bands: one SD. Zero, which a log axis does not have, is the best possible policy."
        labels = f"{AXES[other][1]} = {value}", AXES[axis][0], "% above the least loss"
        charts.append(Chart(f"limit-{other}-{value}", *labels, series, True, True, caption))
    text = [
        "Expected squared regret on fresh sequences, in percent above the least that any policy can have. The dashed "
        "line is Hedge at the exact constant step k*: below it a model has learned more than a constant step."
    ]
    return Section("limit", "How far from the optimum", text, charts)


def _reference(here: list[Group], axis: str, labels: list[str]) -> list[Series]:
    """Hedge at the exact step: alone, and as the heads of the swap architecture, in its colour."""
    found = []
    for swap in (False, True):
        if mine := [g for g in here if (g.row.config.model == "swap") == swap]:
            rows = {_x(group, axis): group.row for group in mine}
            levels = [percent_above(row, row.exact_step_loss) or 0.0 for row in rows.values()]
            label = "Hedge at k*" + (", d heads" if swap else "")
            color = labels.index(mine[0].label) % COLORS if swap else 6
            found.append(Series(label, list(rows), levels, style="dashed", color=color))
    return found


def _size(known: list[Group]) -> list[Section]:
    deep = [group for group in known if group.row.config.model == "transformer"]
    charts = [*_against(deep, "width", "layers"), *_against(deep, "layers", "width")]
    if not charts:
        return []
    text = [
        "The share that remains of the distance from Hedge at k* (1) to the best possible policy (0), as a mean over "
        "the pairs (d, T) that every size was trained on."
    ]
    return [Section("size", "Width and depth", text, charts)]


def _against(deep: list[Group], size: str, rest: str) -> list[Chart]:
    """Transformers over one of their sizes, a curve for each value of the other."""
    series = []
    for value, mine in _by(deep, rest).items():
        by_size = _by(mine, size)
        shared = _shared(by_size.values())
        if len(by_size) < 2 or not shared:
            continue
        means = [_mean(part, shared) for part in by_size.values()]
        label = f"{value} {'layers' if rest == 'layers' else 'wide'}".replace("1 layers", "1 layer")
        color = len(series) % COLORS
        series.append(Series(label, list(by_size), means, style="marked", color=color))
    title = f"Gap against {'depth' if size == 'layers' else size}"
    chart = Chart(f"gap-{size}", title, size, "gap that remains", series, True, True)
    return [chart] if series else []


def _compute(known: list[Group]) -> list[Section]:
    counted = [group for group in known if group.mean["operations"]]
    if not counted:
        return []
    series = []
    for place, (label, mine) in enumerate(_kinds(counted).items()):
        mine.sort(key=lambda group: _x(group, "operations"))
        series.append(_series(label, mine, "operations", "gap", place % COLORS, "points"))
    text = [
        "Compute is counted, not timed: the additions and multiplications of every loss and gradient of the training, "
        "read from the program, loops times their length. The drawing of losses and the optimiser are left out."
    ]
    caption = "A point for each (d, T), mean over seeds; bars: one SD."
    labels = "Gap against compute", "operations", "gap that remains"
    chart = Chart("gap-compute", *labels, series, True, True, caption)
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
    text = (
        "These cells failed, were tried again, and failed again. The same command tries them anew."
    )
    return Section("failed", "Cells that failed", [text], tables=[Table(("cell", "error"), lines)])


def _series(label: str, mine: list[Group], axis: str, name: str, color: int, style: Any) -> Series:
    xs, ys = [_x(group, axis) for group in mine], [group.mean[name] or 0.0 for group in mine]
    band = [group.spread[name] for group in mine]
    return Series(label, xs, ys, band if any(band) else None, style, color)


def _axes(known: list[Group]) -> tuple[str, str]:
    """The setting along the axis, and the one that separates curves or charts."""
    horizons, actions = (len(_by(known, axis)) for axis in AXES)
    return ("actions", "horizon") if horizons == 1 < actions else ("horizon", "actions")


def _by(groups: list[Group], *settings: str) -> dict[Any, list[Group]]:
    """By the first of the settings, in the order of all of them."""
    ordered = sorted(groups, key=lambda group: [_x(group, name) for name in settings])
    parts = groupby(ordered, lambda group: _x(group, settings[0]))
    return {value: list(part) for value, part in parts}


def _x(group: Group, name: str) -> Any:
    return group.mean[name] or 0.0 if name == "operations" else getattr(group.row.config, name)


def _kinds(groups: list[Group]) -> dict[str, list[Group]]:
    labels = dict.fromkeys(group.label for group in groups)
    return {label: [group for group in groups if group.label == label] for label in labels}


_sizes = attrgetter("row.config.actions", "row.config.horizon")


def _mean(groups: list[Group], among: set[tuple[int, int]]) -> float:
    return statistics.fmean(g.mean["gap"] or 0.0 for g in groups if _sizes(g) in among)


def _shared(parts: Iterable[list[Group]]) -> set[tuple[int, int]]:
    """The pairs (d, T) that every part has."""
    pairs = [set(map(_sizes, part)) for part in parts]
    return set.intersection(*pairs) if pairs else set()
