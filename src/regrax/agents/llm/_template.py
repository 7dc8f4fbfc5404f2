"""The words of a task: what its template may name in braces, names of actions, and how an answer is read."""

import re
import reprlib
import string
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from regrax import _checks as checks
from regrax.agents.answers import Expression

MAX_ACTIONS = 1_000
PARSER_SECONDS = 10.0
MAX_PARSER_CHARACTERS = 1000
LETTERS = string.ascii_uppercase
OPENING = (
    "You choose one of {d} options, {actions}, in each of {rounds} rounds. "
    "After each round you learn {learn}. Lower is better: keep the total small.\n"
)
TELL = {"full": "\nLosses: {losses}\n", "bandit": "\nIts loss: {loss}\n"}
LEARN = {"full": "the loss of every option", "bandit": "the loss of your choice"}
FIELDS = {
    "opening": ("d", "actions", "rounds", "learn"),
    "ask": ("round",),
    "answer": ("action",),
    "tell": ("round", "losses", "action", "loss"),
    "loss": ("action", "loss"),
}
"""What each part of the template may name in braces."""


def letters(count: int) -> tuple[str, ...]:
    """A, B, ..., Z; with more than 26 A1, B1, ..., Z1, A2, ...: no name is the beginning of another.

    >>> letters(3), letters(28)[-2:]
    (('A', 'B', 'C'), ('A2', 'B2'))
    """
    width = len(str((count - 1) // 26 + 1))
    return tuple(
        LETTERS[i % 26] + ("" if count <= 26 else str(i // 26 + 1).zfill(width))
        for i in range(count)
    )


def as_names(actions: Any) -> tuple[str, ...]:
    """Names of actions, or as many letters as there are."""
    if isinstance(actions, int):
        checks.at_least("actions", actions, 2, MAX_ACTIONS)
        return letters(actions)
    is_list = isinstance(actions, Iterable) and not isinstance(actions, str | bytes)
    names: tuple[Any, ...] = tuple(actions) if is_list else ()
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            f"actions must be names or how many there are, got {reprlib.repr(actions)}"
        )
    checks.at_least("actions", len(names), 1, MAX_ACTIONS)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"actions must be at least 2 different names, got {reprlib.repr(names)}")
    return names


def check_part(part: str, text: Any) -> None:
    """Raise unless a part of a template names only what it may.

    >>> check_part("ask", "Round {roun}:")
    Traceback (most recent call last):
    ValueError: ask may hold {round}, got {roun}
    """
    try:
        parsed = list(string.Formatter().parse(text))
    except (ValueError, TypeError):
        raise ValueError(f"{part} must be text with names in braces, got {text!r}") from None
    known = FIELDS[part]
    listed = ", ".join(f"{{{name}}}" for name in known)
    for _, name, form, conversion in parsed:
        if name is not None and (name not in known or form or conversion):
            written = name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise ValueError(f"{part} may hold {listed}, got {{{written}}}")


def check_parser(parser: Any) -> None:
    """Raise unless answers can be read by it."""
    try:
        if len(parser) > MAX_PARSER_CHARACTERS:
            raise ValueError(f"it is longer than {MAX_PARSER_CHARACTERS} characters")
        groups = re.compile(_pattern(parser, "")).groups
    except (re.error, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"parser must be first, last, exact or a regular expression: {error}"
        ) from None
    if not groups:
        raise ValueError(f"parser must have a group, as in 'choose (\\w+)', got {parser!r}")


def read_answer(parser: str, actions: Sequence[str], text: str) -> int | None:
    """Return the index of the action that a text names, or None.

    A regular expression may come with the folder of a model, so its matches are found where they can be stopped.

    >>> read_answer("last", ("A", "B"), "not A but B"), read_answer("exact", ("A", "B"), "B!")
    (1, None)
    """
    names = "|".join(re.escape(name) for name in sorted(actions, key=len, reverse=True))
    if parser in PLAIN:
        found = [match[1] for match in re.finditer(_pattern(parser, names), text)]
        word = found[-1 if parser == "last" else 0] if found else None
    else:
        word = _expression(parser).first(text, PARSER_SECONDS)
    return actions.index(word) if word in actions else None


_expression = lru_cache(Expression)
PLAIN = {
    "first": r"(?<!\w)({names})(?!\w)",
    "last": r"(?<!\w)({names})(?!\w)",
    "exact": r"^\s*({names})\s*$",
}
"""Parsers by their names."""


def _pattern(parser: str, names: str) -> str:
    if parser in PLAIN:
        return PLAIN[parser].replace("{names}", names)
    return parser
