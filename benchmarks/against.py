"""Compare this tree with an earlier commit: `python -m benchmarks.against [REV] [--repeats 5] [--rows PATTERN]`.

Checks REV out into a temporary worktree and measures the regrax side of every row in both trees: each in its own
process, alternating on one core, with its own `benchmarks/sides/regrax_side.py`. The rows are those of this tree, so
the tasks of `regrax_side.py` and their arguments must not be renamed; tasks in `STABLE` run from this tree's file in
both. Prints CPU times, the median over repeats of old / new, and the difference between the first results. The exit
code is 1 if a ratio is below 0.9, or if a row fails in either tree. On a busy machine, ratios of equal trees vary by a
tenth, so measure such a row again.
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.page import time
from benchmarks.rows import rows
from benchmarks.side import HERE, OURS, Side, environment_of

REVISION = "d04189e"
LEAST_RATIO = 0.9
STABLE = ("weighted_rps", "rollout")
"""Tasks of `regrax_side.py` that run in every tree."""
TURN_SECONDS, MAX_RUNS_PER_TURN = 0.5, 50  # of either tree; quick rows run more than once per turn


class Task(NamedTuple):
    """A task for both trees."""

    name: str
    task: str
    arguments: dict[str, Any]


class Compared(NamedTuple):
    """Median CPU seconds of a run in each tree, and the median ratio of paired turns."""

    name: str
    old: float = math.nan
    new: float = math.nan
    ratio: float = math.nan
    apart: float = math.nan  # the largest difference between what the first runs gave
    error: str = ""

    @property
    def failed(self) -> bool:
        """True if the row is slower than allowed, or could not be compared."""
        return not self.ratio >= LEAST_RATIO

    def __str__(self) -> str:
        if self.error:
            return f"| {self.name} | {self.error} | | FAILED | |"
        ratio = f"{self.ratio:.2f}" + (" BELOW" if self.failed else "")
        return f"| {self.name} | {time(self.old)} | {time(self.new)} | {ratio} | {self.apart:.1e} |"


def tasks() -> list[Task]:
    """Return regrax's tasks in all rows, and the exact step."""
    known = [row for row in rows() if "width" not in row.arguments]  # earlier trees know no width
    ours = [(row, side) for row in known for side in row.sides if side.split(",")[0] == OURS]
    size = {"actions": 3, "horizon": 20}
    return [
        *(
            Task(row.name + side.removeprefix(OURS), row.task, row.asked(side))
            for row, side in ours
        ),
        Task("k*(3, 20)", "exact_step", size),
        Task("k*(3, 20) by Monte Carlo", "monte_carlo", {**size, "runs": 50}),
    ]


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Check out a commit in a temporary worktree."""
    git = ["git", "-C", str(HERE), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "old"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def check_imports(tree: Path) -> None:
    """Raise unless regrax is imported from the tree."""
    command = [sys.executable, "-c", "import regrax; print(regrax.__file__)"]
    asked = subprocess.run(
        command, env=environment_of(tree), capture_output=True, text=True, check=True
    )
    if not Path(asked.stdout.strip()).resolve().is_relative_to(tree.resolve()):
        raise RuntimeError(f"expected regrax of {tree}, got {asked.stdout.strip()}")


def compare(task: Task, old: Path, new: Path, repeats: int) -> Compared:
    """Run a task once in both trees, which compiles it, then take `repeats` turns."""
    files = HERE if task.task in STABLE else old / "benchmarks"
    with Side(OURS, old, files) as a, Side(OURS, new) as b:
        first = [side.prepare(task.task, **task.arguments) for side in (a, b)]
        second = [side.run() for side in (a, b)]
        for tree, answer in zip(("old", "new") * 2, first + second, strict=True):
            if "error" in answer:
                return Compared(task.name, error=f"{tree}: {answer['error']}")
        runs = math.ceil(TURN_SECONDS / max(answer["cpu"] for answer in second))
        turns = [paired_turn(a, b, min(runs, MAX_RUNS_PER_TURN)) for _ in range(repeats)]
    apart = largest_difference(first[0]["gave"], first[1]["gave"])
    return summary(task.name, turns, apart)


def summary(name: str, turns: list[tuple[float, float]], apart: float) -> Compared:
    """Take medians over turns of (old, new)."""
    olds, news = zip(*turns, strict=True)
    return Compared(name, median(olds), median(news), median(x / y for x, y in turns), apart)


def paired_turn(old: Side, new: Side, runs: int) -> tuple[float, float]:
    """Return the lowest CPU seconds of `runs` runs in each tree; the trees alternate in going first."""
    took: dict[Side, list[float]] = {old: [], new: []}
    for run in range(runs):
        for side in (new, old) if run % 2 else (old, new):
            took[side].append(side.run()["cpu"])
    return min(took[old]), min(took[new])


def largest_difference(one: list[float], two: list[float]) -> float:
    """Return the largest difference between two lists of numbers; nan if their lengths differ."""
    if len(one) != len(two):
        return math.nan
    return float(np.abs(np.subtract(one, two)).max(initial=0.0))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", nargs="?", default=REVISION)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", default="", help="only rows whose name this expression matches")
    options = parser.parse_args()
    chosen = [task for task in tasks() if re.search(options.rows, task.name, re.IGNORECASE)]
    if not chosen:
        parser.error(f"no row matches {options.rows}")
    compared = []
    with checkout(options.revision) as old:
        new = HERE.parent
        check_imports(old)
        check_imports(new)
        print("| row | old | new | old / new | apart |\n|---|---|---|---|---|")
        for task in chosen:
            compared.append(compare(task, old, new, options.repeats))
            print(compared[-1], flush=True)
    failed = [one.name for one in compared if one.failed]
    sys.exit(f"slower than before, or not compared: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
