"""The life of a process: Ctrl-C, jax's environment and compiled programs, one command, and one line if it fails.

Ctrl-C ends a command with one line and exit code 130 within two seconds, wherever it is. Python raises
KeyboardInterrupt between two of its own instructions. A compiled program that runs for a minute does not come to one,
and a library that is being imported takes it for a failure of its own. So an import is left at once, and a thread that
Ctrl-C wakes as well ends a process that is still there a second later: files are written whole or not at all, and runs
go on from any moment. Whatever takes time to import is imported inside of functions, where that is so already.

A command spends more time in XLA's compiler than in what it compiles. LLVM's first level of optimisation gives programs
that run as fast as the third's, here, in two thirds of the time, and XLA's older emitters in four fifths of that; and
what was compiled is kept in the user's cache folder, apart for every kind of processor. All yield to the user's own
XLA_FLAGS and JAX_ variables; JAX_ENABLE_COMPILATION_CACHE=false keeps nothing.
"""

import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import FrameType

TYPE_CHECKING = False  # as type checkers read it: typing itself takes long to import
if TYPE_CHECKING:
    from pathlib import Path

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; the console script `regrax`."""
    with interruptible():
        run(arguments)


INTERRUPTED = 130  # exit code
GRACE_SECONDS = 1.0
PRESSED = threading.Event()
"""Whether Ctrl-C was pressed: whatever is raised after it is its consequence."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C be a KeyboardInterrupt, which ends the process here; the second ends it at once."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # a shell's background jobs
    if is_ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    ended, (reader, writer) = threading.Event(), os.pipe()
    os.set_blocking(writer, False)
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    before = signal.signal(signal.SIGINT, _raise)
    threading.Thread(target=_watch, args=[reader, ended], daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        if PRESSED.is_set():  # not by way of the interpreter's end, which waits for threads
            _leave()
        sys.exit(INTERRUPTED)
    finally:
        ended.set()
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup)
        os.close(writer)
        PRESSED.clear()


def _raise(_: int, frame: FrameType | None) -> None:
    if PRESSED.is_set() or _is_importing(frame):
        _leave()
    PRESSED.set()
    sys.unraisablehook = lambda _: None  # of what is torn down half-made
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and "importlib._bootstrap" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def _watch(reader: int, ended: threading.Event) -> None:
    while signals := os.read(reader, 1):
        if signals[0] == signal.SIGINT and not ended.wait(GRACE_SECONDS):
            _leave()
    os.close(reader)


def _leave() -> None:
    """Say so, and show the cursor that bars hide."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        shown = "\x1b[?25h" if sys.stderr.isatty() else ""
        print(f"{shown}regrax: interrupted", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


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
    except Exception as error:
        if PRESSED.is_set():
            raise KeyboardInterrupt from None
        from regrax.cli._failures import fail

        fail(error)


def _run(arguments: Sequence[str]) -> None:
    name, *rest = arguments or ("",)
    if name not in COMMANDS:
        from regrax.cli._help import answer

        return answer(arguments, list(COMMANDS), _command)
    from regrax._settings import parse

    with prepared():  # before parsing, which imports jax to check the settings of a training
        command = parse(_command(name), name, rest)
        if getattr(getattr(command, "cluster", None), "wants_a_child", False):
            from regrax.cli._distributed_options import run_child

            sys.exit(run_child(arguments))
        return command.run()


def _command(name: str) -> type:
    module, kind = COMMANDS[name].split(":")
    return getattr(import_module(f"regrax.cli.{module}"), kind)


XLA_FLAGS = (
    "--xla_backend_optimization_level=1",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
LAST_JAXLIB_WITH_EMITTERS = (0, 10)
"""XLA ends a process that names a flag it does not know, and later versions know only the first of these."""
MIN_CACHED_SECONDS = "0.05"  # of compilation
MAX_CACHE_BYTES = 2**29
NEW_OBJECTS = 100_000
"""Between looks for cycles: of Python's 700, a fifth of the audit of many agents is spent in such looks."""


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Set up the environment that jax reads when it is first imported."""
    os.environ["XLA_FLAGS"] = _flags(os.environ.get("XLA_FLAGS", ""))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what goes wrong is told once, by us
    with contextlib.ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(NEW_OBJECTS)
        atexit.register(gc.freeze)  # a last look at all that jax is made of takes 0.2 s
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


def _flags(given: str) -> str:
    from jaxlib.version import __version__  # which loads nothing of jax

    version = tuple(int(part) for part in __version__.split(".")[:2])
    known = XLA_FLAGS if version <= LAST_JAXLIB_WITH_EMITTERS else XLA_FLAGS[:1]
    return " ".join([given, *(flag for flag in known if flag.split("=")[0] not in given)]).strip()


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    """One line, as for errors: where in our code it was raised is of no use to who reads it."""
    from regrax.cli._text import printable

    return f"regrax: warning: {printable(str(message))}\n"


def cache_folder() -> "Path":
    """Programs compiled for one processor may not run on another that shares the home folder."""
    import hashlib
    import platform
    from pathlib import Path

    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    kind = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    digest = hashlib.sha256("\n".join([platform.machine(), *kind]).encode()).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "regrax" / f"compiled-{digest}"


@contextlib.contextmanager
def _marked(folder: "Path") -> Iterator[None]:
    mark = folder / f"running-{os.getpid()}"
    mark.touch()
    try:
        yield
    except (Exception, SystemExit):  # not Ctrl-C, which may have cut an entry off
        mark.unlink(missing_ok=True)
        raise
    mark.unlink(missing_ok=True)


def _drop_unfinished(folder: "Path") -> None:
    """jax never replaces an entry: those that a killed command may have been writing are dropped."""
    for mark in folder.glob("running-*"):
        process = mark.name.partition("-")[2]
        if process.isdecimal() and len(process) < 10 and not _is_alive(int(process)):
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


def _drop_oldest(folder: "Path") -> None:
    about = {entry: entry.stat() for entry in folder.glob("*-cache")}
    size = sum(entry.st_size for entry in about.values())
    for entry, stat in sorted(about.items(), key=lambda item: item[1].st_mtime):
        if size <= MAX_CACHE_BYTES:
            break
        entry.unlink(missing_ok=True)
        size -= stat.st_size
