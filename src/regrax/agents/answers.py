r"""Parse an external agent's answer with a chain of parsers; the result is an action, a distribution, or an error.

| parser | reads |
|---|---|
| `think` | only the text after the last `</think>`; an unclosed thought is not an answer |
| `regex` | the last match of a user's regular expression (or its first group) in the last 4,096 characters |
| `json` | `2`, `"heads"`, `[0.1, 0.9]`, `{"action": ...}`, `{"heads": 0.1, "tails": 0.9}` alone, fenced or at the end |
| `name` | an action name: the first after "answer", "choose", "play" or similar, or the only name in the text |
| `number` | an action index: the first number after such a word, or the last number in the text |

The first parser that understands an answer wins. JSON that does not describe an action is an error, and is never
searched for text that looks like an action. Every parser runs in time linear in the length of the answer, and a user's
regular expression has a time limit.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

PARSERS = ("think", "regex", "json", "name", "number")
ROUNDING = 0.02  # how far the sum of rounded probabilities may be from 1; they are rescaled
KEYS = ("action", "policy", "probabilities", "answer", "choice", "move")
LEAD = " \t\r\n:*_=#>`'\"!.-"  # characters allowed between a marker and the choice after it
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?!\w)")
MARKERS = (
    re.compile(r"\banswer\b", re.IGNORECASE),
    re.compile(r"\b(?:choice|choose|pick|select)\b", re.IGNORECASE),
    re.compile(r"\b(?:play|action|move)\b", re.IGNORECASE),
)
TAIL_CHARACTERS = 1 << 14  # searched for names and numbers
SEARCHED_CHARACTERS = 4096  # searched for matches of a user's expression
MAX_PATTERN_CHARACTERS = 1000
MAX_REPEATS = 10**6  # nested counts are expanded when a pattern is compiled, which takes 0.3 s
COUNTS = re.compile(r"\{(\d{1,18})?(?:,(\d{1,18})?)?\}")
MAX_TIMEOUTS = 3

Policy = Float[np.ndarray, "d"]


class Expression:
    r"""A user's regular expression, matched against untrusted text with a time limit.

    A search returns the match, or its first group if it has any. Only the first or last 4,096 characters are searched.

    >>> Expression(r"move=(\w+)").last("move=heads move=tails", seconds=5.0)
    'tails'
    """

    def __init__(self, pattern: str) -> None:
        import regex

        try:
            if len(pattern) > MAX_PATTERN_CHARACTERS:
                raise ValueError(f"it is longer than {MAX_PATTERN_CHARACTERS} characters")
            counts = [max(int(count or 1) for count in pair) for pair in COUNTS.findall(pattern)]
            if math.prod(counts) > MAX_REPEATS:
                raise ValueError(f"its counts multiply to more than {MAX_REPEATS:,}")
            self._compiled = regex.compile(pattern)
        except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
            raise ValueError(f"regex must be a regular expression: {error}") from None
        self.pattern = pattern
        self.groups = self._compiled.groups
        self._timeouts = 0

    def first(self, text: str, seconds: float) -> str | None:
        """Return the first match, or None; raise if the search takes longer than `seconds`."""
        return next(iter(self._search(text[:SEARCHED_CHARACTERS], seconds)), None)

    def last(self, text: str, seconds: float) -> str | None:
        """Return the last match, or None; raise if the search takes longer than `seconds`."""
        return next(reversed(self._search(text[-SEARCHED_CHARACTERS:], seconds)), None)

    def _search(self, text: str, seconds: float) -> list[str | None]:
        group = min(1, self.groups)
        try:
            return [match[group] for match in self._compiled.finditer(text, timeout=seconds)]
        except TimeoutError:
            self._timeouts += 1
        if self._timeouts >= MAX_TIMEOUTS:
            raise TimeoutError(f"regex took more than {seconds:.3g} s on {self._timeouts} answers")
        raise ValueError(f"regex took more than {seconds:.3g} s on the answer")


class Names(NamedTuple):
    """Action names, prepared for searching.

    Attributes:
        labels: the names.
        places: the index of each case-folded name.
        pattern: matches any of the names.
        numbered: True if a number may be an index, False if some names are numbers other than their index.
    """

    labels: tuple[str, ...]
    places: dict[str, int]
    pattern: re.Pattern[str]
    numbered: bool

    def policy(self, place: int) -> Policy:
        """Return the policy that always plays one action."""
        count = len(self.labels)
        if not 0 <= place < count:
            raise ValueError(f"the action must be from 0 to {count - 1}, got {place:.6g}")
        return np.eye(count)[place]

    def find(self, text: str) -> Policy | None:
        """Return the policy for a text that is only an action's name or index, or None."""
        bare = text.strip().strip(LEAD + "[](){}").casefold()
        if bare in self.places:
            return self.policy(self.places[bare])
        if self.numbered and bare.isdecimal() and len(bare) < 10:
            return self.policy(int(bare))
        return None


