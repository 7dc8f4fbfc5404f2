"""`regrax sweep`: a grid of trainings from a file, here or on a Dask cluster, and how far from the optimum they end."""

import sys
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from regrax._settings import Folder, Positional
from regrax.cli._text import number, print_json, print_table, say

if TYPE_CHECKING:
    from regrax.experiments.sweep import Finished, Row

MAX_PRINTED_ROWS = 40  # rows of the table that is printed
WIDE = ("k* above, %", "operations")  # columns that the report has and a terminal has no room for


@dataclass(frozen=True)
class Sweep:
    """Train every combination of settings in a file, keep each as it is finished, and tabulate the results.

    Args:
        file: TOML: settings of `regrax train`, each a value or a list, and [[cells]] tables that are grids of their
            own.
        out: Where cells, results.csv (and .parquet) and report.html go; by default out/ and the file's name.
        dask: Run on the Dask cluster whose scheduler has this address, as in tcp://127.0.0.1:8786.
        retries: How often a failing cell is tried again.
        report: Write report.html: the learned steps beside the exact ones, and losses above the least possible.
        json: Print one JSON object.

    regrax sweep examples/architectures.toml --report

    The same command again does only what is missing. The exit code is 1 if a cell failed for good.
    """

    file: Positional[Path]
    out: Folder | None = None
    dask: str | None = None
    retries: int = 2
    report: bool = False
    json: bool = False

    def run(self) -> None:
        """Run what is missing with a bar on the terminal, then write and print."""
        from regrax.cli._text import Bars
        from regrax.experiments.sweep import read_sweep

        cells = read_sweep(self.file)
        from regrax.experiments.sweep import run_sweep  # with jax, for a file that is good

        out = self.out or Path("out") / self.file.stem
        with Bars(hidden=self.json) as bars:
            finished = run_sweep(
                cells, out, dask=self.dask, retries=self.retries, on_progress=bars.show
            )
        if self.report:
            from regrax._files import write_whole
            from regrax.show.report import sweep_page

            page = sweep_page(finished.rows, finished.failed, self.file.stem)
            write_whole(out / "report.html", page.encode())
        self._print(len(cells), out, finished)
        if finished.failed:
            sys.stdout.flush()
            sys.exit(1)

    def _print(self, cells: int, out: Path, finished: "Finished") -> None:
        if self.json:
            rows = [row.to_dict() for row in finished.rows]
            found = {"cells": cells, "finished": len(rows), "failed": finished.failed}
            return print_json({**found, "out": str(out), "rows": rows})
        _print_rows(finished.rows)
        before = f", {finished.done_before} of them before" if finished.done_before else ""
        say(f"{len(finished.rows)} of {cells} cells are finished{before}: {out}/results.csv")
        if self.report:
            say(f"{out}/report.html shows them")
        for name, error in finished.failed.items():
            say(f"failed: {name}: {error}")
        return None


def _print_rows(rows: "list[Row]") -> None:
    from regrax.experiments.sweep import summary

    columns, lines = summary(rows, number)
    fitting = [name not in WIDE for name in columns]
    if lines:
        head, *shown = ([*compress(row, fitting)] for row in (columns, *lines[:MAX_PRINTED_ROWS]))
        print_table(head, shown)
    more = len(lines) - MAX_PRINTED_ROWS
    if more > 0:
        print(f"... and {more} rows more, all of them in the results and the report")
