"""`regrax sweep`: train models on a grid of settings."""

from pathlib import Path

from regrax._text import labelled_table, paragraph
from regrax.cli.options import Flag, Folder, Json
from regrax.cli.shared import print_result, progress_bar, write_text


def sweep(
    file: Path,
    /,
    *,
    out: Folder | None = None,
    dask: str | None = None,
    retries: int = 2,
    module: str | None = None,
    report: Flag = False,
    json: Json = False,
) -> None:
    """Train every combination of settings in a TOML file.

    Run the same command again to finish an incomplete sweep. The exit code
    is 1 if a cell failed.

    Example uses:
        regrax sweep examples/architectures.toml --report
        regrax sweep grid.toml --dask tcp://127.0.0.1:8786 --out runs/grid

    Args:
        file: TOML file with options of regrax train, each a value or a list, and optional [[cells]] tables.
        out: Folder for cells, results.csv and report.html; by default out/ followed by the file's name.
        dask: Address of a Dask scheduler to run on, as in tcp://127.0.0.1:8786.
        retries: Number of times to retry a failed cell.
        module: Python module that defines models of your own, which the file can name.
        report: Write report.html: learned step sizes against exact ones, and losses above the lower bound.
    """
    from regrax.experiments.sweep import COLUMNS, read_sweep, run_sweep, summary
    from regrax.specs import import_own

    import_own(module)
    cells = read_sweep(file)
    out = out or Path("out") / file.stem
    with progress_bar(hidden=json) as show:
        settings = {"dask": dask, "retries": retries, "module": module}
        finished = run_sweep(cells, out, on_progress=show, **settings)
    if report:
        from regrax.show.report import sweep_page

        write_text(out / "report.html", sweep_page(finished.rows, finished.failed, file.stem))
    means = summary(finished.rows)
    text = f"finished {len(finished.rows)} of {len(cells)} cells"
    text += f" ({finished.done_before} in earlier runs): {out}/results.csv"
    if finished.rows:
        title = "means over seeds; the gap is 1 at the exact step k* and 0 at the lower bound"
        text = f"{labelled_table(means, COLUMNS, title)}\n{text}"
    if report:
        text += f"\nreport: {out}/report.html"
    for name, error in finished.failed.items():
        text += "\n" + paragraph(f"failed: {name}: {error}")
    rows = [row.to_dict() for row in finished.rows]
    result = {"cells": len(cells), "finished": len(rows), "failed": finished.failed}
    print_result(text, json, {**result, "out": str(out), "summary": means, "rows": rows})
    if finished.failed:
        raise SystemExit(1)
