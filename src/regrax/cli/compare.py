"""`regrax compare`: compare agents by regret."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regrax.cli.inputs import Json, LogOptions, Output
from regrax.cli.output import Bar, counted, interval, print_json, print_table, print_text, printable

if TYPE_CHECKING:
    from regrax.agents.audit import Comparison

MAX_SENTENCES = 10


def compare(
    *logs: Path,
    agent: str | None = None,
    measure: Literal["external", "internal", "swap", "dynamic", "policy", "loss"] = "external",
    fail_above: float | None = None,
    fail_if_worse: bool = False,
    html: Output = None,
    json: Json = False,
    form: LogOptions = LogOptions(),
) -> None:
    """Rank agents by regret; a gate for continuous integration.

    Example uses:
        regrax compare before.jsonl after.jsonl --fail-if-worse
        regrax compare log.jsonl --measure swap --fail-above 0.1

    Args:
        logs: One log per agent, with the reference first, or one log with several agents.
        agent: Agent to compare in each log, if a log has several.
        measure: Kind of regret to compare (policy: against the best policy by context), or the loss itself.
        fail_above: Exit with code 1 if an agent's measure per round is above this.
        fail_if_worse: Exit with code 1 if an agent is significantly worse than the first (5 % level over all pairs).
        html: Write a report to this file.
    """
    from regrax.agents.audit import compare_logs

    if not logs:
        raise ValueError("compare needs at least one log")
    with Bar(hidden=json) as bar:
        settings = {"agent": agent, "measure": measure, **form.read()}
        found = compare_logs(logs, **settings, callback=bar.move)
    failed = []
    if fail_above is not None:
        failed += [
            f"{name} has more than {fail_above:g} per round" for name in found.above(fail_above)
        ]
    if fail_if_worse:
        first = found.contestants[0].name
        failed += [f"{name} is worse than {first}" for name in found.worse()]
    if html is not None:
        from regrax._files import write_output
        from regrax.show.report import compare_page

        write_output(html, compare_page(found).encode("utf-8", "replace"))
    result = {**found.to_dict(), "failed": failed}
    if json:
        print_json(result)
    else:
        _print(found)
    if failed:
        sys.stdout.flush()
        print(printable(f"regrax: failed: {'; '.join(failed)}"), file=sys.stderr)
        sys.exit(1)


def _print(found: "Comparison") -> None:
    rows = []
    for agent in found.ranking():
        value = agent.value
        verdict = agent.audit.learning.verdict
        limits = interval(value.low, value.high)
        facts = [agent.ranks(), agent.name[:300], verdict, agent.episodes, agent.rounds]
        rows.append([*facts, value.per_round, value.total, limits])
    title = "loss" if found.measure == "loss" else f"{found.measure} regret"
    columns = ("rank", "agent", "verdict", "episodes", "rounds")
    columns += ("per round", "per episode", "95 % interval, per episode")
    print_table(columns, rows, f"{title}, {counted(len(rows), 'agent')}, best first")
    rows = []
    for pair in found.pairs:
        tests = [pair.p_value, pair.adjusted, pair.effect_size]
        limits = interval(pair.low, pair.high)
        names = f"{pair.second[:300]} - {pair.first[:300]}"
        episodes = "paired" if pair.paired else "independent"
        rows.append([names, pair.difference, limits, *tests, episodes])
    if rows:
        columns = ("per episode", "95 % interval, per episode", "p-value", "p-value by Holm")
        print_table(("difference", *columns, "effect size, SD", "episodes"), rows)
    if len(found.pairs) <= MAX_SENTENCES:
        for pair in found.pairs:
            print_text(pair.words)
    for note in found.notes:
        print_text(f"note: {note}")
