"""`regrax COMMAND ...`: a dataclass per command, its fields the options, and one line for whatever goes wrong.

Exit codes: 0 done; 1 a check that was asked for failed; 2 bad input; 3 peers lost; 70 a defect of regrax itself, with
the traceback if REGRAX_DEBUG=1; 130 Ctrl-C.
"""

import difflib
import inspect
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from regrax import __version__
from regrax.cli._compilation_cache import prepared
from regrax.cli._options import parse

COMMANDS = {
    "play": "_play:Play",
    "train": "_train:Train",
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
BAD_INPUT, DEFECT, INTERRUPTED = 2, 70, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; the console script `regrax`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader has gone (`regrax ... | head`): be silent, and keep the interpreter from flushing again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get("REGRAX_DEBUG"):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        _fail(f"a defect of regrax, {what} (REGRAX_DEBUG=1 shows where)", DEFECT)


def _run(arguments: Sequence[str]) -> None:
    if list(arguments) in (["--version"], ["--help"], ["-h"]):
        return print(f"regrax {__version__}" if arguments[0] == "--version" else _overview())
    name, *rest = arguments or ("",)
    if name not in COMMANDS:
        nearest = difflib.get_close_matches(name, COMMANDS, 1, 0.5)
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        got = f"no command is named {name!r}{hint}" if name else "a command must be given"
        raise ValueError(f"{got} (there are {', '.join(COMMANDS)}; see regrax --help)")
    command = parse(_command(name), name, rest)
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
    print(f"regrax: error: {message}", file=sys.stderr)
    sys.exit(code)
