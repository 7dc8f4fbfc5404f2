"""Fields of a dataclass of settings: their types, allowed values and defaults."""

from collections.abc import Iterator
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints


class Setting(NamedTuple):
    """A field of a dataclass; `choices` is empty unless its type is a Literal."""

    name: str
    kind: Any
    choices: tuple[str, ...]
    default: Any


def settings_of(config: Any) -> Iterator[Setting]:
    """List the fields of a dataclass.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Config:
    ...     game: str
    ...     rounds: int | None = None
    >>> [(setting.name, setting.kind.__name__, setting.default) for setting in settings_of(Config)][1]
    ('rounds', 'int', None)
    """
    hints = get_type_hints(config)
    for field in fields(config):
        hint = hints[field.name]
        if get_origin(hint) in (Union, UnionType):
            (hint,) = (part for part in get_args(hint) if part is not NoneType)
        choices = ()
        if get_origin(hint) is Literal:
            choices = get_args(hint)
            hint = str
        yield Setting(field.name, hint, choices, field.default)
