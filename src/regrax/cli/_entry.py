"""`regrax COMMAND ...`: one dataclass a command, parsed by tyro; bad input is one line and exit code 2.

A command spends more time in XLA's compiler than in what it compiles. LLVM's first level of optimisation gives programs
that run as fast as the third's, here, in two thirds of the time; and what was compiled is kept in the user's cache
folder, apart for every kind of processor. Both yield to the user's own XLA_FLAGS and JAX_ variables;
JAX_ENABLE_COMPILATION_CACHE=false keeps nothing.
"""

import contextlib
import hashlib
import io
import os
import platform
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn, Union

import tyro

from regrax import __version__

COMMANDS = {
    "play": "_play:Play",
    "train": "_train:Train",
    "posttrain": "_posttrain:PostTrain",
    "sweep": "_sweep:Sweep",
    "solve": "_solve:Solve",
    "tournament": "_tournament:Tournament",
    "audit": "_audit:AuditLog",
    "games": "_games:Games",
    "learners": "_learners:Learners",
    "step-size": "_step_size:StepSize",
    "certify": "_certify:Certify",
    "explore": "_explore:Explore",
    "reproduce": "_reproduce:Reproduce",
}
"""Where each command lives: only the one that is asked for is imported."""


def _command(name: str) -> Any:
    module, kind = COMMANDS[name].split(":")
    return getattr(import_module(f"regrax.cli.{module}"), kind)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; the console script `regrax`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if list(arguments) == ["--version"]:
        return print(f"regrax {__version__}")
    try:
        command = _parse(arguments)
        with prepared():
            command.run()
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has gone (`regrax ... | head`): be silent, and keep the interpreter from flushing again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _parse(arguments: Sequence[str]) -> Any:
    """The command; tyro's boxed complaint becomes one line."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return _parsed(arguments)
    except SystemExit as leaving:
        if leaving.code == 2:
            _fail(_one_line(complaint.getvalue()))
        raise


def _parsed(arguments: Sequence[str]) -> Any:
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
    if arguments and arguments[0] in COMMANDS:
        name, *rest = arguments
        return tyro.cli(_command(name), prog=f"regrax {name}", args=rest, config=config)
    kinds = [Annotated[_command(name), tyro.conf.subcommand(name)] for name in COMMANDS]
    about = "Regret: play learners in games, and measure how far from equilibrium they are."
    every: Any = Union[tuple(kinds)]  # noqa: UP007
    return tyro.cli(every, prog="regrax", description=about, args=arguments, config=config)


def _one_line(box: str) -> str:
    """The words of a boxed message without its title, frame and colours, up to the pointers to `--help`.

    Where the terminal knows no frames the title is a first row that is underlined.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    rows = [row.strip("│ \t") for row in plain.splitlines() if row[:1] not in ("╭", "╰")]
    rows = rows[1:] if len(rows) > 1 and set(rows[1]) == {"-"} else rows
    rows = [row for row in rows if row.strip("─-")]
    words = re.sub(r"\s+", " ", " ".join(rows)).strip()
    words = re.split(r"Argument helptext:|For full helptext|Full helptext", words)[0].strip(" .")
    return f"{words} (see regrax --help)"


def _fail(message: str) -> NoReturn:
    print(f"regrax: error: {message}", file=sys.stderr)
    sys.exit(2)


LEVEL = "--xla_backend_optimization_level"
WORTH_KEEPING = "0.1"  # seconds of compilation
MOST = 2**29  # bytes


@contextmanager
def prepared() -> Iterator[None]:
    """Set up the environment that jax reads when it is first imported, and mend the cache if an entry is damaged."""
    flags = os.environ.get("XLA_FLAGS", "")
    if LEVEL not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {LEVEL}=1".strip()
    folder = _folder()
    if _is_usable(folder):
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", WORTH_KEEPING)
    with _mending(folder):
        yield


def _folder() -> Path:
    """Programs compiled for one processor may not run on another that shares the home folder."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    kind = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    digest = hashlib.sha256("\n".join([platform.machine(), *kind]).encode()).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "regrax" / f"compiled-{digest}"


def _is_usable(folder: Path) -> bool:
    """Make the folder and keep it from growing without end: the oldest entries go first."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        about = {entry: entry.stat() for entry in folder.iterdir()}
    except OSError:
        return False
    size = sum(entry.st_size for entry in about.values())
    for entry, stat in sorted(about.items(), key=lambda item: item[1].st_mtime):
        if size <= MOST:
            break
        entry.unlink(missing_ok=True)
        size -= stat.st_size
    return True


@contextmanager
def _mending(folder: Path) -> Iterator[None]:
    """An entry that was cut off while being written would be complained of in every later run: drop them all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=".*persistent compilation cache.*")
        show = warnings.showwarning

        def mend(message: Warning | str, *rest: Any, **more: Any) -> None:
            if "persistent compilation cache" not in str(message):
                return show(message, *rest, **more)
            return shutil.rmtree(folder, ignore_errors=True)

        warnings.showwarning = mend
        yield
