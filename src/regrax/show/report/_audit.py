"""The page of an audit: verdicts first, then each agent's regret over time, its baselines and the tests."""

from regrax.audit import AgentAudit, Audit, Measure, counted, explored, shown, verdicts
from regrax.show.report._chart import Chart, Series
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
    some = audit.agents[:MAX_AGENTS]
    lead = [f"{shown(agent.agent)}: {agent.learning.words}." for agent in some]
    if len(some) < len(audit.agents):
        all_of = counted(len(audit.agents), "agent")
        lead.append(f"{len(some)} of {all_of} are shown: {verdicts(audit)}.")
    lead.append(f"{audit.rows:,} rows of {shown(name)} were read, {audit.bad_rows:,} left out.")
    sections = [_agent(agent, index) for index, agent in enumerate(some)]
    sections += [_game(audit)] if audit.gaps is not None else []
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
    if agent.fractions:
        shares = [
            f"{shown(name)} {share:.1%}" for name, share in list(agent.fractions.items())[:50]
        ]
        text.append(f"Played: {', '.join(shares)}.")
    if agent.answers:
        counts = [f"{shown(name)} {count:,}" for name, count in sorted(agent.answers.items())]
        text.append(f"Answers were read by: {', '.join(counts)}.")
    tables = [_regrets(agent)]
    tables += [_baselines(agent)] if agent.baselines else []
    tables += [_tests(agent)] if agent.learning.tests else []
    charts = [_over_time(agent, index)] if agent.regret else []
    charts += [_beside(agent, index)] if agent.baseline_curves else []
    return Section(f"agent-{index}", shown(agent.agent)[:60], text, charts, tables)


def _over_time(agent: AgentAudit, index: int) -> Chart:
    curve = agent.curve
    series = []
    for color, kind in enumerate(agent.regret):
        if kind == "dynamic":  # of another size: it would press the others flat
            continue
        band = None
        if f"{kind}_low" in curve:
            ends = zip(curve[f"{kind}_low"], curve[f"{kind}_high"], strict=True)
            band = [(high - low) / 2 for low, high in ends]
        # swap regret is often external regret: dashes let both be seen
        style = "dashed" if kind == "swap" else "line"
        series.append(Series(kind, curve["round"], curve[kind], band, style, color))
    caption = "Mean over episodes of the regret of all rounds so far"
    banded = any(s.band is not None for s in series)
    caption += ", with bands as wide as the 95 % bootstrap intervals." if banded else "."
    title = "Regret over time"
    return Chart(f"time-{index}", title, "round", "regret", series, caption=caption)


def _beside(agent: AgentAudit, index: int) -> Chart:
    rounds = agent.curve["round"]
    own = [r / t for r, t in zip(agent.curve["external"], rounds, strict=True)]
    series = []
    others = {name: curve for name, curve in agent.baseline_curves.items() if name != "round"}
    theirs = agent.baseline_curves["round"]
    for color, (name, curve) in enumerate(others.items(), 1):
        rates = [r / t for r, t in zip(curve, theirs, strict=True)]
        series.append(Series(name, theirs, rates, style="dashed", color=color))
    series.append(Series("this agent", rounds, own))  # last, so on top
    caption = "External regret divided by the rounds so far, beside others on the same losses."
    title = "Regret per round"
    return Chart(f"rate-{index}", title, "round", "regret per round", series, True, caption=caption)


def _regrets(agent: AgentAudit) -> Table:
    rows = [[f"{kind} regret", *_cells(measure)] for kind, measure in agent.regret.items()]
    rows += [[f"regret against {shown(a)}", *_cells(m)] for a, m in agent.against.items()]
    rows.append(["loss", *_cells(agent.loss)])
    return Table(("measure", "per episode", "per round", "95 % interval"), rows)


def _cells(measure: Measure) -> list[str]:
    ends = ""
    if measure.low is not None and measure.high is not None:
        ends = f"{number(measure.low)} to {number(measure.high)}"
    return [number(measure.total), number(measure.per_round), ends]


def _baselines(agent: AgentAudit) -> Table:
    kinds = ("external", "internal", "swap")
    own = [number(agent.loss_per_round), *(number(agent.regret[k].total) for k in kinds)]
    rows = [["this agent", *own]]
    for name, found in agent.baselines.items():
        rows.append([name, number(found["loss_per_round"]), *(number(found[k]) for k in kinds)])
    return Table(("on the same losses", "loss per round", "external", "internal", "swap"), rows)


def _tests(agent: AgentAudit) -> Table:
    learning = agent.learning
    rows = [
        [TITLES[n], f"{t.p_value:.3g}", f"{t.false_alarms:.0%}"] for n, t in learning.tests.items()
    ]
    calibrated = (
        ("regret falls", learning.regret_falls),
        ("play moves to better actions", learning.play_moves),
    )
    rows += [[f"calibrated: {n}", f"{p:.2g}", "at most 5%"] for n, p in calibrated if p is not None]
    return Table(("test of sublinear regret", "p-value", "false alarms at 5 %"), rows)


def _game(audit: Audit) -> Section:
    gaps = audit.gaps
    assert gaps is not None
    rows = [
        ["coarse correlated (CCE)", number(gaps.cce_gap)],
        ["correlated, pairwise (CE)", number(gaps.ce_gap)],
        ["swap", number(gaps.swap_gap)],
    ]
    text = [
        "If these agents are the players of one game, their joint play is this far from equilibrium:"
    ]
    return Section("game", "Joint play", text, tables=[Table(("gap", "per round"), rows)])


def _bad(audit: Audit) -> Section:
    rows = [[entry["lines"], entry["reason"]] for entry in audit.bad]
    text = [f"{audit.bad_rows:,} rows broke a rule and are in none of the numbers above."]
    return Section("bad", "Rows left out", text, tables=[Table(("line", "reason"), rows)])
