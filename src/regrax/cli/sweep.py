"""`regrax sweep`: train models on a grid of settings."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regrax._text import labelled_table
from regrax.cli.inputs import OUTPUT, Json
from regrax.cli.output import Bar, print_json, print_lines, print_text


def sweep(
    file: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    dask: str | None = None,
    retries: int = 2,
    module: str | None = None,
    report: Annotated[bool, Parameter(group=OUTPUT)] = False,
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
    from regrax._files import write_whole
    from regrax.experiments.sweep import COLUMNS, read_sweep, run_sweep, summary
    from regrax.specs import import_own

    import_own(module)
    cells = read_sweep(file)
    out = out or Path("out") / file.stem
    with Bar(hidden=json) as bar:
        settings = {"dask": dask, "retries": retries, "module": module}
        finished = run_sweep(cells, out, on_progress=bar.show, **settings)
    if report:
        from regrax.show.report import sweep_page

        page = sweep_page(finished.rows, finished.failed, file.stem)
        write_whole(out / "report.html", page.encode())
    if json:
        rows = [row.to_dict() for row in finished.rows]
        result = {"cells": len(cells), "finished": len(rows), "failed": finished.failed}
        print_json({**result, "out": str(out), "summary": summary(finished.rows), "rows": rows})
    else:
        if finished.rows:
            title = "means over seeds; the gap is 1 at the exact step k* and 0 at the lower bound"
            print_text(labelled_table(summary(finished.rows), COLUMNS, title))
        done = f"finished {len(finished.rows)} of {len(cells)} cells"
        print_text(f"{done} ({finished.done_before} in earlier runs): {out}/results.csv")
        if report:
            print_text(f"report: {out}/report.html")
        for name, error in finished.failed.items():
            print_lines(f"failed: {name}: {error}")
    if finished.failed:
        sys.stdout.flush()
        sys.exit(1)
