"""`regrax audit`: regret of the agents in a log, their worst mistake, and whether they learn."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regrax._settings import Output, Positional
from regrax.cli._logs import LogOptions
from regrax.cli._text import number, print_json, print_table

MAX_PRINTED_AGENTS = 20  # in text; --json has all

if TYPE_CHECKING:
    from regrax.audit import AgentAudit, Audit, Measure


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
        from regrax._files import write_output
        from regrax.audit import audit_log
        from regrax.cli._text import Bars
        from regrax.experiments import Progress
        from regrax.show.report import audit_page

        with Bars(
            hidden=self.json, after=1.0
        ) as bars:  # of what is quickly done it would only flicker
            options = self.form.read()
            audit = audit_log(self.log, lambda *at: bars.show(Progress(*at)), **options)
        if self.html:
            write_output(self.html, audit_page(audit, self.log.name).encode("utf-8", "replace"))
        print_json({"log": str(self.log), **audit.to_dict()}) if self.json else _print(audit)


def _print(audit: "Audit") -> None:
    from regrax.audit import counted, verdicts

    for agent in audit.agents[:MAX_PRINTED_AGENTS]:
        _print_agent(agent)
    if len(audit.agents) > MAX_PRINTED_AGENTS:
        print(
            f"{MAX_PRINTED_AGENTS} of {counted(len(audit.agents), 'agent')} are shown: {verdicts(audit)}"
        )
    if audit.gaps is not None:
        gaps = audit.gaps
        rows = [
            ["CCE", number(gaps.cce_gap)],
            ["CE, pairwise", number(gaps.ce_gap)],
            ["swap", number(gaps.swap_gap)],
        ]
        print_table(
            ("gap", "per round"), rows, "If they are the players of one game, their joint play"
        )
    print(f"{counted(audit.rows, 'row')} read, {counted(audit.bad_rows, 'bad row')} left out")
    if audit.bad:
        print_table(("line", "why it was left out"), [[b["lines"], b["reason"]] for b in audit.bad])


def _print_agent(agent: "AgentAudit") -> None:
    from regrax.audit import counted, explored, shown

    played = f"{counted(agent.rounds, 'round')} in {counted(agent.episodes, 'episode')}"
    about = f"{len(agent.actions)} actions, {agent.feedback} feedback"
    title = f"{shown(agent.agent)}: {played}, {about}"
    rows = [[f"{kind} regret", *_cells(measure)] for kind, measure in agent.regret.items()]
    rows += [[f"regret against {shown(a)}", *_cells(m)] for a, m in agent.against.items()]
    rows.append(["loss", *_cells(agent.loss)])
    print_table(("measure", "per episode", "per round", "95 % interval"), rows, title)
    print(agent.learning.words)
    if agent.fractions:
        print(f"played: {_shares(agent.fractions)}")
    if agent.answers:
        print(f"answers were read by: {_counts(agent.answers)}")
    if agent.exploration is not None:
        print(explored(agent.exploration))
    if agent.worst_swap is not None:
        print(f"worst swap: {shown(agent.worst_swap.words)}")
    if agent.baselines:
        columns = ("on the same losses", "loss per round", "external", "swap")
        kinds = ("loss_per_round", "external", "swap")
        own = [number(agent.loss_per_round), *(number(agent.regret[k].total) for k in kinds[1:])]
        others = [[n, *(number(found[k]) for k in kinds)] for n, found in agent.baselines.items()]
        print_table(columns, [["this agent", *own], *others])
    if agent.learning.tests:
        tests = agent.learning.tests.items()
        print_table(
            ("published test", "p-value", "false alarms at 5 %"),
            [[n, f"{t.p_value:.3g}", f"{t.false_alarms:.0%}"] for n, t in tests],
        )
    for note in agent.notes:
        print(f"note: {shown(note)}")


def _shares(fractions: dict[str, float]) -> str:
    from regrax.audit import shown

    ranked = sorted(fractions.items(), key=lambda item: -item[1])[:MAX_PRINTED_AGENTS]
    return ", ".join(f"{shown(name)} {share:.1%}" for name, share in ranked)


def _counts(answers: dict[str, int]) -> str:
    from regrax.audit import shown

    return ", ".join(f"{shown(name)} {count:,}" for name, count in sorted(answers.items()))


def _cells(measure: "Measure") -> list[str]:
    ends = "" if measure.low is None else f"{measure.low:.5g} to {measure.high:.5g}"
    return [number(measure.total), number(measure.per_round), ends]
