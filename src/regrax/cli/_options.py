"""A command line from a dataclass: its docstring is the help, each field an option."""

import argparse
import inspect
import shutil
from collections.abc import Callable, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Any, NoReturn

from regrax._settings import WORDS, Positional, Setting, build, settings_of

__all__ = ["Positional", "parse"]

METAVARS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


def parse(command: type, name: str, arguments: Sequence[str]) -> Any:
    """The command that the arguments describe; raises ValueError where they do not fit its fields."""
    settings = list(settings_of(command))
    parser = _Parser(
        prog=f"regrax {name}",
        usage=f"regrax {name} {_usage(settings)}",
        description=inspect.getdoc(command),
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    for one in sorted(settings, key=lambda one: one.default is not MISSING):
        _add(parser, one)
    return build(command, vars(parser.parse_args(arguments)))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(
            prog, max_help_position=28, width=min(shutil.get_terminal_size().columns, 100)
        )


def _usage(settings: Sequence[Setting]) -> str:
    """What must be given, and that there is more."""
    parts = [one.name.upper() for one in settings if one.positional and one.default is MISSING]
    parts += [f"[{s.name.upper()}]" for s in settings if s.positional and s.default is not MISSING]
    needed = [one for one in settings if not one.positional and one.default is MISSING]
    parts += [f"{_flag(one)} {_metavar(one)}{' ...' * one.many}" for one in needed]
    return " ".join([*parts, "[options]"])


def _add(parser: argparse.ArgumentParser, one: Setting) -> None:
    must = one.default is MISSING
    shared: dict[str, Any] = {"default": None if must else one.default, "help": _help(one)}
    if one.kind is bool:
        turned = "--no-" + _flag(one)[2:] if one.default else _flag(one)
        action = "store_false" if one.default else "store_true"
        parser.add_argument(turned, dest=one.name, action=action, **shared)
        return
    shared |= {"type": _reader(one.kind), "choices": one.choices or None, "metavar": _metavar(one)}
    if one.positional:
        parser.add_argument(one.name, nargs=None if must else "?", **shared)
    else:
        extra = {"nargs": "*", "action": _Tuple} if one.many else {}
        parser.add_argument(_flag(one), dest=one.name, required=must, **shared, **extra)


class _Tuple(argparse.Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, tuple(values))


def _reader(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {WORDS[kind]}, got {text!r}") from None

    return read


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
