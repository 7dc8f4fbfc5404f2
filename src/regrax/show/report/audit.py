"""Audit report: verdicts, then each agent's regret over time, baselines and tests."""

from dataclasses import astuple

import numpy as np

from regrax import _checks as checks
from regrax.agents.audit import AgentAudit, Audit, Gaps, counted, explored, shown, verdicts
from regrax.show.report.charts import Chart, Series, Style, number
from regrax.show.report.page import Section, Table, render

MAX_AGENTS = 50
TITLES = {
    "trend": "trend check (Park et al. 2024)",
    "regression": "regression (Park et al. 2024)",
    "mann_kendall": "Mann-Kendall",
}


def audit_page(audit: Audit, name: str) -> str:
    """Render an audit as a self-contained HTML page.

    Args:
        audit: Result of `audit_log`.
        name: Name of the log.
    """
    checks.instance("audit", audit, Audit, "the result of audit_log")
    agents = audit.agents[:MAX_AGENTS]
    lead = [f"{shown(agent.agent)}: {agent.learning.words}." for agent in agents]
    if len(agents) < len(audit.agents):
        every = counted(len(audit.agents), "agent")
        lead.append(f"The first {len(agents)} of {every} are shown. All agents: {verdicts(audit)}.")
    lead.append(f"{audit.rows:,} rows of {shown(name)} were read; {audit.bad_rows:,} were skipped.")
    sections = [_agent(agent, index) for index, agent in enumerate(agents)]
    if audit.gaps is not None:
        sections.append(_game(audit.gaps))
    if audit.bad:
        rows = [[entry["lines"], entry["reason"]] for entry in audit.bad]
        text = f"{audit.bad_rows:,} rows are invalid and are not part of the numbers above."
        table = Table(("line", "reason"), rows)
        sections.append(Section("bad", "Skipped rows", [text], tables=[table]))
    return render("Regret audit", lead, sections, "Written by regrax audit.")


def _agent(agent: AgentAudit, index: int) -> Section:
    text = [
        f"{counted(agent.rounds, 'round')} in {counted(agent.episodes, 'episode')}, "
        f"{len(agent.actions)} actions, {agent.feedback} feedback, "
        f"mean loss {number(agent.loss_per_round)} per round. Verdict: {agent.learning.words}."
    ]
    if agent.exploration is not None:
        text.append(f"{explored(agent.exploration).capitalize()}.")
    if agent.worst_swap is not None:
        text.append(f"Its worst single mistake: {shown(agent.worst_swap.words)}.")
    text += [f"Note: {shown(note)}." for note in agent.notes]
    if agent.fractions:
        shares = list(agent.fractions.items())[:50]
        played = ", ".join(f"{shown(action)} {share:.1%}" for action, share in shares)
        text.append(f"Played: {played}.")
    if agent.answers:
        parsers = sorted(agent.answers.items())
        counts = ", ".join(f"{shown(parser)} {count:,}" for parser, count in parsers)
        text.append(f"Answers by parser: {counts}.")
    charts = []
    if agent.regret:
        charts.append(_over_time(agent, index))
    if agent.baseline_curves:
        charts.append(_against_baselines(agent, index))
    tables = [_regrets(agent)]
    if agent.baselines:
        tables.append(_baselines(agent))
    if agent.learning.tests:
        tables.append(_tests(agent))
    return Section(f"agent-{index}", shown(agent.agent)[:60], text, charts, tables)


def _over_time(agent: AgentAudit, index: int) -> Chart:
    series = []
    for color, kind in enumerate(agent.regret):
        if kind in agent.curve and kind != "dynamic":  # dynamic regret would flatten the others
            style = "dashed" if kind == "swap" else "line"  # swap and external often coincide
            series.append(regret_series(kind, agent.curve, kind, color, style))
    caption = "Regret over all rounds so far, averaged over episodes."
    if series[0].band:
        caption = f"{caption[:-1]}; bands are 95 % bootstrap intervals."
    return Chart(f"time-{index}", "Regret over time", "round", "regret", series, caption=caption)


def regret_series(
    label: str, curve: dict[str, list[float]], kind: str, color: int, style: Style = "line"
) -> Series:
    """Return the curve for one kind of regret, with a band if it has an interval."""
    ends = zip(curve.get(f"{kind}_low", []), curve.get(f"{kind}_high", []), strict=True)
    band = [(high - low) / 2 for low, high in ends]
    return Series(label, curve["round"], curve[kind], band or None, style, color)


def _against_baselines(agent: AgentAudit, index: int) -> Chart:
    curves = dict(agent.baseline_curves)
    rounds = curves.pop("round")
    series = []
    for color, (name, curve) in enumerate(curves.items(), 1):
        series.append(Series(name, rounds, np.divide(curve, rounds), style="dashed", color=color))
    own = np.divide(agent.curve["external"], agent.curve["round"])
    series.append(Series("this agent", agent.curve["round"], own))  # last, so that it is on top
    caption = "External regret divided by rounds, for the agent and for baseline learners on the same losses."
    name = f"rate-{index}"
    return Chart(
        name, "Regret per round", "round", "regret per round", series, True, caption=caption
    )


def _regrets(agent: AgentAudit) -> Table:
    rows = [[name, *measure.cells(number, interval)] for name, measure in agent.measures()]
    return Table(("measure", "per round", "per episode", "95 % interval"), rows)


def interval(low: float | None, high: float | None) -> str:
    """Format an interval, or return an empty string if there is none."""
    if low is None or high is None:
        return ""
    return f"{number(low)} to {number(high)}"


def _baselines(agent: AgentAudit) -> Table:
    kinds = ("loss_per_round", "external", "internal", "swap")
    rows = []
    for name, measures in agent.beside().items():
        rows.append([name, *(number(measures[kind]) for kind in kinds)])
    return Table(("on the same losses", "loss per round", *kinds[1:]), rows)


def _tests(agent: AgentAudit) -> Table:
    learning = agent.learning
    rows = []
    for name, test in learning.tests.items():
        rows.append([TITLES[name], f"{test.p_value:.3g}", f"{test.false_alarms:.0%}"])
    rows.append(["calibrated: regret falls", f"{learning.regret_falls:.2g}", "at most 5%"])
    play = "calibrated: play moves to better actions"
    rows.append([play, f"{learning.play_moves:.2g}", "at most 5%"])
    return Table(("test of sublinear regret", "p-value", "false alarms at 5 %"), rows)


def _game(gaps: Gaps) -> Section:
    names = ("coarse correlated (CCE)", "correlated, pairwise (CE)", "swap")
    rows = [[name, number(gap)] for name, gap in zip(names, astuple(gaps), strict=True)]
    text = (
        "If these agents are the players in one game, their joint play has these equilibrium gaps."
    )
    return Section("game", "Joint play", [text], tables=[Table(("gap", "per round"), rows)])
