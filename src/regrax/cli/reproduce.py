"""`regrax reproduce`: reproduce the paper's experiments."""

from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from regrax._text import fitted_table
from regrax.cli.options import Folder, Json
from regrax.cli.shared import print_result, progress_bar, write_text
from regrax.paper import ReproduceConfig

CONFIG = Parameter(name="*", group=Group("Experiments", sort_key=10))


def reproduce(
    *,
    config: Annotated[ReproduceConfig, CONFIG] = ReproduceConfig(),
    out: Folder = Path("out/reproduction"),
    table: bool = False,
    json: Json = False,
) -> None:
    """Reproduce the paper and compare with its numbers.

    Train the models, measure them, and write a report. Run the same command
    again to continue an interrupted run.

    Example uses:
        regrax reproduce --quick
        regrax reproduce --only depth cce --out out/depth

    Args:
        out: Folder for results.json, report.html and the finished parts.
        table: Print every number instead of the summary.
    """
    import msgspec

    from regrax.paper import compare, reproduce as reproduce_paper, summary_text
    from regrax.paper.report import paper_page

    with progress_bar(hidden=json) as show:
        result = reproduce_paper(config, out, on_progress=show)
    lines = compare(result)
    numbers = out / "results.json"
    page = out / "report.html"
    write_text(numbers, msgspec.json.format(msgspec.json.encode(result), indent=1).decode())
    write_text(page, paper_page(result))
    text = summary_text(result, str(page))
    if table:
        columns = ("quantity", "paper", "here", "exact", "verdict")
        text = fitted_table(columns, lines) + f"\nreport: {page}; every number: {numbers}"
    rows = [line._asdict() for line in lines]
    print_result(text, json, {"rows": rows, "results": str(numbers), "report": str(page)})
