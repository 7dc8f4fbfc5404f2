r"""What an outside agent says, read by a chain of parsers: an action, a distribution, or nothing.

| parser | reads |
|---|---|
| `think` | only what follows the last `</think>`; a thought that never ends is no answer |
| `regex` | the last match of a user's expression, or of its first group, in the last 4,096 characters |
| `json` | `2`, `"heads"`, `[0.1, 0.9]`, `{"action": ...}`, `{"heads": 0.1, "tails": 0.9}`: alone, fenced, or last |
| `name` | an action's name: the first after "answer", "choose", "play" or the like, or the only one in the text |
| `number` | an action's index: the first after such a word, or the last number of the text |

The first that understands counts, and is counted. JSON that means no action is refused, never searched for something
that looks like one. Every parser is linear in the answer's length, and a user's expression runs in a process that is
killed at its time limit.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from regrax.agents._expression import Expression
from regrax.agents._values import KEYS, LEAD, NUMBER, Names, Policy, named, policy_of

PARSERS = ("think", "regex", "json", "name", "number")
UNREAD = "unread"
FENCE = "```"
TAIL_CHARACTERS = 1 << 14  # in which names and numbers are looked for
MARKERS = tuple(
    re.compile(rf"\b(?:{words})\b", re.I)
    for words in ("answer", "choice|choose|pick|select", "play|action|move")
)


class AnswerReader:
    """The chain: reads answers and counts which parser understood how many.

    >>> reader = AnswerReader()
    >>> reader.read("Let me think ... Final answer: 1", ("heads", "tails")).tolist()
    [0.0, 1.0]
    >>> reader.read("<think>tails?</think> Heads", ("heads", "tails")).tolist(), dict(reader.counts)
    ([1.0, 0.0], {'number': 1, 'think': 1, 'name': 1})
    """

    def __init__(self, parsers: Sequence[str] = PARSERS, regex: str | None = None) -> None:
        unknown = [name for name in parsers if name not in PARSERS]
        if unknown or not parsers:
            got = repr(unknown[0]) if unknown else "none"
            raise ValueError(f"parsers must be some of {', '.join(PARSERS)}, got {got}")
        asked = regex is not None and "regex" not in parsers  # an expression is given to be used
        self.parsers, self.counts = ("regex",) * asked + tuple(parsers), Counter[str]()
        self.last = ""  # which parsers read the last answer, as in "think+name"
        self.regex = None if regex is None else Expression(regex)

    def read(self, text: str, names: Sequence[str], seconds: float = 1.0) -> Policy:
        """The distribution that an answer means; raises if it means none.

        Args:
            text: the answer.
            names: the actions' names, in order.
            seconds: how long a user's expression may take.
        """
        thought = "think" in self.parsers and "</think>" in text
        text = spoken(text) if "think" in self.parsers else text
        try:
            policy, by = self._read(text, Names.of(tuple(names)), seconds)
        except ValueError:
            self.counts[UNREAD] += 1
            raise
        self.counts.update(["think"] * thought + [by])
        self.last = f"think+{by}" if thought else by
        return policy

    def _read(self, text: str, names: Names, seconds: float) -> tuple[Policy, str]:
        for by in self.parsers:
            if by == "regex" and self.regex is not None:
                found = self.regex.last(text, seconds)
                policy = None if found is None else named(found, names)
            else:
                policy = READ[by](text, names) if by in READ else None
            if policy is not None:
                return policy, by
        raise ValueError(f"the answer is read by none of {', '.join(self.parsers)}")


def spoken(text: str) -> str:
    """What is said after thinking; nothing if the thought never ends.

    >>> spoken("<think>1 or 2</think>2"), spoken("<think>1 or 2"), spoken("2")
    ('2', '', '2')
    """
    _, end, said = text.rpartition("</think>")
    return said if end or "<think>" not in text else ""


def _json(text: str, names: Names) -> Policy | None:
    for candidate in (text, _fenced(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return policy_of(value, names)
    for opening in "{[":
        value, known = _last_json(text, opening), {*KEYS, *names.places}
        as_object = isinstance(value, dict) and {str(key).casefold() for key in value} & known
        as_list = isinstance(value, list) and len(value) == len(names.labels) > 1
        if as_object or (as_list and all(type(v) in (int, float) for v in value)):
            return policy_of(value, names)
    return None


def _fenced(text: str) -> str:
    """What stands between the last two fences, without the word that says what it is.

    >>> _fenced("So:\\n```json\\n2\\n```")
    '2\\n'
    """
    *_, opening, inner = text.rpartition(FENCE)[0].rpartition(FENCE)
    kind, line_end, body = inner.partition("\n")
    if not opening:
        return ""
    return body if line_end and kind.strip() in ("", "json") else inner


def _last_json(text: str, opening: str) -> Any:
    """The JSON that begins at the last opening bracket."""
    start = text.rfind(opening)
    try:
        return None if start < 0 else json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _conclusion(text: str, names: Names) -> tuple[str, bool]:
    """The line after the last word that announces a choice, if it names or numbers something, and True; or the end."""
    text = text[-TAIL_CHARACTERS:]
    for marker in MARKERS:
        ends = [found.end() for found in marker.finditer(text)]
        line = text[ends[-1] :].lstrip(LEAD[:-1]).partition("\n")[0] if ends else ""
        if names.pattern.search(line) or NUMBER.search(line):
            return line, True
    return text, False


def _name(text: str, names: Names) -> Policy | None:
    where, announced = _conclusion(text, names)
    found = [one[0].casefold() for one in names.pattern.finditer(where)]
    is_one = found and (announced or len(set(found)) == 1)
    return names.policy(names.places[found[0]]) if is_one else None


def _number(text: str, names: Names) -> Policy | None:
    where, announced = _conclusion(text, names)
    found = NUMBER.findall(where) if names.numbered else []
    return named(found[0 if announced else -1], names) if found else None


Parser = Callable[[str, Names], Policy | None]
READ: dict[str, Parser] = {"json": _json, "name": _name, "number": _number}
