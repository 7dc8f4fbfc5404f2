"""The process that `benchmarks.side` starts: it prepares one task and runs it repeatedly.

A line `{"task": name, ...arguments}` prepares a task. The answer has the CPU and wall seconds of its first run,
including compilation, and the result to compare. Every later line runs it once more, and the answer has the seconds.
Each answer has `peak_mb`, the process's peak memory. A failure is answered by its `error`.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

Task = Callable[..., Callable[[], Any]]


def serve(tasks: Mapping[str, Task]) -> None:
    """Answer requests until the pipe closes; output of libraries is discarded."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "task" in request:
                run = tasks[request.pop("task")](**request)
            answer = _timed(run)
            gave = answer.pop("result")
            if request:  # a check of its own is not timed
                answer["gave"] = gave() if callable(gave) else gave
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answer["peak_mb"] = _peak_mb()
        print(json.dumps(answer), file=answers, flush=True)


def _peak_mb() -> float:
    """Return the peak memory of this program; on Linux, `getrusage` includes memory from before `exec`."""
    with suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _timed(run: Callable[[], Any]) -> dict[str, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "result": result,
    }
