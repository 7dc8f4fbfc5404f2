"""The other end of `benchmarks.peer`: a process in the peers' environment that answers JSON lines.

A request is `{"task": name, ...arguments}`; the answer is what the task returns, `seconds` and `cpu` it took, and
`peak_mb`, the largest memory the process has held.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


def serve(tasks: Mapping[str, Callable[..., dict[str, Any] | None]]) -> None:
    """Answer requests until the other end closes."""
    for line in sys.stdin:
        request = json.loads(line)
        task = tasks[request.pop("task")]
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            answer = task(**request) or {}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answer.setdefault("seconds", time.perf_counter() - wall)
        answer.setdefault("cpu", time.process_time() - cpu)
        answer["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), flush=True)
