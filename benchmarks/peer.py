"""A peer in a process of its own: its environment (`make bench` builds `.venv-bench`) may disagree with ours."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTHON = Path(os.environ.get("REGRAX_BENCH_PYTHON", HERE.parent / ".venv-bench/bin/python"))


class Peer:
    """`benchmarks/peers/NAME.py` under the peers' Python, on the same core as this process.

    A peer that cannot start or that fails a task says so in `error`; it is reported, not hidden.
    """

    def __init__(self, name: str) -> None:
        command = [str(PYTHON), str(HERE / "peers" / f"{name}.py")]
        pipe = subprocess.PIPE
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, task: str, **arguments: Any) -> dict[str, Any]:
        """The answer to one request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"task": task, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"{self.name} did not start or died"}

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(60)
