"""Comparison report: conclusions, then agents over time, differences and verdicts."""

from regrax import _checks as checks
from regrax.agents.audit import Comparison, counted, shown
from regrax.show.report.audit import interval, regret_series
from regrax.show.report.charts import Chart, number
from regrax.show.report.page import Section, Table, render

MAX_CURVES = 8


def compare_page(comparison: Comparison) -> str:
    """Render a comparison, the result of `compare_logs`, as a self-contained HTML page."""
    checks.instance("comparison", comparison, Comparison, "the result of compare_logs")
    measure = comparison.measure
    what = "Loss" if measure == "loss" else f"{measure.capitalize()} regret"
    agents = counted(len(comparison.contestants), "agent")
    lead = [f"{shown(pair.words)}." for pair in comparison.pairs[:10]]
    lead.append(f"{what} of {agents}; a difference above 0 means the second agent is worse.")
    lead += [f"Note: {shown(note)}." for note in comparison.notes]
    sections = [_agents(comparison, what)]
    if comparison.pairs:
        sections.append(_differences(comparison))
    return render("Agents compared", lead, sections, "Written by regrax compare.")


def _agents(comparison: Comparison, what: str) -> Section:
    rows = []
    for agent in comparison.contestants:
        cells = agent.value.cells(number, interval)
        verdict = agent.audit.learning.words
        rows.append([shown(agent.name), f"{agent.episodes:,}", *cells, verdict])
    columns = ("agent", "episodes", "per round", "per episode", "95 % interval", "verdict")
    kind = "external" if comparison.measure == "loss" else comparison.measure
    series = []
    for agent in comparison.contestants[:MAX_CURVES]:
        if kind in agent.audit.curve:
            name = shown(agent.name)
            series.append(regret_series(name, agent.audit.curve, kind, len(series)))
    charts = []
    if series:
        caption = "Regret over all rounds so far, averaged over episodes; bands are 95 % intervals."
        title = "Regret over time"
        charts.append(Chart("time", title, "round", f"{kind} regret", series, caption=caption))
    return Section("agents", what, [], charts, [Table(columns, rows)])


def _differences(comparison: Comparison) -> Section:
    text = [
        "Episodes are paired if both agents faced the same losses in each, and treated as independent otherwise. p is "
        "the p-value of a permutation test; Holm's correction makes it valid for all pairs together. Each interval "
        "covers a single pair. The effect size is the difference in standard deviations."
    ]
    columns = (
        "difference", "per episode", "95 % interval", "p", "p, Holm", "effect", "episodes",
    )  # fmt: skip
    rows = []
    for pair in comparison.pairs:
        name = f"{shown(pair.second)} minus {shown(pair.first)}"
        rows.append([name, *pair.cells(number, interval)])
    return Section("pairs", "Differences", text, tables=[Table(columns, rows)])
