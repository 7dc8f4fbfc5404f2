"""Sweep report: learned steps compared with exact steps, and each architecture's distance from the optimum."""

import statistics
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from regrax.experiments.sweep import COLUMNS, CellResult, Group, groups, percent_above, summary
from regrax.show.plots.sheets import number
from regrax.show.report.charts import PALETTE, Chart, Interval, Intervals, Series, Style
from regrax.show.report.page import Answer, Section, Table, render

AXES = {"horizon": ("horizon T", "T"), "actions": ("actions d", "d")}


def sweep_page(rows: Sequence[CellResult], failed: dict[str, str], name: str) -> str:
    """Render a sweep as a self-contained HTML page.

    Args:
        rows: Finished cells, as returned by `rx.sweep.rows_of`.
        failed: Errors of the cells that failed, by name.
        name: Name of the sweep.
    """
    every = groups(rows)
    known = [group for group in every if group.mean["gap"] is not None]
    sections = []
    if known:
        sections += [*_gaps(known), _steps(known), _limit(known), *_size(known), *_compute(known)]
    if rows:
        sections.append(_numbers(rows))
    if failed:
        text = "These cells failed on every attempt. Run the same command again to retry them."
        table = Table(("cell", "error"), list(failed.items()))
        sections.append(Section("failed", "Failed cells", [text], tables=[table]))
    answers = _answers(every, known, failed)
    footer = "Written by regrax sweep."
    return render(f"Sweep: {name}", _lead(every, known), sections, footer, answers=answers)


def _answers(every: list[Group], known: list[Group], failed: dict[str, str]) -> list[Answer]:
    answers = []
    if not every:
        answers.append(Answer("No cells are finished yet."))
    labels = _by_label(known)
    shared = _shared(labels.values())
    if shared:
        gap, best = min((_mean_gap(own, shared), label) for label, own in labels.items())
        text = f"{best} comes closest to the best possible policy, and no kind beats Hedge at k*."
        if gap < 1:
            share = f"{100 * (1 - gap):.0f}% of the way to the best possible policy"
            text = f"{best} plays best: from Hedge at k* it goes {share}."
        answers.append(Answer(text))
    if failed:
        count = "1 cell" if len(failed) == 1 else f"{len(failed)} cells"
        answers.append(Answer(f"{count} failed on every attempt.", "failed", "bad"))
    return answers


def _lead(every: list[Group], known: list[Group]) -> list[str]:
    if not every:
        return []
    sizes = [
        f"{symbol} = {', '.join(map(str, _by(every, axis)))}" for axis, (_, symbol) in AXES.items()
    ]
    cells = sum(group.seeds for group in every)
    text = [f"{cells} cells of {len(_by_label(every))} kinds, over {', '.join(sizes)}."]
    if len(known) < len(every):
        text.append(
            "The lower bound on the loss and the exact step are known only for squared regret on standard Gaussian "
            "losses; other cells appear only in the table."
        )
    return text


def _gaps(known: list[Group]) -> list[Section]:
    """Return the gap of every kind, averaged over the sizes that all kinds share."""
    labels = _by_label(known)
    shared = _shared(labels.values())
    if not shared:
        return []
    means = sorted((_mean_gap(own, shared), label) for label, own in labels.items())
    rows = [Interval(f"{label}: {number(gap, 3)}", gap) for gap, label in means]
    pairs = ", ".join(f"({d}, {T})" for d, T in sorted(shared))
    caption = f"Averages over seeds and the pairs (d, T) common to all kinds: {pairs}."
    x_label = "gap: 0 best possible, 1 Hedge at k*"
    chart = Intervals("gaps", "Gap to the optimum", x_label, rows, caption=caption)
    text = "The gap is 1 for Hedge at the exact step k* and 0 for the best possible policy."
    return [Section("gaps", "Gap to the optimum", [text], [chart])]


def _steps(known: list[Group]) -> Section:
    axis, other = _axes(known)
    values = list(_by(known, other))
    labels = _by_label(known)
    curves = {label: own for label, own in labels.items() if len(_by(own, axis)) > 1}
    charts = []
    for place, (label, groups_of_label) in enumerate((curves or labels).items()):
        series = []
        for value, own in _by(groups_of_label, other, axis).items():
            name = f"{AXES[other][1]} = {value}"
            color = values.index(value)
            learned = _series(f"learned, {name}", own, axis, "step_size", color, "points")
            exact = [group.row.exact_step or 0.0 for group in own]
            style = "line" if len(own) > 1 else "marked"
            series.append(Series(f"k*, {name}", learned.x, exact, style=style, color=color))
            series.append(learned)
        caption = "Lines: exact step. Points: step of the FTRL nearest to the model, mean over seeds. Bars: SD."
        title = f"Learned step, {label}"
        charts.append(
            Chart(f"step-{place}", title, AXES[axis][0], "step", series, True, True, caption)
        )
    text = [
        "Each model is compared with smoothed fictitious play, softmax(-k S), on fresh Gaussian losses, at the k whose "
        "play is most similar. One linear layer can only converge to k*. A transformer is not limited to a constant "
        "step: if it plays better than k*, its nearest step is only a rough description."
    ]
    return Section("steps", "The step that training finds", text, charts)


