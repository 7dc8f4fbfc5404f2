"""`regrax reproduce`: every experiment of the paper, beside what it reported and what is exact."""

from dataclasses import dataclass
from pathlib import Path

from regrax.cli._text import print_json, print_table


@dataclass(frozen=True)
class Reproduce:
    """Reproduce the paper: train, measure, compare with the reported and the exact numbers, write a report.

    An interrupted run goes on where it stopped; only what is missing or has other settings is done again.
    """

    quick: bool = False
    """All of it, smaller: two minutes instead of half an hour."""
    only: tuple[str, ...] = ()
    """Only these: step-size, matching, depth, cce, ce, table-one, beyond."""
    out: Path = Path("out/reproduction")
    """Where results.json, report.html and the finished pieces go."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Reproduce with bars on the terminal, then print the comparison."""
        from regrax.cli._progress import Bars
        from regrax.experiments.paper import reproduce

        with Bars(hidden=self.json) as bars:
            rows = reproduce(self.out, quick=self.quick, only=self.only, on_progress=bars.show)
        if self.json:
            files = {
                "results": str(self.out / "results.json"),
                "report": str(self.out / "report.html"),
            }
            print_json({"rows": [row._asdict() for row in rows], **files})
        else:
            print_table(
                ("quantity", "paper", "here", "exact", "verdict"), [list(row) for row in rows]
            )
            print(
                f"{self.out / 'report.html'} tells the story; {self.out / 'results.json'} has every number"
            )
