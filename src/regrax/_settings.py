"""Settings as dataclasses: the type, the choices, the default and the help of each field.

Command lines and files of settings are read by what stands here, so a setting is written down once: as a field with a
type, and under it a string that says what it is.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints as hints_of,
)

T = TypeVar("T")
POSITIONAL = "positional"
Positional = Annotated[T, POSITIONAL]
"""The type of a field that a command line takes without a name."""
WORDS = {int: "an integer", float: "a number", str: "a text", Path: "a path", bool: "true or false"}


class Setting(NamedTuple):
    """One field of a dataclass of settings."""

    name: str
    kind: type  # of a single value: int, float, str, bool or Path
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
    hints, helps = hints_of(config, include_extras=True), _helps(config)
    for field in fields(config):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from settings_of(hint)
        else:
            yield Setting(
                field.name, *_read(hint), default=field.default, help=helps.get(field.name, "")
            )


def build(config: Any, values: dict[str, Any]) -> Any:
    """The dataclass with these values of its settings, and of those of its parts."""
    hints = hints_of(config)
    parts = {f.name: hints[f.name] for f in fields(config)}
    return config(
        **{
            name: build(hint, values) if is_dataclass(hint) else values[name]
            for name, hint in parts.items()
        }
    )


def _read(hint: Any) -> tuple[type, tuple[str, ...], bool, bool]:
    """The kind, the choices, and whether it is many and positional."""
    hint, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    many = get_origin(hint) is tuple
    hint = get_args(hint)[0] if many else hint
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    return (str if choices else hint), choices, many, POSITIONAL in marks


def _helps(config: type) -> dict[str, str]:
    """The string under each field, which Python itself does not keep."""
    try:
        source = textwrap.dedent(inspect.getsource(config))
    except OSError:
        return {}
    (made,) = ast.parse(source).body
    body = made.body if isinstance(made, ast.ClassDef) else []
    found = {}
    for field, under in pairwise(body):
        match field, under:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
    return found
