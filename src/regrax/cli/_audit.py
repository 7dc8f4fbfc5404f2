"""`regrax audit`: regret of the agents in a log, their worst mistake, and whether they learn."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regrax._settings import Output, Positional
from regrax.cli._logs import LogOptions, interval
from regrax.cli._text import number, print_json, print_table

MAX_PRINTED_AGENTS = 20  # in text; --json has all

if TYPE_CHECKING:
    from regrax.agents.audit import AgentAudit, Audit


@dataclass(frozen=True)
class AuditLog:
    """Audit a log of what agents played and lost, a row per round.

    Args:
        log: JSON lines (.jsonl, .ndjson, .json), .csv or .parquet; `regrax play --log` writes one.
        json: Print one JSON object.
        html: Write a report into this file.

    regrax audit log.jsonl --html report.html
    """

    log: Positional[Path]
    json: bool = False
    html: Output | None = None
    form: LogOptions = field(default_factory=LogOptions)

    def run(self) -> None:
        """Read, audit, write, print."""
        from regrax.agents.audit import audit_log
        from regrax.cli._text import Bars
        from regrax.experiments import Progress

        with Bars(hidden=self.json, after=1.0) as bars:  # earlier it would only flicker
            options = self.form.read()
            audit = audit_log(self.log, lambda *at: bars.show(Progress(*at)), **options)
        if self.html:
            from regrax._files import write_output
            from regrax.show.report import audit_page

            write_output(self.html, audit_page(audit, self.log.name).encode("utf-8", "replace"))
        print_json({"log": str(self.log), **audit.to_dict()}) if self.json else _print(audit)


def _print(audit: "Audit") -> None:
    from regrax.agents.audit import counted, verdicts

    for agent in audit.agents[:MAX_PRINTED_AGENTS]:
        _print_agent(agent)
    if len(audit.agents) > MAX_PRINTED_AGENTS:
        every = counted(len(audit.agents), "agent")
        print(f"{MAX_PRINTED_AGENTS} of {every} are shown: {verdicts(audit)}")
    if (gaps := audit.gaps) is not None:
        named = {"CCE": gaps.cce_gap, "CE, pairwise": gaps.ce_gap, "swap": gaps.swap_gap}
        title = "If they are the players of one game, their joint play"
        print_table(("gap", "per round"), [[n, number(gap)] for n, gap in named.items()], title)
    print(f"{counted(audit.rows, 'row')} read, {counted(audit.bad_rows, 'bad row')} left out")
    if audit.bad:
        print_table(("line", "why it was left out"), [[b["lines"], b["reason"]] for b in audit.bad])


def _print_agent(agent: "AgentAudit") -> None:
    from regrax.agents.audit import counted, explored, shown

    played = f"{counted(agent.rounds, 'round')} in {counted(agent.episodes, 'episode')}"
    about = f"{len(agent.actions)} actions, {agent.feedback} feedback"
    title = f"{shown(agent.agent)}: {played}, {about}"
    rows = [[name, *measure.cells(number, interval)] for name, measure in agent.measures()]
    print_table(("measure", "per round", "per episode", "its 95 % interval"), rows, title)
    ranked = sorted(agent.fractions.items(), key=lambda item: -item[1])[:MAX_PRINTED_AGENTS]
    shares = [f"{shown(name)} {share:.1%}" for name, share in ranked]
    counts = [f"{shown(name)} {count:,}" for name, count in sorted(agent.answers.items())]
    said = [
        agent.learning.words,
        shares and f"played: {', '.join(shares)}",
        counts and f"answers were read by: {', '.join(counts)}",
        agent.exploration and explored(agent.exploration),
        agent.worst_swap and f"worst swap: {shown(agent.worst_swap.words)}",
    ]
    print(*filter(None, said), sep="\n")
    if agent.baselines:
        kinds, others = ("loss_per_round", "external", "swap"), agent.beside().items()
        rows = [[name, *(number(found[kind]) for kind in kinds)] for name, found in others]
        print_table(("on the same losses", "loss per round", "external", "swap"), rows)
    if agent.learning.tests:
        tests = agent.learning.tests.items()
        rows = [[n, f"{t.p_value:.3g}", f"{t.false_alarms:.0%}"] for n, t in tests]
        print_table(("published test", "p-value", "false alarms at 5 %"), rows)
    for note in agent.notes:
        print(f"note: {shown(note)}")
