"""Report the source files and functions that a command runs.

    python -m tools.journey [--json] -- play chicken --learners 'hedge(1)' --rounds 5

Runs the command after `--` in this process, which has not imported regrax before, and reports

* files: source files of regrax in which at least one function body ran (a module's top level and the bodies of classes
  run by importing and do not count),
* functions: distinct (file, qualified name) of functions, lambdas and comprehensions of regrax that ran; only Python
  3.11 and older run comprehensions as functions, so compare numbers of the same version,
* modules: modules of regrax that were imported,
* compilations: programs that jax compiled or loaded from its cache, and the most frequent ones,
* jax: whether it was imported,
* seconds: wall time of importing and running, including the overhead of counting,
* exit: the exit code.

Code that jax traces counts as running. Child processes are not counted. The command's output is discarded.
"""

import argparse
import inspect
import io
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tools.compilations import count_compilations

FREQUENT_PROGRAMS = 5


@contextmanager
def record_code() -> Iterator[set[CodeType]]:
    """Record every code object that starts to run, in all threads."""
    ran: set[CodeType] = set()

    def on_event(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            ran.add(frame.f_code)

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        yield ran
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def functions_of(package: Path, ran: set[CodeType]) -> set[tuple[str, str]]:
    """Return (file, qualified name) of the functions in `ran` whose source is in `package`."""
    return {
        (code.co_filename, code.co_qualname)
        for code in ran
        if code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or a class
        and Path(code.co_filename).is_relative_to(package)
    }


def run(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    from regrax.cli import main

    try:
        main(arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    return 0


def journey(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the report; the first call in a process includes imports."""
    package = Path(str(find_spec("regrax").origin)).parent  # type: ignore[union-attr]
    began = time.perf_counter()
    with count_compilations() as programs, record_code() as ran, redirect_stdout(io.StringIO()):
        exit_code = run(arguments)
    seconds = time.perf_counter() - began
    functions = functions_of(package, set(ran))  # a thread that still runs adds to it
    return {
        "files": len({file for file, _ in functions}),
        "functions": len(functions),
        "modules": sum(name.split(".")[0] == "regrax" for name in sys.modules),
        "compilations": programs.total(),
        "programs": dict(programs.most_common(FREQUENT_PROGRAMS)),
        "jax": "jax" in sys.modules,
        "seconds": round(seconds, 2),
        "exit": exit_code,
    }


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("command", nargs="+", help="after --: a command of regrax")
    options = parser.parse_args()
    report = journey(options.command)
    if options.json:
        return print(json.dumps(report))
    for name, value in report.items():
        print(f"{name:13} {value}")


if __name__ == "__main__":
    main()
