"""How long `regrax audit` takes on a million rounds, and how much memory: under 20 s and 500 MB is the aim.

    python -m benchmarks.audit [ROUNDS] [ACTIONS]

A log as `regrax play --log` writes it, one episode, is audited in a process of its own.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def write_log(path: Path, rounds: int, actions: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for start in range(0, rounds, 10_000):
            count = min(10_000, rounds - start)
            policies = rng.dirichlet(np.ones(actions), count).tolist()
            losses = rng.random((count, actions)).tolist()
            for t in range(count):
                row = {"episode": 0, "agent": "player", "round": start + t + 1}
                file.write(json.dumps({**row, "policy": policies[t], "losses": losses[t]}) + "\n")


def main(rounds: int = 1_000_000, actions: int = 3) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        write_log(log, rounds, actions)
        started = time.perf_counter()
        command = [sys.executable, "-m", "regrax", "audit", str(log), "--json"]
        done = subprocess.run(command, capture_output=True, check=True)
        seconds = time.perf_counter() - started
        audited = json.loads(done.stdout)
        size = log.stat().st_size / 1e6
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert audited["rows"] == rounds
    print(
        f"{rounds:,} rounds of {actions} actions, {size:.0f} MB: {seconds:.1f} s "
        f"({used.ru_utime + used.ru_stime:.1f} s of processor time), {used.ru_maxrss / 1024:.0f} MB"
    )


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
