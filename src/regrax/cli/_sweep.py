"""`regrax sweep`: a grid of trainings from a file, here or on a Dask cluster, and how far from the optimum they end."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regrax._settings import Positional
from regrax.cli._text import number, print_json, print_table

if TYPE_CHECKING:
    from regrax.experiments.runs import TrainConfig
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
    out: Path | None = None
    dask: str | None = None
    retries: int = 2
    report: bool = False
    json: bool = False

    def run(self) -> None:
        """Run what is missing with a bar on the terminal, then write and print."""
        from regrax.cli._text import Bars
        from regrax.experiments.sweep import read_sweep, run_sweep

        cells = read_sweep(self.file)
        out = self.out or Path("out") / self.file.stem
        with Bars(hidden=self.json) as bars:
            finished = run_sweep(
                cells, out, dask=self.dask, retries=self.retries, on_progress=bars.show
            )
        if self.report:
            _write_report(out, self.file.stem, finished)
        self._print(cells, out, finished)
        if finished.failed:
            sys.stdout.flush()
            sys.exit(1)

    def _print(self, cells: "list[TrainConfig]", out: Path, finished: "Finished") -> None:
        if self.json:
            found = {"cells": len(cells), "finished": len(finished.rows)}
            more = {
                "failed": finished.failed,
                "out": str(out),
                "rows": [row.to_dict() for row in finished.rows],
            }
            return print_json({**found, **more})
        _print_rows(finished.rows)
        before = f", {finished.done_before} of them before" if finished.done_before else ""
        print(f"{len(finished.rows)} of {len(cells)} cells are finished{before}: {out}/results.csv")
        if self.report:
            print(f"{out}/report.html shows them")
        for name, error in finished.failed.items():
            print(f"failed: {name}: {error}")
        return None


def _write_report(out: Path, name: str, finished: "Finished") -> None:
    from regrax._files import write_whole
    from regrax.show.report import sweep_page

    write_whole(out / "report.html", sweep_page(finished.rows, finished.failed, name).encode())


def _print_rows(rows: "list[Row]") -> None:
    from regrax.experiments.sweep import summary

    columns, lines = summary(rows, number)
    fitting = [place for place, name in enumerate(columns) if name not in WIDE]
    if lines:
        shown = [[line[place] for place in fitting] for line in lines[:MAX_PRINTED_ROWS]]
        print_table([columns[place] for place in fitting], shown)
    if len(lines) > MAX_PRINTED_ROWS:
        print(
            f"... and {len(lines) - MAX_PRINTED_ROWS} rows more, all of them in the results and the report"
        )
