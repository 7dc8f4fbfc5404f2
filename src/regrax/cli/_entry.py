"""`regrax COMMAND ...`: one dataclass a command, parsed by tyro; bad input is one line and exit code 2."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn, Union

import tyro

from regrax import __version__
from regrax.cli._compilation_cache import prepared

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
