"""`regrax reproduce`: every experiment of the paper, beside what it reported and what is exact."""

from dataclasses import dataclass, field
from pathlib import Path

from regrax._settings import Folder
from regrax.cli._text import print_json, print_table, say
from regrax.paper import ReproduceConfig

OUT = Folder(Path("out/reproduction"))


@dataclass(frozen=True)
class Reproduce:
    """Reproduce the paper: train, measure, compare with the reported and the exact numbers, write a report.

    An interrupted run goes on where it stopped; only what is missing or has other settings is done again.

    Args:
        out: Where results.json, report.html and the finished pieces go.
        table: Print every number instead of the summary.
        json: Print one JSON object.
    """

    config: ReproduceConfig = field(default_factory=ReproduceConfig)
    out: Folder = OUT
    table: bool = False
    json: bool = False

    def run(self) -> None:
        """Reproduce with bars on the terminal, write numbers and page, then print the comparison."""
        import msgspec

        from regrax._files import write_whole
        from regrax.cli._text import Bars
        from regrax.paper import compare, paper_page, reproduce, summary_text

        with Bars(hidden=self.json) as bars:
            found = reproduce(self.config, self.out, on_progress=bars.show)
        lines, numbers, page = compare(found), self.out / "results.json", self.out / "report.html"
        write_whole(numbers, msgspec.json.format(msgspec.json.encode(found), indent=1))
        write_whole(page, paper_page(found).encode())
        if self.json:
            rows = [line._asdict() for line in lines]
            return print_json({"rows": rows, "results": str(numbers), "report": str(page)})
        if not self.table:
            return say(summary_text(found, str(page)))
        print_table(("quantity", "paper", "here", "exact", "verdict"), [list(one) for one in lines])
        return say(f"Read next: {page}")
