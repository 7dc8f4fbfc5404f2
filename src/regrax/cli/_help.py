"""`regrax --help`, `regrax --version`, and what is said to whoever gives no command that there is."""

import difflib
import inspect
from collections.abc import Callable, Sequence

from regrax import __version__

OVERVIEW = """usage: regrax COMMAND [options]
       regrax COMMAND --help
       regrax --version

Regret: play learners in games, and measure how far from equilibrium they are.
"""


def answer(arguments: Sequence[str], names: Sequence[str], load: Callable[[str], type]) -> None:
    """Print what was asked for; raises ValueError for a command that is not among the names.

    Args:
        arguments: Of the process.
        names: Of all commands.
        load: Gives the class of a command, whose docstring begins with what it does.
    """
    if list(arguments) == ["--version"]:
        return print(f"regrax {__version__}")
    if list(arguments) in (["--help"], ["-h"]):
        first = {name: (inspect.getdoc(load(name)) or "").partition("\n")[0] for name in names}
        return print("\n".join([OVERVIEW, *(f"  {name:12}{text}" for name, text in first.items())]))
    name = arguments[0] if arguments else ""
    close = difflib.get_close_matches(name, names, 1, 0.5)
    hint = f"; did you mean {close[0]}?" if close else ""
    got = f"unknown command {name!r}{hint}" if name else "a command must be given"
    raise ValueError(f"{got} (there are {', '.join(names)}; see regrax --help)")
