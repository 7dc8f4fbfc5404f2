"""`regrax compare`: which agent regrets more, and a gate for continuous integration."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regrax._settings import Output, Positional
from regrax.cli._logs import LogOptions, interval
from regrax.cli._text import number, print_json, print_table, say

if TYPE_CHECKING:
    from regrax.agents.audit import Comparison

FAILED = 1


@dataclass(frozen=True)
class CompareLogs:
    """Compare the agents of several logs, or of one, by their regret.

    Args:
        logs: The logs, one per agent, the first being the reference; or one log of several agents.
        agent: Which agent of each log; needed if several logs hold several agents.
        measure: What is compared: a kind of regret, or the loss itself.
        fail_above: End with exit code 1 if an agent's measure per round is above this.
        fail_if_worse: End with exit code 1 if an agent is significantly worse than the first (at 5 % for all pairs).
        json: Print one JSON object.
        html: Write an HTML page to this file.

    regrax compare before.jsonl after.jsonl --fail-if-worse
    """

    logs: Positional[tuple[Path, ...]]
    agent: str | None = None
    measure: Literal["external", "internal", "swap", "dynamic", "loss"] = "external"
    fail_above: float | None = None
    fail_if_worse: bool = False
    json: bool = False
    html: Output | None = None
    form: LogOptions = field(default_factory=LogOptions)

    def run(self) -> None:
        """Read, compare, write, print, and fail if that was asked for."""
        from regrax.agents.audit import compare_logs
        from regrax.cli._text import Bars
        from regrax.experiments import Progress

        with Bars(hidden=self.json, after=1.0) as bars:
            told = {"agent": self.agent, "measure": self.measure, **self.form.read()}
            found = compare_logs(self.logs, **told, callback=lambda *at: bars.show(Progress(*at)))
        failed = self._failures(found)
        if self.html:
            from regrax._files import write_output
            from regrax.show.report import compare_page

            write_output(self.html, compare_page(found).encode("utf-8", "replace"))
        print_json({**found.to_dict(), "failed": failed}) if self.json else _print(found)
        if failed:
            say(f"regrax: failed: {'; '.join(failed)}", error=True)
            sys.stdout.flush()
            sys.exit(FAILED)

    def _failures(self, comparison: "Comparison") -> list[str]:
        over = [] if self.fail_above is None else comparison.above(self.fail_above)
        worse = comparison.worse() if self.fail_if_worse else []
        first = comparison.contestants[0].name
        failed = [f"{name} has more than {self.fail_above:g} per round" for name in over]
        return failed + [f"{name} is worse than {first}" for name in worse]


def _print(comparison: "Comparison") -> None:
    from regrax.agents.audit import counted, shown

    what = "loss" if comparison.measure == "loss" else f"{comparison.measure} regret"
    rows = []
    for one in comparison.contestants:
        cells = one.value.cells(number, interval)
        rows.append([shown(one.name), f"{one.episodes:,}", *cells, one.audit.learning.verdict])
    columns = ("agent", "episodes", "per round", "per episode", "its 95 % interval", "verdict")
    print_table(columns, rows, f"{what}, {counted(len(rows), 'agent')}")
    if comparison.pairs:
        numbers = ("per episode", "its 95 % interval", "p", "p, Holm", "effect")
        rows = [
            [f"{shown(pair.second)} - {shown(pair.first)}", *pair.cells(number, interval)]
            for pair in comparison.pairs
        ]
        print_table(("difference", *numbers, "episodes"), rows)
    for pair in comparison.pairs:
        print(shown(pair.words))
    for note in comparison.notes:
        print(f"note: {shown(note)}")
