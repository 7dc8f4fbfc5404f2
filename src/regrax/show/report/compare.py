"""Comparison report: the difference of two agents, or the ranking of several, with intervals and verdicts."""

from regrax import _checks as checks
from regrax._text import counted
from regrax.agents.audit import Comparison, Pair, shown
from regrax.agents.audit.compare import LEVEL
from regrax.show.plots.sheets import number
from regrax.show.report.audit import interval, measure_cells, regret_series
from regrax.show.report.charts import Chart, Interval, Intervals
from regrax.show.report.page import Answer, Section, Table, render

MAX_CURVES = 8
MAX_ANSWERS = 10
BETTER, WORSE, UNCLEAR = 2, 1, 6  # colours


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


def _ranks(comparison: Comparison) -> list[Answer]:
    """Return a sentence per agent, best first; tied agents share a range of ranks."""
    verbs = {"external": "regrets {}", "loss": "loses {}"}
    verb = verbs.get(comparison.measure, f"has {{}} {comparison.measure} regret")
    answers = []
    for agent in comparison.ranking()[:MAX_ANSWERS]:
        sentence = f"{shown(agent.name)} {verb.format(number(agent.value.total, 3))} per episode"
        limits = interval(agent.value.low, agent.value.high)
        if limits:
            sentence += f" ({limits})"
        answers.append(Answer(f"{sentence}.", f"rank {agent.ranks()}"))
    return answers


def _difference(pair: Pair) -> int:
    """Return the colour that says whether the second agent is better or worse, or that it is not clear."""
    if pair.adjusted is None or pair.adjusted > LEVEL:
        return UNCLEAR
    return WORSE if pair.difference > 0 else BETTER


def _answer(pair: Pair, measure: str) -> Answer:
    first = shown(pair.first)
    second = shown(pair.second)
    amount = f"{number(abs(pair.difference), 3)} {'more' if pair.difference > 0 else 'less'}"
    verbs = {"external": f"regrets {amount}", "loss": f"loses {amount}"}
    verb = verbs.get(measure, f"has {amount} {measure} regret")
    sentence = f"{second} {verb} per episode than {first}"
    limits = interval(pair.low, pair.high)
    match _difference(pair):
        case 1:
            return Answer(f"{sentence}.", "worse", "bad")
        case 2:
            return Answer(f"{sentence}.", "better", "good")
    if limits:
        return Answer(f"{sentence}, which may be chance.", "no clear difference")
    return Answer(f"{sentence}; with so few episodes this may be chance.", "no clear difference")


def _agents(comparison: Comparison) -> Section:
    rows = []
    for agent in comparison.ranking():
        cells = measure_cells(agent.value)
        verdict = shown(agent.audit.learning.words)
        rows.append([agent.ranks(), shown(agent.name), f"{agent.episodes:,}", *cells, verdict])
    columns = ("rank", "agent", "episodes", "per episode", "95% interval", "verdict")
    kind = comparison.measure
    if kind in ("loss", "policy"):
        kind = "external"
    series = []
    for agent in comparison.contestants[:MAX_CURVES]:
        if kind in agent.audit.curve:
            name = shown(agent.name)
            series.append(regret_series(name, agent.audit.curve, kind, len(series)))
    charts = []
    if series:
        caption = "Regret over all rounds so far, averaged over episodes; bands are 95% intervals."
        title = "Regret over time"
        charts.append(Chart("time", title, "round", f"{kind} regret", series, caption=caption))
    what = "Loss" if comparison.measure == "loss" else f"{comparison.measure.capitalize()} regret"
    title = f"{what} of {counted(len(comparison.contestants), 'agent')}"
    text = "Best first. Agents whose ranks overlap are tied: no significant difference."
    return Section("agents", title, [text], charts, [Table(columns, rows)])


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
        tests = (pair.p_value, pair.adjusted, pair.effect_size)
        how = "paired" if pair.paired else "independent"
        rows.append([name, *("" if value is None else f"{value:.2g}" for value in tests), how])
        label = f"{name}: {number(pair.difference, 3)}"
        if pair.low is not None:
            label += f" ({interval(pair.low, pair.high)})"
        bars.append(Interval(label, pair.difference, pair.low, pair.high, _difference(pair)))
    measure = "loss" if comparison.measure == "loss" else f"{comparison.measure} regret"
    caption = "Means and 95% intervals. Right of zero, the agent named first is worse. Grey: no clear difference."
    x_label = f"difference in {measure} per episode"
    chart = Intervals("pairs", "Differences", x_label, bars[:30], caption=caption)
    return Section("pairs", "Differences", text, [chart], [Table(columns, rows)])
