"""Sweep report: learned steps compared with exact steps, and each architecture's distance from the optimum."""

import statistics
from collections.abc import Sequence
from typing import Any

from regrax._text import counted, listed, number
from regrax.experiments.sweep import COLUMNS, CellResult, groups, summary
from regrax.show.report.charts import PALETTE, Chart, Interval, Intervals, Series, Style
from regrax.show.report.page import Answer, Section, Table, render

AXES = {"horizon": ("horizon T", "T"), "actions": ("actions d", "d")}
Row = dict[str, Any]
"""Numbers of a group by name, with its settings; `model` is its label and `spread` has standard deviations."""


def sweep_page(rows: Sequence[CellResult], failed: dict[str, str], name: str) -> str:
    """Render a sweep as a self-contained HTML page.

    Args:
        rows: Finished cells, as returned by `rx.sweep.rows_of`.
        failed: Errors of the cells that failed, by name.
        name: Name of the sweep.
    """
    numbers = summary(rows)
    every: list[Row] = []
    for group, means in zip(groups(rows), numbers, strict=True):
        config = group.row.config
        facts = {"kind": config.model, "is_swap": config.model == "swap", "spread": group.spread}
        every.append({**vars(config), **means, **facts})
    every.sort(key=_sizes)
    known = [row for row in every if row["gap"] is not None]
    gaps = _mean_gaps(_by(known, "model"))
    sections = []
    if known:
        sections = [_gaps(known, gaps), _steps(known), _limit(known), _size(known), _compute(known)]
        sections = [section for section in sections if section.figures]
    if rows:
        text = (
            "Means over seeds. The gap runs from 1 (Hedge at k*) to 0 (the best possible policy). Seconds are a cell's "
            "share of its batch's time for training and measuring."
        )
        table = Table(list(COLUMNS.values()), [list(row.values()) for row in numbers])
        sections.append(Section("numbers", "Every number", [text], tables=[table]))
    if failed:
        text = "These cells failed on every attempt. Run the same command again to retry them."
        table = Table(("cell", "error"), list(failed.items()))
        sections.append(Section("failed", "Failed cells", [text], tables=[table]))
    answers = _answers(every, gaps, failed)
    footer = "Written by regrax sweep."
    return render(f"Sweep: {name}", _lead(every, known), sections, footer, answers=answers)


def _answers(every: list[Row], gaps: dict[str, float], failed: dict[str, str]) -> list[Answer]:
    answers = []
    if not every:
        answers.append(Answer("No cells are finished yet."))
    if gaps:
        best = min(gaps, key=lambda label: gaps[label])
        text = f"{best} comes closest to the best possible policy, and no kind beats Hedge at k*."
        if gaps[best] < 1:
            share = f"{1 - gaps[best]:.0%} of the way to the best possible policy"
            text = f"{best} plays best: from Hedge at k* it goes {share}."
        answers.append(Answer(text))
    if failed:
        text = f"{counted(len(failed), 'cell')} failed on every attempt."
        answers.append(Answer(text, "failed", "bad"))
    return answers


def _lead(every: list[Row], known: list[Row]) -> list[str]:
    if not every:
        return []
    sizes = [f"{symbol} = {listed(_by(every, axis))}" for axis, (_, symbol) in AXES.items()]
    cells = sum(row["seeds"] for row in every)
    text = [f"{cells} cells of {len(_by(every, 'model'))} kinds, over {listed(sizes)}."]
    if len(known) < len(every):
        text.append(
            "The lower bound on the loss and the exact step are known only for squared regret on standard Gaussian "
            "losses; other cells appear only in the table."
        )
    return text


def _gaps(known: list[Row], gaps: dict[str, float]) -> Section:
    ranked = sorted(gaps, key=lambda label: gaps[label])
    rows = [Interval(f"{label}: {number(gaps[label])}", gaps[label]) for label in ranked]
    pairs = listed(sorted(_shared(_by(known, "model"))))
    caption = f"Averages over seeds and the pairs (d, T) common to all kinds: {pairs}."
    x_label = "gap: 0 best possible, 1 Hedge at k*"
    chart = Intervals("gaps", "Gap to the optimum", x_label, rows, caption=caption)
    text = "The gap is 1 for Hedge at the exact step k* and 0 for the best possible policy."
    return Section("gaps", "Gap to the optimum", [text], [chart] if rows else [])


