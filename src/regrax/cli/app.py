"""Run a command: set up jax, parse the arguments, call the command, and report a failure in one line.

Exit codes: 0 success, 1 a requested check failed, 2 bad input, 3 lost peers, 70 a bug in regrax, 130 Ctrl-C.
"""

import atexit
import contextlib
import gc
import hashlib
import os
import platform
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from regrax import __version__
from regrax._text import printable

if TYPE_CHECKING:  # imported later, when Ctrl-C is handled
    from cyclopts import App, Token

COMMANDS = {
    "Play and solve": {
        "play": "Play learners in a game; measure regret and equilibrium gaps.",
        "solve": "Compute an equilibrium and the largest gain from deviating.",
        "tournament": "Play every learner against every learner and rank them.",
        "games": "List the games, or show one with its payoffs and equilibria.",
        "learners": "List the learners and how to write them.",
    },
    "Train and theory": {
        "train": "Train attention models with a regret objective.",
        "sweep": "Train every combination of settings in a TOML file.",
        "posttrain": "Post-train a language model to reduce its regret.",
        "step-size": "Compute the exact stationary step size and its loss.",
        "certify": "Check the paper's theorems at one size.",
        "reproduce": "Reproduce the paper and compare with its numbers.",
    },
    "Audit and compare": {
        "audit": "Measure the regret of the agents in a log.",
        "compare": "Rank agents by regret; a gate for continuous integration.",
        "bench-agents": "Run an agent through eight tasks, next to classical learners.",
    },
    "Show": {"explore": "Open the interactive explorer in a browser."},
}
"""Commands by group with their one-line help; a command's module is imported only when it runs."""

XLA_FLAGS = (
    "--xla_backend_optimization_level=1",
    "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=262144",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""Flags for what commands do most: compile once, and play many rounds of small games.

With them a first tournament takes 5 s of CPU time instead of 9, and a million rounds of a 10x10 game half the time.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command, and report a failure as one line and an exit code. This is the console script `regrax`."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    # otherwise the caller, or the shell of a background job, handles Ctrl-C
    handles = in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles:
        signal.signal(signal.SIGINT, _interrupt)
    # a last garbage collection of all that jax imported would take 0.15 s
    atexit.register(gc.freeze)
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if sys.stdout is None:
            raise ValueError("standard output is closed")
        with warnings.catch_warnings():
            prepare_jax()
            build_app(tokens)(tokens)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe, as in `regrax games | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except Exception as error:
        _fail(error)
    finally:
        if handles:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(*_: object) -> NoReturn:
    """Exit at once, because C extensions can swallow a KeyboardInterrupt during import; file writes are atomic."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
        print(f"{cursor}regrax: interrupted", file=sys.stderr, flush=True)
    os._exit(130)


def build_app(tokens: Sequence[str] = ()) -> "App":
    """Build the parser with all commands; the command in the first token takes its help from its docstring."""
    from cyclopts import App, Group, Parameter

    app = App(
        name="regrax",
        help="Regret in games and online learning. Every command has --help with examples.",
        version=f"regrax {__version__}",
        help_format="plaintext",
        default_parameter=Parameter(
            converter=_exact,
            negative=(),
            consume_multiple=(1, None),
            show_default=_default,
            json_list=False,
            json_dict=False,
        ),
        result_action="return_value",
        print_error=False,
        exit_on_error=False,
        suppress_keyboard_interrupt=False,
    )
    for title, commands in COMMANDS.items():
        group = Group.create_ordered(title)
        for place, (name, line) in enumerate(commands.items()):
            module = name.replace("-", "_")
            summary = None if name in tokens[:1] else line
            path = f"regrax.cli.{module}:{module}"
            app.command(path, name=name, group=group, help=summary, sort_key=place)
    options = Group.create_ordered("Options")
    app["--help"].group = app["--version"].group = options
    return app


def _exact(kind: Any, tokens: "Sequence[Token]") -> Any:
    """Convert an option's text; unlike the cyclopts default, do not round 3.5 to an integer."""
    from cyclopts import convert

    text = tokens[0].value
    if kind is int and not text.lstrip("+-").isdecimal():
        raise ValueError(f"must be an integer, got {text[:40]!r}")
    return convert(kind, tokens)


def _default(value: Any) -> Any:
    """Format a default value for the help, or return None for flags and options that are off."""
    if isinstance(value, tuple):
        value = shlex.join(map(str, value))
    return None if isinstance(value, bool) or value == "" else value


def prepare_jax() -> None:
    """Set jax's compiler flags and compilation cache, and NumPy to one thread; settings of the user take precedence."""
    from jaxlib.version import __version_info__

    flags = os.environ.get("XLA_FLAGS", "")
    # jaxlib 0.11 does not have the last two, and XLA aborts on an unknown flag
    for flag in XLA_FLAGS if __version_info__ < (0, 11) else XLA_FLAGS[:2]:
        if flag.partition("=")[0] not in flags:
            flags = f"{flags} {flag}".strip()
    os.environ["XLA_FLAGS"] = flags
    # the matrices of exact theory are small: a third of its processor time would go into waking threads
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")
    # jax recompiles unreadable cache entries and warns about them
    warnings.filterwarnings("ignore", message=".*persistent compilation cache")
    warnings.showwarning = lambda message, *_, **__: print(
        f"regrax: warning: {printable(str(message))}", file=sys.stderr
    )


def cache_folder() -> Path:
    """Return the user's cache folder for this type of processor.

    Programs compiled for one processor may crash on another, and clusters share home directories.
    """
    about = Path("/proc/cpuinfo")
    if about.exists():
        lines = about.read_text().splitlines()
        features = {line for line in lines if line.startswith(("flags", "Features", "model name"))}
    else:
        features = {platform.processor()}  # starts a process
    digest = hashlib.sha256("\n".join([platform.machine(), *sorted(features)]).encode())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "regrax" / f"compiled-{digest.hexdigest()[:12]}"


def _fail(error: Exception) -> NoReturn:
    """Print a one-line error message and exit."""
    from cyclopts import CycloptsError

    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    # all that jax raises if it was installed without the platform
    lacks_devices = text == "AssertionError:" and "JAX_PLATFORMS" in os.environ
    code = 2
    if isinstance(error, CycloptsError):
        command = " ".join(["regrax", *(error.command_chain or ())])
        message = f"{error} (see {command} --help)"
    elif isinstance(error, OSError) and error.strerror:
        message = f"{error.filename or 'standard output'}: {error.strerror}"
    elif isinstance(error, ValueError | ModuleNotFoundError | OSError):
        message = str(error)
    elif "RESOURCE_EXHAUSTED" in text or isinstance(error, MemoryError):
        message = f"not enough memory for these sizes ({text})"
    elif "Unable to initialize backend" in text or lacks_devices:
        message = f"jax cannot use the devices in JAX_PLATFORMS ({text})"
    elif os.environ.get("REGRAX_DEBUG"):
        raise error
    else:
        code = 70
        message = f"a bug in regrax, {text} (REGRAX_DEBUG=1 shows the traceback)"
    words = [word if len(word) < 300 else f"{word[:80]}..." for word in message.split()]
    print(printable(f"regrax: error: {' '.join(words)}"), file=sys.stderr)
    sys.exit(code)