@cache
def prepare_names(names: tuple[str, ...]) -> Names:
    """Prepare action names for searching."""
    places = {name.strip().casefold(): place for place, name in enumerate(names)}
    longest_first = sorted(places, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    pattern = re.compile(rf"(?<![\w.-])(?:{either})(?![.-]?\w)", re.IGNORECASE)
    are_indices = list(names) == [str(place) for place in range(len(names))]
    numbered = are_indices or not any(NUMBER.fullmatch(name) for name in places)
    return Names(names, places, pattern, numbered)


class AnswerReader:
    """Reads answers and counts how many each parser understood.

    Args:
        parsers: the parsers to try, in order.
        regex: a user's regular expression for the parser `regex`, which is added if missing.

    Attributes:
        counts: number of answers read by each parser, and of `unread` answers.
        last: the parsers that read the most recent answer, such as "think+name".

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
            raise ValueError(f"parsers must be among {', '.join(PARSERS)}, got {got}")
        self.parsers = tuple(parsers)
        if regex is not None and "regex" not in parsers:
            self.parsers = ("regex", *parsers)
        self.regex = None if regex is None else Expression(regex)
        self.counts: Counter[str] = Counter()
        self.last = ""

    def read(self, text: str, names: Sequence[str], seconds: float = 1.0) -> Policy:
        """Return the distribution that an answer describes; raise if it describes none.

        Args:
            text: the answer.
            names: the action names, in order.
            seconds: the time limit for a user's regular expression.
        """
        by = []
        if "think" in self.parsers and "</think>" in text:
            by.append("think")
            text = text.rpartition("</think>")[2]
        elif "think" in self.parsers and "<think>" in text:
            text = ""
        prepared = prepare_names(tuple(names))
        try:
            for parser in self.parsers:
                policy = None
                if parser in READERS:
                    policy = READERS[parser](text, prepared)
                elif parser == "regex" and self.regex is not None:
                    match = self.regex.last(text, seconds)
                    policy = None if match is None else prepared.find(match)
                if policy is not None:
                    by.append(parser)
                    self.counts.update(by)
                    self.last = "+".join(by)
                    return policy
            raise ValueError(f"none of {', '.join(self.parsers)} can read the answer")
        except ValueError:
            self.counts["unread"] += 1
            raise


def policy_of(value: Any, names: Names) -> Policy:
    """Return the distribution that a parsed answer describes; raise if it describes none.

    >>> names = prepare_names(("a", "b", "c"))
    >>> policy_of([0.33, 0.33, 0.33], names).round(4).tolist(), policy_of({"action": "b"}, names).tolist()
    ([0.3333, 0.3333, 0.3333], [0.0, 1.0, 0.0])
    """
    if isinstance(value, dict):
        value = _entry(value, names)
    if isinstance(value, str):
        policy = names.find(value)
        if policy is not None:
            return policy
    if type(value) is int:
        return names.policy(names.places.get(str(value), value if names.numbered else -1))
    if not isinstance(value, list) or not _are_numbers(value):
        raise ValueError("the answer is neither an action nor a distribution")
    if len(value) != len(names.labels):
        raise ValueError(f"a distribution must have {len(names.labels)} entries, got {len(value)}")
    in_range = all(0 <= entry <= 1 + ROUNDING for entry in value)
    if not in_range or abs(sum(value) - 1) > ROUNDING:
        raise ValueError("a distribution must have nonnegative entries that sum to 1")
    policy = np.array(value, float)
    return policy / policy.sum()


def _entry(value: dict[Any, Any], names: Names) -> Any:
    """Return named probabilities in order, or the only entry that gives the action, or None."""
    folded = {str(key).strip().casefold(): entry for key, entry in value.items()}
    if len(folded) == len(value) and set(folded) == set(names.places):
        return [folded[name] for name in names.places]
    keys = [key for key in KEYS if key in folded]
    if len(keys) != 1:
        return None
    entry = folded[keys[0]]
    if isinstance(entry, dict) and keys[0] in ("policy", "probabilities"):
        return _entry(entry, names)
    return entry


def _are_numbers(values: list[Any]) -> bool:
    return all(type(value) in (int, float) for value in values)


def _read_json(text: str, names: Names) -> Policy | None:
    for candidate in (text, _fenced(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return policy_of(value, names)
    known = {*KEYS, *names.places}
    for opening in "{[":
        value = _last_json(text, opening)
        if isinstance(value, dict) and any(str(key).casefold() in known for key in value):
            return policy_of(value, names)
        if isinstance(value, list) and len(value) == len(names.labels) > 1 and _are_numbers(value):
            return policy_of(value, names)
    return None


def _fenced(text: str) -> str:
    """Return the text between the last two fences, without the language tag.

    >>> _fenced("So:\\n```json\\n2\\n```")
    '2\\n'
    """
    before, _, _ = text.rpartition("```")
    _, opening, inner = before.rpartition("```")
    if not opening:
        return ""
    tag, line_end, body = inner.partition("\n")
    return body if line_end and tag.strip() in ("", "json") else inner


def _last_json(text: str, opening: str) -> Any:
    """Parse the JSON that begins at the last opening bracket."""
    start = text.rfind(opening)
    if start < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _conclusion(text: str, names: Names) -> tuple[str, bool]:
    """Return the line after the last word that announces a choice and True, or the end of the text and False."""
    text = text[-TAIL_CHARACTERS:]
    for marker in MARKERS:
        ends = [match.end() for match in marker.finditer(text)]
        if ends:
            line = text[ends[-1] :].lstrip(LEAD[:-1]).partition("\n")[0]
            if names.pattern.search(line) or NUMBER.search(line):
                return line, True
    return text, False


def _read_name(text: str, names: Names) -> Policy | None:
    text, announced = _conclusion(text, names)
    matches = [match[0].casefold() for match in names.pattern.finditer(text)]
    if matches and (announced or len(set(matches)) == 1):
        return names.policy(names.places[matches[0]])
    return None


def _read_number(text: str, names: Names) -> Policy | None:
    text, announced = _conclusion(text, names)
    numbers = NUMBER.findall(text) if names.numbered else []
    if not numbers:
        return None
    return names.find(numbers[0] if announced else numbers[-1])


READERS = {"json": _read_json, "name": _read_name, "number": _read_number}
