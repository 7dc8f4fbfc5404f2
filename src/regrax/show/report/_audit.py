"""The page of an audit: verdicts first, then each agent's regret over time, its baselines and the tests."""

from dataclasses import astuple

import numpy as np

from regrax import _checks as checks
from regrax.agents.audit import AgentAudit, Audit, Gaps, counted, explored, shown, verdicts
from regrax.show.report._chart import Chart, Series, Style
from regrax.show.report._page import Section, Table, render
from regrax.show.report._svg import number

MAX_AGENTS = 50
TITLES = {
    "trend": "trend check (Park et al. 2024)",
    "regression": "regression (Park et al. 2024)",
    "mann_kendall": "Mann-Kendall",
}


def audit_page(audit: Audit, name: str) -> str:
    """The self-contained HTML page."""
    checks.instance("audit", audit, Audit, "what audit_log returns")
    some = audit.agents[:MAX_AGENTS]
    lead = [f"{shown(agent.agent)}: {agent.learning.words}." for agent in some]
    if len(some) < len(audit.agents):
        all_of = counted(len(audit.agents), "agent")
        lead.append(f"{len(some)} of {all_of} are shown: {verdicts(audit)}.")
    lead.append(f"{audit.rows:,} rows of {shown(name)} were read, {audit.bad_rows:,} left out.")
    sections = [_agent(agent, index) for index, agent in enumerate(some)]
    sections += [_game(audit.gaps)] if audit.gaps is not None else []
    sections += [_bad(audit)] if audit.bad else []
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
    shares = [f"{shown(name)} {share:.1%}" for name, share in list(agent.fractions.items())[:50]]
    counts = [f"{shown(name)} {count:,}" for name, count in sorted(agent.answers.items())]
    for what, some in (("Played", shares), ("Answers were read by", counts)):
        text += [f"{what}: {', '.join(some)}."] if some else []
    tables = [_regrets(agent)]
    tables += [_baselines(agent)] if agent.baselines else []
    tables += [_tests(agent)] if agent.learning.tests else []
    charts = [_over_time(agent, index)] if agent.regret else []
    charts += [_beside(agent, index)] if agent.baseline_curves else []
    return Section(f"agent-{index}", shown(agent.agent)[:60], text, charts, tables)


def _over_time(agent: AgentAudit, index: int) -> Chart:
    series = [  # swap regret is often external regret: dashes let both be seen
        regret_series(kind, agent.curve, kind, color, "dashed" if kind == "swap" else "line")
        for color, kind in enumerate(agent.regret)
        if kind in agent.curve
        and kind != "dynamic"  # of another size: it would press the others flat
    ]
    bands = ", with bands as wide as the 95 % bootstrap intervals" if series[0].band else ""
    caption = f"Mean over episodes of the regret of all rounds so far{bands}."
    name, title = f"time-{index}", "Regret over time"
    return Chart(name, title, "round", "regret", series, caption=caption)


def regret_series(
    label: str, curve: dict[str, list[float]], kind: str, color: int, style: Style = "line"
) -> Series:
    """A kind of regret after every round, with a band as wide as its interval where there is one."""
    ends = zip(curve.get(f"{kind}_low", []), curve.get(f"{kind}_high", []), strict=True)
    band = [(high - low) / 2 for low, high in ends] or None
    return Series(label, curve["round"], curve[kind], band, style, color)


def _beside(agent: AgentAudit, index: int) -> Chart:
    (_, rounds), *others = agent.baseline_curves.items()  # the rounds come first
    series = [
        Series(name, rounds, np.divide(curve, rounds), style="dashed", color=color)
        for color, (name, curve) in enumerate(others, 1)
    ]
    rounds = agent.curve["round"]
    own = np.divide(agent.curve["external"], rounds)
    series.append(Series("this agent", rounds, own))  # last, so on top
    caption = "External regret divided by the rounds so far, beside others on the same losses."
    title = "Regret per round"
    return Chart(f"rate-{index}", title, "round", "regret per round", series, True, caption=caption)


def _regrets(agent: AgentAudit) -> Table:
    rows = [[name, *measure.cells(number, interval)] for name, measure in agent.measures()]
    return Table(("measure", "per round", "per episode", "its 95 % interval"), rows)


def interval(low: float | None, high: float | None) -> str:
    """An interval in words, nothing where there is none."""
    return "" if low is None or high is None else f"{number(low)} to {number(high)}"


def _baselines(agent: AgentAudit) -> Table:
    kinds = ("loss_per_round", "external", "internal", "swap")
    rows = [[name, *(number(found[k]) for k in kinds)] for name, found in agent.beside().items()]
    return Table(("on the same losses", "loss per round", *kinds[1:]), rows)


def _tests(agent: AgentAudit) -> Table:
    learning, tests = agent.learning, agent.learning.tests.items()
    rows = [[TITLES[n], f"{t.p_value:.3g}", f"{t.false_alarms:.0%}"] for n, t in tests]
    ours = (
        ("regret falls", learning.regret_falls),
        ("play moves to better actions", learning.play_moves),
    )
    rows += [[f"calibrated: {n}", f"{p:.2g}", "at most 5%"] for n, p in ours]
    return Table(("test of sublinear regret", "p-value", "false alarms at 5 %"), rows)


def _game(gaps: Gaps) -> Section:
    names = ("coarse correlated (CCE)", "correlated, pairwise (CE)", "swap")
    rows = [[name, number(gap)] for name, gap in zip(names, astuple(gaps), strict=True)]
    joint = "their joint play is this far from equilibrium:"
    text = [f"If these agents are the players of one game, {joint}"]
    return Section("game", "Joint play", text, tables=[Table(("gap", "per round"), rows)])


def _bad(audit: Audit) -> Section:
    rows = [[entry["lines"], entry["reason"]] for entry in audit.bad]
    text = [f"{audit.bad_rows:,} rows broke a rule and are in none of the numbers above."]
    return Section("bad", "Rows left out", text, tables=[Table(("line", "reason"), rows)])
