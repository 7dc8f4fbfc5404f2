"""Audits and comparisons as text for terminals."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from regrax._text import counted, fitted_table, interval, listed, paragraph, printable

if TYPE_CHECKING:
    from regrax.agents.audit.audits import AgentAudit, Audit
    from regrax.agents.audit.compare import Comparison
    from regrax.agents.audit.contexts import Contexts
    from regrax.agents.audit.intervals import Measure

MAX_AGENTS = 20
MAX_ACTIONS = 20
MAX_CONTEXTS = 20
MAX_SENTENCES = 10
LIMITS = "95 % interval, per episode"


def audit_text(audit: "Audit") -> Iterator[str]:
    """Yield tables and paragraphs about every agent, about the gaps, and about the rows that were skipped."""
    for agent in audit.agents[:MAX_AGENTS]:
        yield from _agent(agent)
    if len(audit.agents) > MAX_AGENTS:
        shares = f"showing {MAX_AGENTS} of {counted(len(audit.agents), 'agent')}"
        yield paragraph(f"{shares}: {verdicts(audit)}")
    if audit.gaps is not None:
        gaps = audit.gaps
        rows = [["CCE", gaps.cce_gap], ["CE, pairwise", gaps.ce_gap], ["swap", gaps.swap_gap]]
        columns = ("equilibrium gap", "per round")
        yield fitted_table(columns, rows, "If the agents played one game")
    bad = counted(audit.bad_rows, "bad row")
    yield paragraph(f"{counted(audit.rows, 'row')} read, {bad} left out")
    if audit.bad:
        yield "\n" + fitted_table(("first line", "rows", "reason"), _bad_rows(audit.bad))


def comparison_text(comparison: "Comparison") -> Iterator[str]:
    """Yield the ranking, the difference of every pair, and the notes."""
    rows: list[list[Any]] = []
    for agent in comparison.ranking():
        verdict = agent.audit.learning.verdict
        facts = [agent.ranks(), shown(agent.name), verdict, agent.episodes, agent.rounds]
        rows.append([*facts, *_cells(agent.value)])
    title = "loss" if comparison.measure == "loss" else f"{comparison.measure} regret"
    columns = ("rank", "agent", "verdict", "episodes", "rounds", "per round", "per episode", LIMITS)
    yield fitted_table(columns, rows, f"{title}, {counted(len(rows), 'agent')}, best first")
    rows = []
    for pair in comparison.pairs:
        names = f"{shown(pair.second)} - {shown(pair.first)}"
        tests = [pair.p_value, pair.adjusted, pair.effect_size]
        episodes = "paired" if pair.paired else "independent"
        rows.append([names, pair.difference, interval(pair.low, pair.high), *tests, episodes])
    if rows:
        columns = ("per episode", LIMITS, "p-value", "p-value by Holm", "effect size, SD")
        yield fitted_table(("difference", *columns, "episodes"), rows)
    if len(rows) <= MAX_SENTENCES:
        for pair in comparison.pairs:
            yield paragraph(pair.words)
    for note in comparison.notes:
        yield paragraph(f"note: {note}")


def verdicts(audit: "Audit") -> str:
    """Count the agents with each verdict, most frequent first."""
    counts = Counter(agent.learning.verdict for agent in audit.agents)
    return listed(f"{count:,} {verdict}" for verdict, count in counts.most_common())


def shown(text: str) -> str:
    r"""Make text from a log safe to print: one line, no control characters, at most 300 characters.

    >>> shown("rock\x1b[31m\ud800")
    'rock\\x1b[31m\\ud800'
    """
    text = printable(text)
    return text if len(text) <= 300 else f"{text[:297]}..."


def explored(measures: dict[str, float]) -> str:
    """Describe the measures of `rx.exploration` in a sentence.

    >>> explored({"suffix_failure": 0.25, "minimum_fraction": 0.1, "greedy_fraction": 0.5})
    'in 25% of episodes it never tried the best action in the second half; its least-used action got 10% of an even
    share; it played the best action so far in 50% of rounds'
    """
    never, least, greedy = (f"{100 * value:.3g}%" for value in measures.values())
    return (
        f"in {never} of episodes it never tried the best action in the second half; "
        f"its least-used action got {least} of an even share; "
        f"it played the best action so far in {greedy} of rounds"
    )


def _agent(agent: "AgentAudit") -> Iterator[str]:
    played = f"{counted(agent.rounds, 'round')} in {counted(agent.episodes, 'episode')}"
    actions = counted(len(agent.actions), "action")
    title = f"{shown(agent.agent)}: {played}, {actions}, {agent.feedback} feedback"
    rows: list[list[Any]] = [[name, *_cells(measure)] for name, measure in agent.measures()]
    yield fitted_table(("measure", "per round", "per episode", LIMITS), rows, title)
    yield paragraph(shown(agent.learning.words))
    if agent.fractions:
        ranked = sorted(agent.fractions.items(), key=lambda item: -item[1])
        shares = [f"{shown(name)} {share:.1%}" for name, share in ranked[:MAX_ACTIONS]]
        yield paragraph(f"played: {listed(shares)}")
    if agent.answers:
        counts = [f"{shown(name)} {count:,}" for name, count in sorted(agent.answers.items())]
        yield paragraph(f"answers by parser: {listed(counts)}")
    if agent.exploration:
        yield paragraph(f"exploration: {explored(agent.exploration)}")
    if agent.worst_swap:
        yield paragraph(f"worst swap: {shown(agent.worst_swap.words)}")
    yield ""
    if agent.contexts is not None:
        yield from _contexts(agent.contexts)
    if agent.baselines:
        rows = []
        for name, measures in agent.beside().items():
            values = [measures[key] for key in ("loss_per_round", "external", "swap")]
            rows.append([name, *values])
        columns = ("loss per round", "regret per episode", "swap regret per episode")
        yield fitted_table(("on the same losses", *columns), rows)
    if agent.learning.tests:
        rows = []
        for name, test in agent.learning.tests.items():
            rows.append([name, f"{test.p_value:.3g}", f"{100 * test.false_alarms:.3g}"])
        yield fitted_table(("published test", "p-value", "false alarms at 5 %, in %"), rows)
    for note in agent.notes:
        yield paragraph(f"note: {shown(note)}")


def _contexts(contexts: "Contexts") -> Iterator[str]:
    by_regret = sorted(contexts.contexts, key=lambda context: -context.regret.total)
    rows: list[list[Any]] = [["best policy", "", "", *_cells(contexts.regret)]]
    for context in by_regret[:MAX_CONTEXTS]:
        facts = [shown(context.context), shown(context.best), context.rounds]
        rows.append([*facts, *_cells(context.regret)])
    columns = ("best action", "rounds", "per round", "per episode", LIMITS)
    title = f"{len(by_regret)} contexts, most regret first"
    yield fitted_table(("regret by context", *columns), rows, title)
    rows = []
    for name, saved in contexts.saved.items():
        rows.append([name, contexts.replayed[name].per_round, *_cells(saved)])
    columns = ("loss per round", "saved per round", "saved per episode", LIMITS)
    yield fitted_table(("replayed on this log", *columns), rows)


def _bad_rows(bad: list[dict[str, str]]) -> list[list[Any]]:
    """List each kind of reason once, with its first line and the number of rows."""
    rows: dict[str, list[Any]] = {}
    for entry in bad:
        spans = [span.partition("-") for span in entry["lines"].split(", ")]
        count = sum(int(last or first) - int(first) + 1 for first, _, last in spans)
        kind = entry["reason"].partition(", got ")[0]
        row = rows.setdefault(kind, [spans[0][0], 0, entry["reason"]])
        row[1] += count
    return list(rows.values())


def _cells(measure: "Measure") -> list[Any]:
    return [measure.per_round, measure.total, interval(measure.low, measure.high)]
