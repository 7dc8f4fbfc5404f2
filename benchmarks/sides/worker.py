"""The other end of `benchmarks.side`: a process that makes one task ready and runs it again and again.

A line `{"task": name, ...arguments}` makes a task ready; the answer has the CPU and wall seconds of its first run, with
whatever it compiles, and what the run gave, to be compared. Every later line is answered by the seconds of one more
run. Each answer has `peak_mb`, the most memory the process has held. What fails is answered by its `error`.
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
    """Answer requests until the other end closes; whatever a library prints goes nowhere."""
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
    """Of this program alone: on Linux `getrusage` also counts what the process held before it became this program."""
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
