"""Measure how long users wait: `python -m benchmarks felt [--long] [--repeats N] [ROW ...]`; part of `make bench`.

Each command runs in its own process, first with an empty cache of compiled programs, then again with the cache that
the first run filled. Times are processor seconds, the best of N. Since seconds depend on the machine, targets are
multiples of `import jax`, which is timed between the commands.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REGRESSION = 1.5


@dataclass(frozen=True)
class Row:
    """A command and its targets in imports of jax: with an empty cache, and again (None: the same)."""

    command: str
    first: float
    again: float | None = None
    long: bool = False

    @property
    def asked(self) -> tuple[float, float]:
        """Targets of the first and of a repeated run."""
        return self.first, self.again or self.first


PLAY = "play 'random(10, 10, seed=3)' --learners 'blum_mansour(hedge(0.99))' --plot {out}/p.png"
ROWS = (  # a fifth more than was measured
    Row("games", 0.9),
    Row("learners", 1.3),
    Row("step-size --actions 3 --horizon 20", 1.6),
    Row("solve chicken --objective welfare", 1.4),
    Row("play weighted-rps --learners 'hedge(0.4479)' --rounds 20", 1.5),
    Row(f"{PLAY} --rounds 1000", 4.7, 3.8),
    Row(f"{PLAY} --rounds 100000", 5.6, 5.1),
    Row("tournament", 13.5, 6.5),
    Row("train --model linear --actions 3 --horizon 20 --out {out}/run", 6.2, 4.3),
    Row("train --model transformer --steps 2 --out {out}/run", 9.7, 4.2),
    Row("certify --actions 3 --horizon 20", 13.3, 10.7),
    Row("reproduce --quick --out {out}/run", 109, 54),
    Row("reproduce --out {out}/run", 1500, long=True),
)
FIRST_CALLS = {
    "import regrax": "import regrax",
    "play": "import regrax as rx; rx.play(rx.games.chicken(), [rx.Hedge(0.4)] * 2, rounds=20)",
    "joint_gaps": "import numpy as np, regrax as rx\n"
    "rx.joint_gaps(np.full((2, 2), 0.25), rx.games.chicken())",
    "rollout": "import numpy as np, regrax as rx; rx.rollout(rx.Hedge(0.4), np.ones((20, 3), 'f'))",
    "swap_regret": "import numpy as np, regrax as rx\n"
    "rx.swap_regret(np.full((20, 3), 1 / 3), np.ones((20, 3)))",
    "solve": "import regrax as rx; rx.solve(rx.games.chicken(), 'ce')",
    "nash_equilibria": "import regrax as rx; rx.nash_equilibria(rx.games.chicken())",
    "step_size": "import regrax as rx; rx.theory.step_size(3, 20)",
    "curvature": "import regrax as rx; rx.theory.curvature(3, 20)",
    "fit": "import jax, regrax as rx\n"
    "rx.fit(rx.LinearAttention(3, key=jax.random.key(0)), rx.RegretObjective(3, 20),"
    " key=jax.random.key(1), steps=10)",
    "audit_log": "import pathlib, tempfile, regrax as rx\n"
    "log = pathlib.Path(tempfile.mkdtemp()) / 'log.jsonl'\n"
    'log.write_text(\'{"action": 0, "losses": [0, 1]}\\n\' * 40)\n'
    "rx.audit_log(log)",
}
"""The first call of each function in a process of its own, compiling included, without a cache on disk."""


@dataclass(frozen=True)
class Felt:
    """Processor seconds, the same in imports of jax, and the targets."""

    name: str
    first: float
    again: float
    ratios: tuple[float, float]
    asked: tuple[float, float] | None = None

    @property
    def missed(self) -> bool:
        """True if a ratio is above its target."""
        return self.asked is not None and any(
            ratio > asked for ratio, asked in zip(self.ratios, self.asked, strict=True)
        )


def seconds(command: Sequence[str], cache: Path) -> float:
    """Return the processor seconds of a process and its children, with cached bytecode; raise if it fails."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONDONTWRITEBYTECODE": ""}
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {running.returncode}")
    return used.ru_utime + used.ru_stime


def imported(module: str, repeats: int) -> float:
    """Return the best processor seconds of an import."""
    with tempfile.TemporaryDirectory() as cache:
        code = [sys.executable, "-c", f"import {module}"]
        return min(seconds(code, Path(cache)) for _ in range(repeats))


def felt_command(row: Row, repeats: int) -> Felt:
    """Time a command with an empty and with a filled cache, and `import jax` in the same turns."""
    first, again, unit = [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            command = ["sh", "-c", f"exec {sys.executable} -m regrax {row.command.format(out=out)}"]
            for times in (first, again):
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                times.append(seconds(command, Path(folder)))
        unit.append(imported("jax", 1))
    ratios = (min(first) / min(unit), min(again) / min(unit))
    return Felt(f"regrax {row.command}", min(first), min(again), ratios, row.asked)


def felt_call(name: str, code: str, repeats: int) -> Felt:
    """Time the first call of a function, next to `import jax`."""
    with tempfile.TemporaryDirectory() as cache:
        took = min(seconds([sys.executable, "-c", code], Path(cache)) for _ in range(repeats))
    ratio = took / imported("jax", repeats)
    return Felt(name, took, took, (ratio, ratio))


def felt(repeats: int = 3, long: bool = False, names: Sequence[str] = ()) -> Iterator[Felt]:
    """Measure the rows whose command contains one of `names`, by default all; long rows once, and only if requested."""

    def is_chosen(name: str) -> bool:
        return not names or any(word in name for word in names)

    for row in ROWS:
        if is_chosen(row.command) and (long or not row.long):
            yield felt_command(row, 1 if row.long else repeats)
    for name, code in FIRST_CALLS.items():
        if is_chosen(name):
            yield felt_call(name, code, repeats)


def line(row: Felt) -> str:
    """Format a row of the table.

    >>> print(line(Felt("regrax games", 0.2, 0.1, (2.0, 1.0), (3.0, 3.0))))
    | `regrax games` | 0.20 | 0.10 | 2.0 / 1.0 | 3.0 / 3.0 |
    """
    asked = f"{row.asked[0]:.1f} / {row.asked[1]:.1f}" if row.asked else ""
    ratios = f"{row.ratios[0]:.1f} / {row.ratios[1]:.1f}" + (" **missed**" if row.missed else "")
    return f"| `{row.name}` | {row.first:.2f} | {row.again:.2f} | {ratios} | {asked} |"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Format the rows as Markdown."""
    head = "| | first, s | again, s | in imports | asked for |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *(line(Felt(**row)) for row in rows)])


def slower(before: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> list[str]:
    """Return the rows that take more than `REGRESSION` times as many imports as before.

    >>> old = [{"name": "a", "ratios": (1.0, 2.0)}]
    >>> slower(old, [{"name": "a", "ratios": (1.1, 3.5)}]), slower(old, [{"name": "b", "ratios": (9, 9)}])
    (['a'], [])
    """
    kept = {row["name"]: row["ratios"] for row in before}
    return [
        row["name"]
        for row in now
        if any(
            n > REGRESSION * b
            for n, b in zip(row["ratios"], kept.get(row["name"], ()), strict=False)
        )
    ]


def measure(repeats: int, long: bool = False, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Measure and print each row."""
    rows = []
    for row in felt(repeats, long, names):
        print(line(row), flush=True)
        rows.append(asdict(row))
    return rows
