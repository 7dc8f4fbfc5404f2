"""Audit report: verdicts, then each agent's regret over time, baselines and tests."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from regrax import _checks as checks
from regrax._text import counted, interval, listed, number
from regrax.agents.audit import (
    AgentAudit,
    Audit,
    Contexts,
    Gaps,
    Measure,
    explored,
    shown,
    verdicts,
)
from regrax.show.report.charts import Chart, Series
from regrax.show.report.page import Answer, Section, Table, Tone, render

MAX_AGENTS = 50
MAX_NAMED_ACTIONS = 8
TITLES = {
    "trend": "trend check (Park et al. 2024)",
    "regression": "regression (Park et al. 2024)",
    "mann_kendall": "Mann-Kendall",
}
BASELINES = {"hedge": "Hedge", "blum_mansour": "Blum-Mansour", "uniform": "uniform play"}
FINDINGS: dict[str, tuple[str, Tone]] = {
    "learning": ("{} is learning", "good"),
    "not learning": ("{} is not learning", "bad"),
    "no regret": ("{} does as well as the best single action", "good"),
    "cannot tell": ("It is not clear whether {} is learning", "neutral"),
}


def audit_page(audit: Audit, name: str) -> str:
    """Render an audit as a self-contained HTML page.

    Args:
        audit: Result of `audit_log`.
        name: Name of the log.
    """
    checks.instance("audit", audit, Audit, "the result of audit_log")
    agents = audit.agents[:MAX_AGENTS]
    lead = []
    if len(agents) < len(audit.agents):
        every = counted(len(audit.agents), "agent")
        lead.append(f"The first {len(agents)} of {every} are shown. All agents: {verdicts(audit)}.")
    lead.append(
        "Regret is the agent's loss minus the loss of the best single action in hindsight. "
        f"{audit.rows:,} rows of {shown(name)} were read; {audit.bad_rows:,} were skipped."
    )
    sections = [_agent(agent, index) for index, agent in enumerate(agents)]
    if audit.gaps is not None:
        sections.append(_game(audit.gaps))
    if audit.bad:
        text = f"{audit.bad_rows:,} rows are invalid and are not part of the numbers above."
        table = Table(("line", "reason"), [[bad["lines"], bad["reason"]] for bad in audit.bad])
        sections.append(Section("bad", "Skipped rows", [text], tables=[table]))
    answers = [_answer(agent) for agent in agents]
    return render("Regret audit", lead, sections, "Written by regrax audit.", answers=answers)


def _answer(agent: AgentAudit) -> Answer:
    learning = agent.learning
    finding, tone = FINDINGS[learning.verdict]
    reason = learning.words.partition(": ")[2]
    if learning.early is not None and learning.late is not None:
        reason = (
            f"its regret was {number(learning.early)} per round in the first half of an episode and "
            f"{number(learning.late)} in the second"
        )
    sentence = f"{finding.format(shown(agent.agent))}: {shown(reason)}."
    return Answer(sentence, learning.verdict, tone)


def _agent(agent: AgentAudit, index: int) -> Section:
    actions = counted(len(agent.actions), "action")
    if len(agent.actions) <= MAX_NAMED_ACTIONS:
        actions += f" ({listed(map(shown, agent.actions))})"
    text = [
        f"{counted(agent.rounds, 'round')} in {counted(agent.episodes, 'episode')}, {actions}, "
        f"{agent.feedback} feedback. Verdict: {shown(agent.learning.words)}."
    ]
    if agent.exploration is not None:
        text.append(f"{explored(agent.exploration).capitalize()}.")
    if agent.worst_swap is not None:
        text.append(f"Its worst single mistake: {shown(agent.worst_swap.words)}.")
    text += [f"Note: {shown(note)}." for note in agent.notes]
    if agent.fractions:
        shares = list(agent.fractions.items())[:50]
        text.append(
            f"Played: {listed(f'{shown(action)} {share:.1%}' for action, share in shares)}."
        )
    if agent.answers:
        counts = sorted(agent.answers.items())
        parsers = listed(f"{shown(parser)} {count:,}" for parser, count in counts)
        text.append(f"Answers by parser: {parsers}.")
    charts = []
    if agent.regret:
        kinds = [kind for kind in agent.regret if kind in agent.curve]
        # dynamic regret would flatten the others
        curves = [(kind, agent.curve, kind) for kind in kinds if kind != "dynamic"]
        charts.append(regret_chart(f"time-{index}", "regret", curves))
    if agent.baseline_curves:
        charts.append(_against_baselines(agent, index))
    rows = [[name, *measure_cells(measure)] for name, measure in agent.measures()]
    tables = [Table(("measure", "per episode", "95% interval"), rows)]
    if agent.contexts is not None:
        tables += _contexts(agent.contexts)
    if agent.baselines:
        tables.append(_baselines(agent))
    if agent.learning.tests:
        tables.append(_tests(agent))
    return Section(f"agent-{index}", shown(agent.agent)[:60], text, charts, tables)


def regret_chart(
    name: str, what: str, curves: Sequence[tuple[str, dict[str, list[float]], str]]
) -> Chart:
    """Return a chart of regret over time.

    Args:
        name: Name of the chart in the page.
        what: Label of the vertical axis.
        curves: For each curve a label, the columns of an `AgentAudit.curve`, and the kind of regret.
    """
    series = []
    for color, (label, curve, kind) in enumerate(curves):
        band = None
        if f"{kind}_low" in curve:
            band = np.subtract(curve[f"{kind}_high"], curve[f"{kind}_low"]) / 2
        style = (
            "dashed" if label == kind == "swap" else "line"
        )  # it often coincides with external regret
        series.append(Series(label, curve["round"], curve[kind], band, style, color))
    caption = "Regret over all rounds so far, averaged over episodes"
    if any(curve.band is not None for curve in series):
        caption += "; bands are 95% bootstrap intervals"
    return Chart(name, "Regret over time", "round", what, series, caption=f"{caption}.")


def _against_baselines(agent: AgentAudit, index: int) -> Chart:
    curves = dict(agent.baseline_curves)
    rounds = curves.pop("round")
    series = []
    for color, (name, curve) in enumerate(curves.items(), 1):
        rate = np.divide(curve, rounds)
        series.append(Series(BASELINES.get(name, name), rounds, rate, style="dashed", color=color))
    own = np.divide(agent.curve["external"], agent.curve["round"])
    series.append(Series("this agent", agent.curve["round"], own))  # last, so that it is on top
    caption = "External regret divided by rounds, for the agent and for baseline learners on the same losses."
    title = "Regret per round"
    return Chart(f"rate-{index}", title, "round", title.lower(), series, True, caption=caption)


def _contexts(found: Contexts) -> list[Table]:
    rows = [["best policy", "", "", *measure_cells(found.regret)]]
    for context in sorted(found.contexts, key=lambda context: -context.regret.total)[:MAX_AGENTS]:
        facts = [shown(context.context), shown(context.best), context.rounds]
        rows.append([*facts, *measure_cells(context.regret)])
    replayed = []
    for name, saved in found.saved.items():
        replayed.append([name, found.replayed[name].total, *measure_cells(saved)])
    columns = ("regret by context", "best action", "rounds", "per episode", "95% interval")
    headers = ("replayed on this log", "loss per episode", "saved per episode", "95% interval")
    return [Table(columns, rows), Table(headers, replayed)]


def measure_cells(measure: Measure) -> list[Any]:
    """Return the cells of a value per episode and its interval."""
    return [measure.total, interval(measure.low, measure.high)]


def _baselines(agent: AgentAudit) -> Table:
    kinds = ("external", "internal", "swap")
    length = agent.rounds / agent.episodes
    rows = []
    for name, measures in agent.beside().items():
        regrets = [measures[kind] for kind in kinds]
        rows.append([BASELINES.get(name, name), length * measures["loss_per_round"], *regrets])
    columns = [f"{kind} regret" for kind in kinds]
    return Table(("per episode, on the same losses", "loss", *columns), rows)


def _tests(agent: AgentAudit) -> Table:
    learning = agent.learning
    rows = []
    for name, test in learning.tests.items():
        rows.append([TITLES[name], test.p_value, f"{test.false_alarms:.0%}"])
    rows.append(["calibrated: regret falls", learning.regret_falls, "at most 5%"])
    play = "calibrated: play moves to better actions"
    rows.append([play, learning.play_moves, "at most 5%"])
    return Table(("test of sublinear regret", "p-value", "false alarms at 5%"), rows)


def _game(gaps: Gaps) -> Section:
    names = ("coarse correlated (CCE)", "correlated, pairwise (CE)", "swap")
    text = (
        "If these agents are the players in one game, their joint play has these equilibrium gaps."
    )
    table = Table(("gap", "per round"), list(zip(names, astuple(gaps), strict=True)))
    return Section("game", "Joint play", [text], tables=[table])
