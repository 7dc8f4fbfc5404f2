"""Settings as dataclasses, and the command line made from them.

A setting is written down once: as a field with a type and a default, and in the class's list of Args what it is.
Command lines and files of settings are read by what stands here; a field that is a dataclass itself stands for its own.
"""

import argparse
import contextlib
import inspect
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints as hints_of,
)

from regrax._files import new_file, output_file

T = TypeVar("T")
Positional = Annotated[T, "positional"]
"""The type of a field that a command line takes without a name."""
Output = NewType("Output", Path)
"""The type of a picture or page to write, in place of the one before.

Whether it can be written is checked before any work is done; `-` is standard output.
"""
NewOutput = NewType("NewOutput", Path)
"""The type of a file of data to write, which must not exist yet; `-` is standard output."""
Folder = NewType("Folder", Path)
"""The type of a folder to write into, which may be new: a file in its place is told before any work is done."""
METAVARS = {int: "N", float: "X", str: "TEXT"} | dict.fromkeys(
    (Path, Output, NewOutput, Folder), "PATH"
)
WORDS = {int: "an integer", float: "a number", str: "a text", Path: "a path"}
MAX_INTEGER = 2**63


class Setting(NamedTuple):
    """One field of a dataclass of settings."""

    name: str
    kind: Any  # of a single value: int, float, str, bool, Path, Output, NewOutput or Folder
    choices: tuple[str, ...]
    many: bool  # whether it is a tuple of values
    positional: bool
    default: Any  # MISSING where a value must be given
    help: str


def settings_of(config: Any) -> Iterator[Setting]:
    """The fields of a dataclass, those of a field that is a dataclass itself in its place.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Config:
    ...     game: str
    ...     rounds: int | None = None
    >>> [(one.name, one.kind.__name__, one.default) for one in settings_of(Config)][1]
    ('rounds', 'int', None)
    """
    hints, helps = hints_of(config, include_extras=True), split_docstring(config)[1]
    for field in fields(config):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from settings_of(hint)
        else:
            yield Setting(field.name, *_read(hint), field.default, helps.get(field.name, ""))


def build(config: Any, values: dict[str, Any]) -> Any:
    """The dataclass with these values of its settings, and of those of its parts.

    Its static method `refuse`, if there is one, is called with the values before the parts are made: for what is
    quicker to check than they are.
    """
    getattr(config, "refuse", lambda _: None)(values)
    hints = hints_of(config)

    def value(name: str) -> Any:
        return build(hints[name], values) if is_dataclass(hints[name]) else values[name]

    return config(**{field.name: value(field.name) for field in fields(config)})


def _read(hint: Any) -> tuple[Any, tuple[str, ...], bool, bool]:
    """The kind, the choices, and whether it is many and positional."""
    positional = get_origin(hint) is Annotated
    hint = get_args(hint)[0] if positional else hint
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    many = get_origin(hint) is tuple
    hint = get_args(hint)[0] if many else hint
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    return (str if choices else hint), choices, many, positional


_ARGS = re.compile(r"^Args:\n((?: .*\n|\n(?= ))+)\n?", re.M)
_ARG = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.M)


def split_docstring(documented: Any) -> tuple[str, dict[str, str]]:
    """A docstring without its list of arguments, and what that says of each.

    >>> split_docstring(parse)[1]["name"]
    'Of the command, as in play.'
    """
    text = (inspect.getdoc(documented) or "") + "\n"
    listed = "".join(_ARGS.findall(text))
    helps = {name: " ".join(said.split()) for name, said in _ARG.findall(listed)}
    return _ARGS.sub("", text).strip(), helps


def parse(command: type, name: str, arguments: Sequence[str]) -> Any:
    """The command that the arguments describe; raises ValueError where they do not fit its fields.

    Args:
        command: A dataclass with a method `run`.
        name: Of the command, as in play.
        arguments: As a shell splits them.
    """
    settings, width = list(settings_of(command)), min(shutil.get_terminal_size().columns, 100)
    parser = _Parser(
        prog=f"regrax {name}",
        usage=f"regrax {name} {_usage(settings)}",
        description=split_docstring(command)[0],
        formatter_class=partial(
            argparse.RawDescriptionHelpFormatter, max_help_position=28, width=width
        ),
        allow_abbrev=False,
    )
    known = {"--help"}
    for one in sorted(settings, key=lambda one: one.default is not MISSING):
        known.update(_add(parser, one).option_strings)
    options = itertools.takewhile(lambda word: word != "--", arguments)
    unknown = [o for o in options if o.startswith("--") and o.split("=")[0] not in known]
    if unknown and "--help" not in arguments:  # argparse would first ask for what is missing
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    given = vars(parser.parse_args(arguments)).items()
    return build(command, {n: tuple(v) if isinstance(v, list) else v for n, v in given})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _usage(settings: Sequence[Setting]) -> str:
    """What must be given, and that there is more."""
    parts = []
    for one in sorted(settings, key=lambda one: not one.positional):
        named = f"{_metavar(one)}" if one.positional else f"{_flag(one)} {_metavar(one)}"
        if one.default is MISSING:
            parts.append(named + " ..." * one.many)
        elif one.positional:
            parts.append(f"[{named}]")
    return " ".join([*parts, "[options]"])


def _add(parser: argparse.ArgumentParser, one: Setting) -> argparse.Action:
    must = one.default is MISSING
    shared: dict[str, Any] = {"default": None if must else one.default, "help": _help(one)}
    if one.kind is bool:
        turned = "--no-" + _flag(one)[2:] if one.default else _flag(one)
        action = "store_false" if one.default else "store_true"
        return parser.add_argument(turned, dest=one.name, action=action, **shared)
    shared |= {
        "type": PATHS.get(one.kind) or _reader(one.kind),
        "choices": one.choices or None,
        "metavar": _metavar(one),
        "nargs": "+" if one.many else "?" if one.positional and not must else None,
    }
    if one.positional:
        return parser.add_argument(one.name, **shared)
    return parser.add_argument(_flag(one), required=must, **shared)


def _reader(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        with contextlib.suppress(ValueError):
            value = kind(text)
            if abs(value) < MAX_INTEGER if kind is int else text or kind is str:
                return value
        shown = text if len(text) <= 40 else text[:37] + "..."
        limit = " below 2^63" if kind is int and text.isdigit() else ""
        raise argparse.ArgumentTypeError(f"must be {WORDS[kind]}{limit}, got {shown!r}")

    return read


def _output(check: Callable[[Path], Path], text: str) -> Path:
    path = _reader(Path)(text)
    try:
        if text != "-":
            check(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot be written to: {error.strerror}") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return path


def _folder(text: str) -> Path:
    path = _reader(Path)(text)
    for part in (path, *path.parents):
        if os.path.exists(part) and not os.path.isdir(part):
            raise argparse.ArgumentTypeError(f"must be a folder, got the file {part}")
    return path


PATHS = {
    Output: partial(_output, output_file),
    NewOutput: partial(_output, new_file),
    Folder: _folder,
}
"""How paths to write to are read."""


def _flag(one: Setting) -> str:
    return "--" + one.name.replace("_", "-")


def _metavar(one: Setting) -> str | None:
    if one.choices:
        return "{" + ",".join(one.choices) + "}"
    return one.name.upper() if one.positional else METAVARS.get(one.kind)


def _help(one: Setting) -> str:
    """The field's own words, and its default where it says something."""
    value = " ".join(map(str, one.default)) if isinstance(one.default, tuple) else one.default
    plain = value in (MISSING, None, "") or one.kind is bool
    return (one.help + ("" if plain else f" (default: {value})")).replace("%", "%%")
