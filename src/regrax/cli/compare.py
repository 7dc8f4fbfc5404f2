"""`regrax compare`: compare agents by regret."""

import sys
from pathlib import Path
from typing import Literal

from regrax._text import printable
from regrax.cli.options import Json, LogOptions, Output
from regrax.cli.shared import print_result, progress_bar, write_text


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

    with progress_bar(hidden=json) as show:
        settings = {"agent": agent, "measure": measure, **form.read()}
        result = compare_logs(logs, **settings, callback=lambda *at: show(at))
    failed = []
    if fail_above is not None:
        for name in result.above(fail_above):
            failed.append(f"{name} has more than {fail_above:g} per round")
    if fail_if_worse:
        for name in result.worse():
            failed.append(f"{name} is worse than {result.contestants[0].name}")
    if html is not None:
        from regrax.show.report import compare_page

        write_text(html, compare_page(result))
    print_result(result, json, {**result.to_dict(), "failed": failed})
    if failed:
        print(printable(f"regrax: failed: {'; '.join(failed)}"), file=sys.stderr)
        raise SystemExit(1)
