"""Ten jobs in regrax and in its peers, run and measured: `python -m tools.jobs` writes `docs/jobs/results.json`.

Every file of `docs/jobs` is a whole program, `JOB_LIBRARY.py`. Lines are those that are neither empty nor comments;
seconds are of processor time, imports and compilation included, the median of three runs.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 3
JOBS = Path(__file__).parent.parent / "docs" / "jobs"


def programs() -> list[Path]:
    """Return every program by name."""
    return sorted(JOBS.glob("*_*.py"))


def count_lines(file: Path) -> int:
    """Count lines of code."""
    lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def run(file: Path) -> tuple[str, float]:
    """Run a program in an empty folder; return its output and processor seconds."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, str(file)]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, env=environment
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(file: Path) -> dict:
    """Return a program's output, lines and seconds."""
    outputs, seconds = zip(*(run(file) for _ in range(RUNS)), strict=True)
    middle = round(statistics.median(seconds), 2)
    return {"lines": count_lines(file), "seconds": middle, "output": outputs[0]}


def main() -> None:
    """Measure every program."""
    found = {file.stem: measure(file) for file in programs()}
    (JOBS / "results.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
