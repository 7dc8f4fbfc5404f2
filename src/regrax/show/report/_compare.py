"""The page of a comparison: what it says first, then the agents over time, their differences and their verdicts."""

from regrax import _checks as checks
from regrax.agents.audit import Comparison, counted, shown
from regrax.show.report._audit import interval, regret_series
from regrax.show.report._chart import Chart
from regrax.show.report._page import Section, Table, render
from regrax.show.report._svg import number

MAX_CURVES = 8


def compare_page(comparison: Comparison) -> str:
    """The self-contained HTML page."""
    checks.instance("comparison", comparison, Comparison, "what compare_logs returns")
    what = "Loss" if comparison.measure == "loss" else f"{comparison.measure.capitalize()} regret"
    lead = [f"{shown(pair.words)}." for pair in comparison.pairs[:10]]
    agents = counted(len(comparison.contestants), "agent")
    lead.append(f"{what} of {agents}; above 0 the second agent is worse.")
    lead += [f"Note: {shown(note)}." for note in comparison.notes]
    sections = [_agents(comparison, what)]
    sections += [_differences(comparison)] if comparison.pairs else []
    return render("Agents compared", lead, sections, "Written by regrax compare.")


def _agents(comparison: Comparison, what: str) -> Section:
    rows = []
    for one in comparison.contestants:
        cells = one.value.cells(number, interval)
        rows.append([shown(one.name), f"{one.episodes:,}", *cells, one.audit.learning.words])
    columns = ("agent", "episodes", "per round", "per episode", "its 95 % interval", "verdict")
    return Section("agents", what, [], _over_time(comparison), [Table(columns, rows)])


def _over_time(comparison: Comparison) -> list[Chart]:
    kind = "external" if comparison.measure == "loss" else comparison.measure
    both = [(shown(one.name), one.audit.curve) for one in comparison.contestants[:MAX_CURVES]]
    curved = [(name, curve) for name, curve in both if kind in curve]
    series = [regret_series(*one, kind, color) for color, one in enumerate(curved)]
    caption = "Mean over episodes of the regret of all rounds so far; bands are 95 % intervals."
    chart = Chart("time", "Regret over time", "round", f"{kind} regret", series, caption=caption)
    return [chart] if series else []


def _differences(comparison: Comparison) -> Section:
    text = [
        "Episodes are paired where both agents met the same losses in each, and independent otherwise. p is of a "
        "permutation test; Holm's holds for all pairs together. Intervals are of one pair each. The effect size is the "
        "difference in standard deviations."
    ]
    columns = (
        "difference",
        "per episode",
        "its 95 % interval",
        "p",
        "p, Holm",
        "effect",
        "episodes",
    )
    rows = [
        [f"{shown(pair.second)} less {shown(pair.first)}", *pair.cells(number, interval)]
        for pair in comparison.pairs
    ]
    return Section("pairs", "Differences", text, tables=[Table(columns, rows)])