def _limit(known: list[Group]) -> Section:
    axis, other = _axes(known)
    labels = _by_label(known)
    colors = {label: place for place, label in enumerate(labels)}
    charts = []
    for value, here in _by(known, other, axis).items():
        series = []
        for label, own in _by_label(here).items():
            style = "marked" if colors[label] < len(PALETTE) else "dashed"
            series.append(_series(label, own, axis, "above", colors[label], style))
        series += _exact_levels(here, axis, colors)
        caption = "Mean over seeds; bands: one SD. The best possible policy is at zero, which a log axis cannot show."
        title = f"{AXES[other][1]} = {value}"
        name = f"limit-{other}-{value}"
        y_label = "% above the lower bound"
        charts.append(Chart(name, title, AXES[axis][0], y_label, series, True, True, caption))
    text = [
        "Expected squared regret on fresh sequences, in percent above the lower bound for any policy. The dashed line "
        "is Hedge at the exact constant step k*; a model below it has learned more than a constant step."
    ]
    return Section("limit", "Distance from the optimum", text, charts)


def _exact_levels(here: list[Group], axis: str, colors: dict[str, int]) -> list[Series]:
    """Return the loss of Hedge at the exact step, as a single layer and as heads of the swap architecture."""
    series = []
    for is_swap in (False, True):
        own = [group for group in here if (group.row.config.model == "swap") == is_swap]
        if own:
            rows = {_x(group, axis): group.row for group in own}
            levels = [percent_above(row, row.exact_step_loss) or 0.0 for row in rows.values()]
            label = "Hedge at k*, d heads" if is_swap else "Hedge at k*"
            color = colors[own[0].label] if is_swap else 6
            series.append(Series(label, list(rows), levels, style="dashed", color=color))
    return series


def _size(known: list[Group]) -> list[Section]:
    deep = [group for group in known if group.row.config.model == "transformer"]
    charts = [*_gap_by(deep, "width", "layers"), *_gap_by(deep, "layers", "width")]
    if not charts:
        return []
    text = [
        "Gap from 1 (Hedge at k*) to 0 (the best possible policy), averaged over the pairs (d, T) that every size was "
        "trained on."
    ]
    return [Section("size", "Width and depth", text, charts)]


def _gap_by(deep: list[Group], size: str, rest: str) -> list[Chart]:
    """Return a chart of the gap against one transformer size, with a curve for each value of the other."""
    series = []
    for value, own in _by(deep, rest).items():
        by_size = _by(own, size)
        shared = _shared(by_size.values())
        if len(by_size) < 2 or not shared:
            continue
        means = [_mean_gap(part, shared) for part in by_size.values()]
        label = f"width {value}"
        if rest == "layers":
            label = "1 layer" if value == 1 else f"{value} layers"
        series.append(Series(label, list(by_size), means, style="marked", color=len(series)))
    if not series:
        return []
    title = "Gap by depth" if size == "layers" else "Gap by width"
    return [Chart(f"gap-{size}", title, size, "gap", series, True, True)]


def _compute(known: list[Group]) -> list[Section]:
    counted = [group for group in known if group.mean["operations"]]
    if not counted:
        return []
    series = []
    for place, (label, own) in enumerate(_by_label(counted).items()):
        own.sort(key=lambda group: _x(group, "operations"))
        series.append(_series(label, own, "operations", "gap", place, "points"))
    text = [
        "Compute is counted, not timed. The count covers the additions and multiplications in every loss and gradient "
        "of training, with loops expanded. Loss sampling and the optimizer are not included."
    ]
    caption = "One point per (d, T), mean over seeds; bars: one SD."
    chart = Chart("gap-compute", "Gap by compute", "operations", "gap", series, True, True, caption)
    return [Section("compute", "Compute", text, [chart])]


def _numbers(rows: Sequence[CellResult]) -> Section:
    lines = []
    for row in summary(rows):
        label, *numbers = row.values()
        lines.append([label, *("" if value is None else number(value) for value in numbers)])
    text = [
        "Means over seeds. The gap runs from 1 (Hedge at k*) to 0 (the best possible policy). Seconds are a cell's "
        "share of its batch's time for training and measuring."
    ]
    return Section("numbers", "Every number", text, tables=[Table(list(COLUMNS.values()), lines)])


def _series(label: str, own: list[Group], axis: str, name: str, color: int, style: Style) -> Series:
    xs = [_x(group, axis) for group in own]
    ys = [group.mean[name] or 0.0 for group in own]
    band = [group.spread[name] for group in own]
    return Series(label, xs, ys, band if any(band) else None, style, color)


def _axes(known: list[Group]) -> tuple[str, str]:
    """Return the setting along the axis, and the setting that separates curves or charts."""
    if len(_by(known, "horizon")) == 1 < len(_by(known, "actions")):
        return "actions", "horizon"
    return "horizon", "actions"


def _x(group: Group, name: str) -> Any:
    if name == "operations":
        return group.mean[name] or 0.0
    return getattr(group.row.config, name)


def _by(known: list[Group], *settings: str) -> dict[Any, list[Group]]:
    """Group by the first setting, sorted by all settings."""
    ordered = sorted(known, key=lambda group: [_x(group, name) for name in settings])
    parts = groupby(ordered, lambda group: _x(group, settings[0]))
    return {value: list(part) for value, part in parts}


def _by_label(known: list[Group]) -> dict[str, list[Group]]:
    labels: dict[str, list[Group]] = {}
    for group in known:
        labels.setdefault(group.label, []).append(group)
    return labels


def _sizes(group: Group) -> tuple[int, int]:
    return group.row.config.actions, group.row.config.horizon


def _shared(parts: Iterable[list[Group]]) -> set[tuple[int, int]]:
    """Return the pairs (d, T) common to all parts."""
    pairs = [{_sizes(group) for group in part} for part in parts]
    return set.intersection(*pairs) if pairs else set()


def _mean_gap(known: list[Group], among: set[tuple[int, int]]) -> float:
    return statistics.fmean(group.mean["gap"] or 0.0 for group in known if _sizes(group) in among)