def _steps(known: list[Row]) -> Section:
    axis, other = _axes(known)
    values = list(_by(known, other))
    labels = _by(known, "model")
    curves = {label: own for label, own in labels.items() if len(_by(own, axis)) > 1}
    charts = []
    for place, (label, rows) in enumerate((curves or labels).items()):
        series = []
        for value, own in _by(rows, other).items():
            name = f"{AXES[other][1]} = {value}"
            color = values.index(value)
            style = "line" if len(own) > 1 else "marked"
            series.append(_curve(f"k*, {name}", own, axis, "exact_step", color, style))
            series.append(_curve(f"learned, {name}", own, axis, "step_size", color, "points"))
        caption = "Lines: exact step. Points: step of the FTRL nearest to the model, mean over seeds. Bars: SD."
        title = f"Learned step, {label}"
        name = f"step-{place}"
        charts.append(Chart(name, title, AXES[axis][0], "step", series, True, True, caption))
    text = [
        "Each model is compared with smoothed fictitious play, softmax(-k S), on fresh Gaussian losses, at the k whose "
        "play is most similar. One linear layer can only converge to k*. A transformer is not limited to a constant "
        "step: if it plays better than k*, its nearest step is only a rough description."
    ]
    return Section("steps", "The step that training finds", text, charts)


def _limit(known: list[Row]) -> Section:
    axis, other = _axes(known)
    colors = {label: place for place, label in enumerate(_by(known, "model"))}
    charts = []
    for value, here in _by(known, other).items():
        series = []
        for label, own in _by(here, "model").items():
            style = "marked" if colors[label] < len(PALETTE) else "dashed"
            series.append(_curve(label, own, axis, "above", colors[label], style))
        for is_swap, own in _by(here, "is_swap").items():
            levels = list({row[axis]: row for row in own}.values())
            label = "Hedge at k*, d heads" if is_swap else "Hedge at k*"
            color = colors[own[0]["model"]] if is_swap else 6
            series.append(_curve(label, levels, axis, "exact_above", color, "dashed"))
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


def _size(known: list[Row]) -> Section:
    deep = [row for row in known if row["kind"] == "transformer"]
    charts = []
    for size, rest, title in (("width", "layers", "width"), ("layers", "width", "depth")):
        series = []
        for value, own in _by(deep, rest).items():
            gaps = _mean_gaps(_by(own, size))
            if len(gaps) > 1:
                label = counted(value, "layer") if rest == "layers" else f"width {value}"
                means = list(gaps.values())
                series.append(Series(label, list(gaps), means, style="marked", color=len(series)))
        if series:
            charts.append(Chart(f"gap-{size}", f"Gap by {title}", size, "gap", series, True, True))
    text = [
        "Gap from 1 (Hedge at k*) to 0 (the best possible policy), averaged over the pairs (d, T) that every size was "
        "trained on."
    ]
    return Section("size", "Width and depth", text, charts)


def _compute(known: list[Row]) -> Section:
    measured = [row for row in known if row["operations"]]
    series = []
    for color, (label, own) in enumerate(_by(measured, "model").items()):
        series.append(_curve(label, own, "operations", "gap", color, "points"))
    text = [
        "Compute is counted, not timed. The count covers the additions and multiplications in every loss and gradient "
        "of training, with loops expanded. Loss sampling and the optimizer are not included."
    ]
    caption = "One point per (d, T), mean over seeds; bars: one SD."
    chart = Chart("gap-compute", "Gap by compute", "operations", "gap", series, True, True, caption)
    return Section("compute", "Compute", text, [chart] if series else [])


def _curve(label: str, rows: list[Row], x: str, y: str, color: int, style: Style) -> Series:
    """Return a curve of one number over another, with a band of one standard deviation over seeds."""
    xs, ys = ([row[name] for row in rows] for name in (x, y))
    band = [row["spread"].get(y, 0.0) for row in rows]
    return Series(label, xs, ys, band if any(band) else None, style, color)


def _axes(known: list[Row]) -> tuple[str, str]:
    """Return the setting along the axis, and the setting that separates curves or charts."""
    if len(_by(known, "horizon")) == 1 < len(_by(known, "actions")):
        return "actions", "horizon"
    return "horizon", "actions"


def _by(rows: list[Row], name: str) -> dict[Any, list[Row]]:
    """Group by a setting, sorted by its values, or by label in order of first appearance."""
    parts: dict[Any, list[Row]] = {}
    for row in rows:
        parts.setdefault(row[name], []).append(row)
    return parts if name == "model" else dict(sorted(parts.items()))


def _sizes(row: Row) -> tuple[int, int]:
    return row["actions"], row["horizon"]


def _shared(parts: dict[Any, list[Row]]) -> set[tuple[int, int]]:
    """Return the pairs (d, T) common to all parts."""
    pairs = [set(map(_sizes, part)) for part in parts.values()]
    return set.intersection(*pairs) if pairs else set()


def _mean_gaps(parts: dict[Any, list[Row]]) -> dict[Any, float]:
    """Average the gap of each part over the pairs (d, T) common to all; empty if there are none."""
    shared = _shared(parts)
    means = {}
    for name, part in parts.items():
        if shared:
            means[name] = statistics.fmean(row["gap"] for row in part if _sizes(row) in shared)
    return means
