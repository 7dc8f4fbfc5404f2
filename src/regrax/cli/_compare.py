"""`regrax compare`: which agent regrets more, and a gate for continuous integration."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from regrax._settings import Output, Positional
from regrax.cli._logs import LogOptions
from regrax.cli._text import number, print_json, print_table

if TYPE_CHECKING:
    from regrax.audit import Comparison

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
        from regrax._files import write_output
        from regrax.audit import compare_logs
        from regrax.cli._text import Bars
        from regrax.experiments import Progress
        from regrax.show.report import compare_page

        with Bars(hidden=self.json, after=1.0) as bars:
            told = {"agent": self.agent, "measure": self.measure, **self.form.read()}
            found = compare_logs(self.logs, **told, callback=lambda *at: bars.show(Progress(*at)))
        failed = self._failures(found)
        if self.html:
            write_output(self.html, compare_page(found).encode("utf-8", "replace"))
        print_json({**found.to_dict(), "failed": failed}) if self.json else _print(found)
        if failed:
            print(f"regrax: failed: {'; '.join(failed)}", file=sys.stderr)
            sys.stdout.flush()
            sys.exit(FAILED)

    def _failures(self, comparison: "Comparison") -> list[str]:
        failed = []
        if self.fail_above is not None:
            over = comparison.above(self.fail_above)
            failed += [f"{name} has more than {self.fail_above:g} per round" for name in over]
        if self.fail_if_worse:
            first = comparison.contestants[0].name
            failed += [f"{name} is worse than {first}" for name in comparison.worse()]
        return failed


def _print(comparison: "Comparison") -> None:
    from regrax.audit import counted, shown

    what = "loss" if comparison.measure == "loss" else f"{comparison.measure} regret"
    rows = []
    for one in comparison.contestants:
        value, verdict = one.value, one.audit.learning.verdict
        numbers = number(value.total), number(value.per_round), _ends(value.low, value.high)
        rows.append([shown(one.name), f"{one.episodes:,}", *numbers, verdict])
    columns = ("agent", "episodes", "per episode", "per round", "95 % interval", "verdict")
    print_table(columns, rows, f"{what}, {counted(len(rows), 'agent')}")
    if comparison.pairs:
        rows = []
        for p in comparison.pairs:
            name, how = (
                f"{shown(p.second)} - {shown(p.first)}",
                "paired" if p.paired else "independent",
            )
            small = [_small(value) for value in (p.p_value, p.adjusted, p.effect_size)]
            rows.append([name, number(p.difference), _ends(p.low, p.high), *small, how])
        columns = (
            "difference",
            "per episode",
            "95 % interval",
            "p",
            "p, Holm",
            "effect",
            "episodes",
        )
        print_table(columns, rows)
    for pair in comparison.pairs:
        print(shown(pair.words))
    for note in comparison.notes:
        print(f"note: {shown(note)}")


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None else f"{low:.5g} to {high:.5g}"


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
