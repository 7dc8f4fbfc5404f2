"""Records of other harnesses to rows: maps of fields, lists of rounds, chat messages, TextArena and verifiers."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from regrax._files import read_limited
from regrax.agents._parsers import PARSERS
from regrax.agents.audit._rows import MAX_ACTIONS, VECTORS, Row
from regrax.agents.audit._text import short

KNOWN = Row.__struct_fields__
MAX_FILE_BYTES = 1 << 20
FORMATS = ("textarena", "verifiers")
Fields = dict[str, Any]
Rounds = Iterator[Fields]
TEXTS = (list | tuple, "a list of texts")
KINDS = {"fields": (dict, "a table of texts"), "actions": TEXTS, "parsers": TEXTS}


@dataclass(frozen=True)
class Layout:
    """Where a record keeps what a row is made of.

    A path is names and places with dots between them, as in `meta.players.0`. A record is a row, or an episode of many:
    if `rows` or `messages` is given, or if its action is a list, whose other lists are then as long.

    Args:
        fields: from a row's field to its path in a record; a field that is not named is looked for under its own name.
        rows: the path of a list of rounds; fields are looked for in a round first, then in the record around it.
        messages: the path of a list of chat messages, of which every one of the assistant is an answer.
        actions: the names of the actions to look for in answers given in words.
        parsers: which parsers read such answers.
        regex: an expression whose last match is the answer.
        format: "verifiers" or "textarena", whose records are known.

    >>> layout = Layout({"episode": "id", "payoff": "reward"}, messages="chat", actions=("heads", "tails"))
    >>> chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Heads!"}]
    >>> list(layout.unfold({"id": 3, "chat": chat, "reward": 1.0}))
    [{'episode': 3, 'payoff': 1.0, 'action': 'Heads!', 'round': 1}]
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    messages: str = ""
    actions: tuple[str, ...] = ()
    parsers: tuple[str, ...] = PARSERS
    regex: str | None = None
    format: str = ""

    def __post_init__(self) -> None:
        unknown = [name for name in self.fields if name not in KNOWN]
        if unknown:
            raise ValueError(f"fields must be some of {', '.join(KNOWN)}, got {short(unknown[0])}")
        if self.format not in ("", *FORMATS):
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {self.format!r}")
        if self.format == "verifiers":
            usual = {"episode": "example_id", "agent": "model", "payoff": "reward"}
            object.__setattr__(self, "fields", usual | dict(self.fields))
            object.__setattr__(self, "messages", self.messages or "completion")

    def unfold(self, record: Any, seen: Counter[str] | None = None) -> Iterator[Fields | str]:
        """The rows of a record, or why it has none; `seen` counts the names of episodes."""
        if not isinstance(record, dict):
            yield f"a record must be object, got {type(record).__name__}"
            return
        row = self._own(record)
        rounds = self._rounds(record, row)
        if rounds is None or isinstance(rounds, str):
            yield rounds or row
            return
        common = _small(row) | self._episode(record, Counter() if seen is None else seen)
        yield from (common | one for one in rounds)

    def _rounds(self, record: Fields, row: Fields) -> Rounds | str | None:
        """What an episode's rounds add to its row, why there are none, or None if it is no episode."""
        if self.format == "textarena":
            return _textarena(record)
        if self.rows:
            rounds = lookup(record, self.rows)
            if not isinstance(rounds, list):
                return f"{self.rows} must be a list of rounds, got {short(rounds)}"
            return (self._own(one) for one in rounds if isinstance(one, dict))
        answers = {"action": _spoken(lookup(record, self.messages))} if self.messages else {}
        return _columns(row | answers)

    def _own(self, record: Fields) -> Fields:
        """The fields that a record has."""
        paths = {name: self.fields.get(name, name) for name in KNOWN}
        found = {name: lookup(record, path) for name, path in paths.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _episode(self, record: Fields, seen: Counter[str]) -> Fields:
        """An episode's name; the second of the same name has a number after it."""
        name = lookup(record, self.fields.get("episode", "episode"))
        name = seen.total() if name is None else name
        key = f"{lookup(record, self.fields.get('agent', 'agent'))}/{name}"
        seen[key] += 1
        return {"episode": name if seen[key] == 1 else f"{name}#{seen[key]}"}


def lookup(record: Any, path: str) -> Any:
    """What stands at a path, or None.

    >>> lookup({"meta": {"players": ["a", "b"]}}, "meta.players.1")
    'b'
    """
    if isinstance(record, dict) and path in record:
        return record[path]
    for name in path.split("."):
        if isinstance(record, dict):
            record = record.get(name)
        elif isinstance(record, list) and name.isdecimal() and int(name) < len(record):
            record = record[int(name)]
        else:
            return None
    return record


def read_layout(path: str | Path, more: Mapping[str, Any] | None = None) -> Layout:
    """The layout that a TOML file describes: the fields of `Layout`, `fields` as a table; `more` comes on top of it."""
    data = read_limited(Path(path), MAX_FILE_BYTES)
    try:
        found = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be TOML: {short(error)}") from None
    both = {**found, **(more or {})}
    if isinstance(found.get("fields"), dict):
        both["fields"] = {**found["fields"], **both["fields"]}
    return layout_of(both, str(path))


def layout_of(given: Mapping[str, Any], where: str = "a layout") -> Layout:
    """The layout with these settings, checked."""
    known = [one.name for one in fields(Layout)]
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{where} may set {', '.join(known)}, got {short(name)}")
        kind, word = KINDS.get(name, (str, "a text"))
        inner = value.values() if isinstance(value, dict) else value
        if not isinstance(value, kind) or not all(isinstance(one, str) for one in inner):
            raise ValueError(f"{name} of {where} must be {word}, got {short(value)}")
    return Layout(**{n: tuple(v) if isinstance(v, list) else v for n, v in given.items()})  # pyright: ignore[reportArgumentType]


def _columns(row: Fields) -> Rounds | None:
    """The rounds of a row whose action is a list: of every list as long an entry each."""
    if not isinstance(row.get("action"), list):
        return None
    rounds = len(row["action"])
    if "payoff" in row and not isinstance(row["payoff"], list):
        row["payoff"] = [_share(row["payoff"], rounds)] * rounds
    lists = {name: value for name, value in row.items() if _is_column(name, value, rounds)}
    return (
        {name: values[t] for name, values in lists.items()} | {"round": t + 1}
        for t in range(rounds)
    )


def _textarena(record: Fields) -> Rounds | str:
    """Of `{"logs": [[player, message], ...], "rewards": {player: reward}}`; the game itself speaks as -1."""
    logs, rewards = record.get("logs"), record.get("rewards") or {}
    if not isinstance(logs, list) or not isinstance(rewards, dict):
        return "logs must be a list of [player, message] and rewards an object"
    said: dict[int, list[Any]] = {}
    for entry in logs:
        is_pair = isinstance(entry, list) and len(entry) >= 2 and type(entry[0]) is int
        if is_pair and entry[0] >= 0:
            said.setdefault(entry[0], []).append(entry[1])
    own: dict[int, Fields] = {n: {"agent": str(n), "player": n} for n in said}
    for n in own:
        if str(n) in rewards:
            own[n]["payoff"] = _share(rewards[str(n)], len(said[n]))
    return (
        own[n] | {"action": message} for n in said for message in said[n]
    )  # a bad move is no round


def _is_column(name: str, value: Any, rounds: int) -> bool:
    """Whether a field has an entry per round; a vector of the actions may be as long by chance."""
    is_list = isinstance(value, list) and len(value) == rounds > 0
    return is_list and (name not in VECTORS or isinstance(value[0], list | dict))


def _small(row: Fields) -> Fields:
    """What holds for all rounds of an episode; what is too large for that would be looked through in every round."""
    return {n: v for n, v in row.items() if not isinstance(v, list | dict) or len(v) <= MAX_ACTIONS}


def _spoken(messages: Any) -> list[Any]:
    """What the assistant said, message by message; a text is one message."""
    if isinstance(messages, str):
        return [messages]
    every = messages if isinstance(messages, list) else []
    said = [m for m in every if isinstance(m, dict) and m.get("role") == "assistant"]
    return [_text(message.get("content")) for message in said]


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _share(reward: Any, rounds: int) -> Any:
    """A reward for a whole episode as an equal share for every round."""
    return reward / rounds if type(reward) in (int, float) and rounds else reward
