"""Measure processor time and memory of `regrax audit` on large logs, optionally next to an earlier commit.

    python -m benchmarks.audit [REV] [--logs million episodes agents] [--repeats 1]

The logs have three actions and the form that `regrax play --log` writes. Each audit is a separate process, and this
tree and REV alternate. The aims: a million rounds in one episode under 20 s and 500 MB, 100,000 episodes under a
minute, and 100,000 agents, which are audited one by one, in under ten minutes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.against import checkout
from benchmarks.side import HERE

LOGS = {  # agents, episodes of each, rounds of each
    "million": (1, 1, 1_000_000),
    "episodes": (1, 100_000, 10),
    "agents": (100_000, 1, 1),
}
ACTIONS = 3


def write_log(path: Path, agents: int, episodes: int, rounds: int) -> None:
    """Write a log of random play on random losses."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for agent in range(agents):
            for episode in range(episodes):
                for start in range(0, rounds, 10_000):
                    count = min(10_000, rounds - start)
                    policies = rng.dirichlet(np.ones(ACTIONS), count).tolist()
                    losses = rng.random((count, ACTIONS)).tolist()
                    for t in range(count):
                        row = {"episode": episode, "agent": f"player{agent}"}
                        row |= {"round": start + t + 1, "policy": policies[t], "losses": losses[t]}
                        file.write(json.dumps(row) + "\n")


def audit(log: Path, tree: Path) -> tuple[float, float]:
    """Run the command from a tree; return its processor seconds and megabytes."""
    command = [sys.executable, "-m", "regrax", "audit", str(log), "--json"]
    paths = [str(tree / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with (
        tempfile.TemporaryFile() as out,
        subprocess.Popen(command, stdout=out, cwd=tree, env=environment) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, f"exit code {process.returncode}"
        out.seek(0)
        assert b'"rows"' in out.read()
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=list(LOGS))
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    earlier = checkout(asked.revision) if asked.revision else nullcontext()
    with tempfile.TemporaryDirectory() as folder, earlier as old:
        for name in asked.logs:
            log = Path(folder) / f"{name}.jsonl"
            write_log(log, *LOGS[name])
            trees = {"this tree": HERE.parent} | ({asked.revision: old} if old else {})
            runs = {side: [] for side in trees}
            for _ in range(asked.repeats):
                for side, tree in trees.items():
                    runs[side].append(audit(log, tree))
            for side, found in runs.items():
                seconds, memory = (median(column) for column in zip(*found, strict=True))
                print(f"{name}, {side}: {seconds:.1f} s of processor time, {memory:.0f} MB")


if __name__ == "__main__":
    main()
