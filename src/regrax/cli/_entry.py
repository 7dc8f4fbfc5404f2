"""`regrax COMMAND ...`: a dataclass per command, its fields the options, and one line for whatever goes wrong.

Exit codes: 0 done; 1 a check that was asked for failed; 2 bad input; 3 peers lost; 70 a defect of regrax itself, with
the traceback if REGRAX_DEBUG=1; 130 Ctrl-C.

A command spends more time in XLA's compiler than in what it compiles. LLVM's first level of optimisation gives programs
that run as fast as the third's, here, in two thirds of the time; and what was compiled is kept in the user's cache
folder, apart for every kind of processor. Both yield to the user's own XLA_FLAGS and JAX_ variables;
JAX_ENABLE_COMPILATION_CACHE=false keeps nothing.
"""

import contextlib
import difflib
import gc
import hashlib
import inspect
import os
import platform
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from regrax import __version__
from regrax._settings import parse
from regrax.cli._interrupt import PRESSED

COMMANDS = {
    "play": "_play:Play",
    "train": "_train:Train",
    "posttrain": "_posttrain:PostTrain",
    "sweep": "_sweep:Sweep",
    "solve": "_solve:Solve",
    "tournament": "_tournament:Tournament",
    "audit": "_audit:AuditLog",
    "compare": "_compare:CompareLogs",
    "games": "_games:Games",
    "learners": "_learners:Learners",
    "step-size": "_step_size:StepSize",
    "certify": "_certify:Certify",
    "explore": "_explore:Explore",
    "reproduce": "_reproduce:Reproduce",
}
"""Where each command lives: only the one that is asked for is imported."""
BAD_INPUT, DEFECT = 2, 70
ENVIRONMENT = {
    "MemoryError": "there is not enough memory for these sizes",
    "RESOURCE_EXHAUSTED": "there is not enough memory for these sizes",
    "Unable to initialize backend": "jax cannot use the devices that JAX_PLATFORMS names",
}
"""What errors that are neither bad input nor a defect say, and what they mean."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run one command, and end with its exit code and one line if it fails."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if sys.stdout is None:  # closed by who started us
            raise ValueError("standard output is closed")
        _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has gone (`regrax ... | head`): be silent, and keep the interpreter from flushing again
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        _fail(str(error))
    except Exception as error:
        if os.environ.get("REGRAX_DEBUG"):
            raise
        if isinstance(error, AssertionError) and not _has_devices():  # as jax says it
            error = RuntimeError("Unable to initialize backend")
        what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        for sign, meaning in ENVIRONMENT.items():
            if sign in what:
                _fail(f"{meaning} ({what})")
        _fail(f"a defect of regrax, {what} (REGRAX_DEBUG=1 shows where)", DEFECT)


def _has_devices() -> bool:
    import jax

    try:
        return bool(jax.devices())
    except (AssertionError, RuntimeError):
        return False


def _run(arguments: Sequence[str]) -> None:
    if list(arguments) in (["--version"], ["--help"], ["-h"]):
        return print(f"regrax {__version__}" if arguments[0] == "--version" else _overview())
    name, *rest = arguments or ("",)
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, 1, 0.5)
        hint = f"; did you mean {close[0]}?" if close else ""
        got = f"unknown command {name!r}{hint}" if name else "a command must be given"
        raise ValueError(f"{got} (there are {', '.join(COMMANDS)}; see regrax --help)")
    command = parse(_command(name), name, rest)
    if getattr(getattr(command, "cluster", None), "wants_a_child", False):
        from regrax.cli._distributed_options import run_child

        sys.exit(run_child(arguments))
    with prepared():
        command.run()


def _command(name: str) -> Any:
    module, kind = COMMANDS[name].split(":")
    return getattr(import_module(f"regrax.cli.{module}"), kind)


def _overview() -> str:
    about = "Regret: play learners in games, and measure how far from equilibrium they are."
    first = {name: (inspect.getdoc(_command(name)) or "").partition("\n")[0] for name in COMMANDS}
    lines = [f"  {name:12}{text}" for name, text in first.items()]
    usage = "usage: regrax COMMAND [options]\n       regrax COMMAND --help\n       regrax --version"
    return "\n".join([usage, "", about, "", *lines])


def _fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    if PRESSED.is_set():
        raise KeyboardInterrupt from None
    from regrax.cli._text import printable

    short = re.sub(r"\S{300,}", lambda word: f"{word[0][:80]}...", message)
    print(printable(f"regrax: error: {short}"), file=sys.stderr)
    sys.exit(code)


LEVEL = "--xla_backend_optimization_level"
MIN_CACHED_SECONDS = "0.1"  # of compilation
MAX_CACHE_BYTES = 2**29
NEW_OBJECTS = 100_000
"""Between looks for cycles: of Python's 700, a fifth of the audit of many agents is spent in such looks."""


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Set up the environment that jax reads when it is first imported."""
    flags = os.environ.get("XLA_FLAGS", "")
    if LEVEL not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {LEVEL}=1".strip()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what goes wrong is told once, by us
    with contextlib.ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(NEW_OBJECTS)
        with contextlib.suppress(OSError):  # a folder that cannot be written to keeps nothing
            folder = cache_folder()
            folder.mkdir(parents=True, exist_ok=True)
            _drop_unfinished(folder)
            _drop_oldest(folder)
            stack.enter_context(_marked(folder))
            os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
            os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", MIN_CACHED_SECONDS)
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message=".*persistent compilation cache")
        stack.callback(setattr, warnings, "formatwarning", warnings.formatwarning)
        warnings.formatwarning = _format_warning
        yield


def _format_warning(message: Warning | str, *_: Any, **__: Any) -> str:
    """One line, as for errors: where in our code it was raised is of no use to who reads it."""
    return f"regrax: warning: {message}\n"


def cache_folder() -> Path:
    """Programs compiled for one processor may not run on another that shares the home folder."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    kind = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    digest = hashlib.sha256("\n".join([platform.machine(), *kind]).encode()).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "regrax" / f"compiled-{digest}"


@contextlib.contextmanager
def _marked(folder: Path) -> Iterator[None]:
    mark = folder / f"running-{os.getpid()}"
    mark.touch()
    yield
    mark.unlink(missing_ok=True)


def _drop_unfinished(folder: Path) -> None:
    """jax never replaces an entry: those that a killed command may have been writing are dropped."""
    for mark in folder.glob("running-*"):
        if not _is_alive(int(mark.name.partition("-")[2])):
            began = mark.stat().st_mtime
            for entry in [e for e in folder.iterdir() if e.stat().st_mtime >= began]:
                entry.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        return os.name != "posix" or os.kill(process, 0) is None
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True


def _drop_oldest(folder: Path) -> None:
    about = {entry: entry.stat() for entry in folder.glob("*-cache")}
    size = sum(entry.st_size for entry in about.values())
    for entry, stat in sorted(about.items(), key=lambda item: item[1].st_mtime):
        if size <= MAX_CACHE_BYTES:
            break
        entry.unlink(missing_ok=True)
        size -= stat.st_size
