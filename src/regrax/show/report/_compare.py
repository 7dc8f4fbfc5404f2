"""The page of a comparison: what it says first, then the agents over time, their differences and their verdicts."""

from regrax.audit import Comparison, Pair, counted, shown
from regrax.show.report._chart import Chart, Series
from regrax.show.report._page import Section, Table, render
from regrax.show.report._svg import number

MAX_CURVES = 8


def compare_page(comparison: Comparison) -> str:
    """The self-contained HTML page."""
    what = "Loss" if comparison.measure == "loss" else f"{comparison.measure.capitalize()} regret"
    lead = [f"{shown(pair.words)}." for pair in comparison.pairs[:10]]
    lead.append(
        f"{what} of {counted(len(comparison.contestants), 'agent')}; above 0 the second agent is worse."
    )
    lead += [f"Note: {shown(note)}." for note in comparison.notes]
    sections = [_agents(comparison, what)]
    sections += [_differences(comparison)] if comparison.pairs else []
    return render("Agents compared", lead, sections, "Written by regrax compare.")


def _agents(comparison: Comparison, what: str) -> Section:
    rows = []
    for one in comparison.contestants:
        value, words = one.value, one.audit.learning.words
        numbers = number(value.total), number(value.per_round), _ends(value.low, value.high)
        rows.append([shown(one.name), f"{one.episodes:,}", *numbers, words])
    columns = ("agent", "episodes", "per episode", "per round", "95 % interval", "verdict")
    charts = [_over_time(comparison)] if _curved(comparison) else []
    return Section("agents", what, [], charts, [Table(columns, rows)])


def _curved(comparison: Comparison) -> list[tuple[str, dict[str, list[float]]]]:
    kind = "external" if comparison.measure == "loss" else comparison.measure
    both = [(one.name, one.audit.curve) for one in comparison.contestants[:MAX_CURVES]]
    return [(name, curve) for name, curve in both if kind in curve]


def _over_time(comparison: Comparison) -> Chart:
    kind = "external" if comparison.measure == "loss" else comparison.measure
    series = []
    for color, (name, curve) in enumerate(_curved(comparison)):
        ends = zip(curve.get(f"{kind}_low", []), curve.get(f"{kind}_high", []), strict=True)
        band = [(high - low) / 2 for low, high in ends] or None
        series.append(Series(shown(name), curve["round"], curve[kind], band, color=color))
    caption = "Mean over episodes of the regret of all rounds so far; bands are 95 % intervals."
    return Chart("time", "Regret over time", "round", f"{kind} regret", series, caption=caption)


def _differences(comparison: Comparison) -> Section:
    text = [
        "Episodes are paired where both agents met the same losses in each, and independent otherwise. p is of a "
        "permutation test; Holm's holds for all pairs together. Intervals are of one pair each. The effect size is the "
        "difference in standard deviations."
    ]
    columns = ("difference", "per episode", "95 % interval", "p", "p, Holm", "effect", "episodes")
    return Section(
        "pairs", "Differences", text, [], [Table(columns, [*map(_row, comparison.pairs)])]
    )


def _row(pair: Pair) -> list[str]:
    small = [
        "" if v is None else f"{v:.3g}" for v in (pair.p_value, pair.adjusted, pair.effect_size)
    ]
    name = f"{shown(pair.second)} less {shown(pair.first)}"
    how = "paired" if pair.paired else "independent"
    return [name, number(pair.difference), _ends(pair.low, pair.high), *small, how]


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{number(low)} to {number(high)}"
