"""`regrax COMMAND ...`: one dataclass a command, parsed by tyro; bad input is one line and exit code 2."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import tyro

from regrax import __version__
from regrax.cli.audit import AuditLog
from regrax.cli.certify import Certify
from regrax.cli.compiling import prepared
from regrax.cli.explore import Explore
from regrax.cli.games import Games
from regrax.cli.learners import Learners
from regrax.cli.play import Play
from regrax.cli.reproduce import Reproduce
from regrax.cli.solve import Solve
from regrax.cli.step_size import StepSize
from regrax.cli.sweep import Sweep
from regrax.cli.tournament import Tournament
from regrax.cli.train import Train

Command = (
    Annotated[Play, tyro.conf.subcommand("play")]
    | Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Sweep, tyro.conf.subcommand("sweep")]
    | Annotated[Solve, tyro.conf.subcommand("solve")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
    | Annotated[Tournament, tyro.conf.subcommand("tournament")]
    | Annotated[AuditLog, tyro.conf.subcommand("audit")]
    | Annotated[Games, tyro.conf.subcommand("games")]
    | Annotated[Learners, tyro.conf.subcommand("learners")]
    | Annotated[StepSize, tyro.conf.subcommand("step-size")]
    | Annotated[Certify, tyro.conf.subcommand("certify")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
)


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
            return tyro.cli(
                Command,  # pyright: ignore[reportArgumentType]
                prog="regrax",
                description="Regret: play learners in games, and measure how far from equilibrium they are.",
                args=arguments,
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName),
            )
    except SystemExit as leaving:
        if leaving.code == 2:
            _fail(_one_line(complaint.getvalue()))
        raise


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
