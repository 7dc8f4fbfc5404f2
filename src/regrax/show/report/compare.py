"""Comparison report: the difference of two agents, or the ranking of several, with intervals and verdicts."""

from regrax import _checks as checks
from regrax._text import counted, interval, number
from regrax.agents.audit import Comparison, Pair, shown
from regrax.show.report.audit import measure_cells, regret_chart
from regrax.show.report.charts import Interval, Intervals
from regrax.show.report.page import Answer, Section, Table, Tone, render

MAX_CURVES = 8
MAX_BARS = 30
MAX_ANSWERS = 10


def compare_page(comparison: Comparison) -> str:
    """Render a comparison, the result of `compare_logs`, as a self-contained HTML page."""
    checks.instance("comparison", comparison, Comparison, "the result of compare_logs")
    lead = [f"Note: {shown(note)}." for note in comparison.notes]
    sections = [_agents(comparison)]
    if len(comparison.contestants) > 2:
        answers = _ranks(comparison)
        sections.append(_differences(comparison))
    else:
        answers = [_answer(pair, comparison.measure) for pair in comparison.pairs]
        if comparison.pairs:
            sections.insert(0, _differences(comparison))
    return render("Agents compared", lead, sections, "Written by regrax compare.", answers=answers)


def _amount(amount: str, measure: str) -> str:
    """Return a verb, an amount and the measure."""
    verbs = {"external": f"regrets {amount}", "loss": f"loses {amount}"}
    return verbs.get(measure, f"has {amount} {measure} regret")


def _ranks(comparison: Comparison) -> list[Answer]:
    """Return a sentence per agent, best first; tied agents share a range of ranks."""
    answers = []
    for agent in comparison.ranking()[:MAX_ANSWERS]:
        amount = _amount(number(agent.value.total), comparison.measure)
        sentence = f"{shown(agent.name)} {amount} per episode"
        if agent.value.low is not None:
            sentence += f" ({interval(agent.value.low, agent.value.high)})"
        answers.append(Answer(f"{sentence}.", f"rank {agent.ranks()}"))
    return answers


def _finding(pair: Pair) -> tuple[str, Tone, int]:
    """Return the badge, tone and colour of a difference."""
    if pair.worse is None:
        return "no clear difference", "neutral", 6
    if pair.worse == pair.second:
        return "worse", "bad", 1
    return "better", "good", 2


def _answer(pair: Pair, measure: str) -> Answer:
    badge, tone, _ = _finding(pair)
    more = "more" if pair.difference > 0 else "less"
    amount = _amount(f"{number(abs(pair.difference))} {more}", measure)
    sentence = f"{shown(pair.second)} {amount} per episode than {shown(pair.first)}"
    if pair.low is None:
        sentence += "; with so few episodes this may be chance"
    elif tone == "neutral":
        sentence += ", which may be chance"
    return Answer(f"{sentence}.", badge, tone)


def _agents(comparison: Comparison) -> Section:
    kind = comparison.measure
    if kind in ("loss", "policy"):
        kind = "external"
    curves = []
    for agent in comparison.contestants[:MAX_CURVES]:
        if kind in agent.audit.curve:
            curves.append((shown(agent.name), agent.audit.curve, kind))
    charts = [regret_chart("time", f"{kind} regret", curves)] if curves else []
    rows = []
    for agent in comparison.ranking():
        verdict = shown(agent.audit.learning.words)
        cells = measure_cells(agent.value)
        rows.append([agent.ranks(), shown(agent.name), agent.episodes, *cells, verdict])
    columns = ("rank", "agent", "episodes", "per episode", "95% interval", "verdict")
    title = f"{_what(comparison).capitalize()} of {counted(len(rows), 'agent')}"
    text = "Best first. Agents whose ranks overlap are tied: no significant difference."
    return Section("agents", title, [text], charts, [Table(columns, rows)])


def _what(comparison: Comparison) -> str:
    return "loss" if comparison.measure == "loss" else f"{comparison.measure} regret"


def _differences(comparison: Comparison) -> Section:
    text = [
        "Episodes are paired if both agents faced the same losses in each, and treated as independent otherwise. p is "
        "the p-value of a permutation test; Holm's correction makes it valid for all pairs together. Each interval "
        "covers a single pair. The effect size is the difference in standard deviations."
    ]
    columns = ("difference", "p", "p, Holm", "effect", "episodes")
    rows = []
    bars = []
    for pair in comparison.pairs:
        name = f"{shown(pair.second)} minus {shown(pair.first)}"
        how = "paired" if pair.paired else "independent"
        rows.append([name, pair.p_value, pair.adjusted, pair.effect_size, how])
        label = f"{name}: {number(pair.difference)}"
        if pair.low is not None:
            label += f" ({interval(pair.low, pair.high)})"
        bars.append(Interval(label, pair.difference, pair.low, pair.high, _finding(pair)[2]))
    caption = "Means and 95% intervals. Right of zero, the agent named first is worse. Grey: no clear difference."
    x_label = f"difference in {_what(comparison)} per episode"
    chart = Intervals("pairs", "Differences", x_label, bars[:MAX_BARS], caption=caption)
    return Section("pairs", "Differences", text, [chart], [Table(columns, rows)])
