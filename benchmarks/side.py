"""Run each side of a comparison in its own process, so that memory, threads and packages do not mix.

Peers run with the Python of `.venv-bench`, which `make bench` builds; regrax runs with this one.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("REGRAX_BENCH_PYTHON", HERE.parent / ".venv-bench/bin/python"))
OURS = "regrax"
WITH_JAX = ("plain", "user")
"""Sides that run in our environment."""
FUSED = f"{OURS}, small loops in one kernel"
"""regrax with a higher limit below which XLA compiles a loop to one kernel: see docs/how-to/simulate.md."""
LARGER_KERNELS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=262144"
# one thread and one core are inherited from this process; that freed memory is kept is not
SETTLED = {
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}


class Side:
    """A process that runs `benchmarks/sides/NAME_side.py` on the core of this process.

    A side that cannot start, or fails a task, answers with an `error`, which the results show. With a `tree`, another
    checkout of the project, the side imports that tree's regrax; its file is from the folder `benchmarks`.
    """

    def __init__(self, name: str, tree: Path | None = None, benchmarks: Path = HERE) -> None:
        flags = {"XLA_FLAGS": LARGER_KERNELS} if name == FUSED else {}
        name = name.split(",")[0]
        python = sys.executable if name in (OURS, *WITH_JAX) else str(PEERS)
        command = [python, str(benchmarks / "sides" / f"{name}_side.py")]
        pipe = subprocess.PIPE
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**(os.environ if tree is None else environment_of(tree)), **SETTLED, **flags},
        )

    def prepare(self, task: str, **arguments: Any) -> dict[str, Any]:
        """Prepare a task and run it once."""
        return self._ask({"task": task, **arguments})

    def run(self) -> dict[str, Any]:
        """Run the task once more."""
        return self._ask({})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": "did not start, or died"}

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_: Any) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):  # it died with a request unread
                stream.close()
        self.process.wait(60)


def environment_of(tree: Path) -> dict[str, str]:
    """Return an environment in which regrax is imported from `tree`."""
    return {**os.environ, "PYTHONPATH": str(tree / "src")}


def command_seconds(*command: str) -> float:
    """Return the wall seconds of a command."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began
