"""Layouts, which describe how to convert records from other harnesses to rows.

A record is a row or a multi-round episode: a list of rounds, chat messages, lists with one entry per round, or a record
from TextArena or verifiers.
"""

import dataclasses
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from regrax._files import read_limited
from regrax.agents.answers import PARSERS
from regrax.agents.audit.rows import MAX_ACTIONS, VECTORS, Row, short, type_error

MAX_FILE_BYTES = 1 << 20
FORMATS = ("textarena", "verifiers")
Fields = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """A mapping from records to rows, with a path for each field.

    A path consists of names and indices separated by dots, such as `meta.players.0`. A record is a multi-round episode
    if `rows` or `messages` is set, or if its action is a list; other lists of the same length are then columns too.

    Args:
        fields: path of each field of a row; a field that is not listed is looked up by its own name.
        rows: path of a list of rounds; fields are looked up first in the round, then in the enclosing record.
        messages: path of a list of chat messages; every assistant message is an answer.
        actions: action names to look for in free-text answers.
        parsers: parsers for free-text answers.
        regex: regular expression whose last match is the answer.
        format: "verifiers" or "textarena" for records from these harnesses.

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
        known = Row.__struct_fields__
        for name in self.fields:
            if name not in known:
                raise ValueError(f"fields must be among {', '.join(known)}, got {short(name)}")
        if self.format not in ("", *FORMATS):
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {self.format!r}")
        if self.format == "verifiers":
            usual = {"episode": "example_id", "agent": "model", "payoff": "reward"}
            object.__setattr__(self, "fields", usual | dict(self.fields))
            object.__setattr__(self, "messages", self.messages or "completion")

    def unfold(self, record: Any, names: Counter[str] | None = None) -> Iterator[Fields | str]:
        """Yield the rows of a record, or the reason why it has none.

        Args:
            record: a parsed record.
            names: how often each episode name has occurred; repeated names are numbered.
        """
        if not isinstance(record, dict):
            yield f"a record must be of type object, got {type(record).__name__}"
            return
        row = self._fields(record)
        try:
            rounds = self._rounds(record, row)
        except ValueError as error:
            yield str(error)
            return
        if rounds is None:
            yield row
            return
        names = Counter() if names is None else names
        episode = row.get("episode", names[""])
        key = f"{row.get('agent')}/{episode}"
        names.update(["", key])  # "" counts all episodes
        if names[key] > 1:
            episode = f"{episode}#{names[key]}"
        # a large field would be copied into every round
        shared = {name: value for name, value in row.items() if not _is_large(value)}
        for fields in rounds:
            yield {**shared, "episode": episode, **fields}

    def _rounds(self, record: Fields, row: Fields) -> Iterable[Fields] | None:
        """Return the fields of each round, or None if the record is not an episode."""
        if self.format == "textarena":
            return _textarena_rounds(record)
        if self.rows:
            rounds = lookup(record, self.rows)
            if not isinstance(rounds, list):
                raise ValueError(f"{self.rows} must be a list of rounds, got {short(rounds)}")
            return (self._fields(fields) for fields in rounds if isinstance(fields, dict))
        if self.messages:
            row = {**row, "action": _answers(lookup(record, self.messages))}
        return _columns(row) if isinstance(row.get("action"), list) else None

    def _fields(self, record: Fields) -> Fields:
        paths = {name: self.fields.get(name, name) for name in Row.__struct_fields__}
        values = {name: lookup(record, path) for name, path in paths.items()}
        return {name: value for name, value in values.items() if value is not None}


def lookup(record: Any, path: str) -> Any:
    """Return the value at a path, or None.

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
    """Read a layout from a TOML file with the fields of `Layout`; settings in `more` take precedence."""
    data = read_limited(Path(path), MAX_FILE_BYTES)
    try:
        settings = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be valid TOML: {short(error)}") from None
    more = more or {}
    merged = {**settings, **more}
    if isinstance(settings.get("fields"), dict):
        merged["fields"] = settings["fields"] | more.get("fields", {})
    return layout_of(merged, str(path))


def layout_of(settings: Mapping[str, Any], where: str = "a layout") -> Layout:
    """Build a layout from unchecked settings; `where` names their source in error messages."""
    known = [setting.name for setting in dataclasses.fields(Layout)]
    for name in settings:
        if name not in known:
            raise ValueError(f"{where} may only set {', '.join(known)}, got {short(name)}")
    try:
        return msgspec.convert(settings, Layout)
    except msgspec.ValidationError as error:
        reason = error.__cause__ or type_error(error)  # a ValueError raised by Layout itself
        raise ValueError(f"{where}: {reason}") from None


def _is_large(value: Any) -> bool:
    return isinstance(value, list | dict) and len(value) > MAX_ACTIONS


def _columns(row: Fields) -> Iterator[Fields]:
    """Yield one round per entry of a row's action list, with the matching entries of all other lists of that length."""
    rounds = len(row["action"])
    if "payoff" in row and not isinstance(row["payoff"], list):
        row = {**row, "payoff": [_share(row["payoff"], rounds)] * rounds}
    columns = {}
    for name, value in row.items():
        is_column = isinstance(value, list) and len(value) == rounds > 0
        if is_column and name in VECTORS:  # a single vector may have as many entries as rounds
            is_column = isinstance(value[0], list | dict)
        if is_column:
            columns[name] = value
    for t in range(rounds):
        fields = {name: values[t] for name, values in columns.items()}
        yield {**fields, "round": t + 1}


def _textarena_rounds(record: Fields) -> list[Fields]:
    """Read `{"logs": [[player, message], ...], "rewards": {player: reward}}`; player -1 is the game itself."""
    logs = record.get("logs")
    rewards = record.get("rewards") or {}
    if not isinstance(logs, list) or not isinstance(rewards, dict):
        raise ValueError("logs must be a list of [player, message] and rewards an object")
    messages: dict[int, list[Any]] = {}
    for entry in logs:
        is_pair = isinstance(entry, list) and len(entry) >= 2 and type(entry[0]) is int
        if is_pair and entry[0] >= 0:
            messages.setdefault(entry[0], []).append(entry[1])
    rounds = []
    for player, answers in messages.items():
        fields: Fields = {"agent": str(player), "player": player}
        if str(player) in rewards:
            fields["payoff"] = _share(rewards[str(player)], len(answers))
        # rounds are numbered later, because an invalid move does not count
        rounds += [{**fields, "action": answer} for answer in answers]
    return rounds


def _answers(messages: Any) -> list[str]:
    """Return the text of every assistant message; a string counts as a single message."""
    if isinstance(messages, str):
        return [messages]
    answers = []
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and message.get("role") == "assistant":
            content = message.get("content")
            parts = content if isinstance(content, list) else [content]
            texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
            answers.append("".join(text for text in texts if isinstance(text, str)))
    return answers


def _share(reward: Any, rounds: int) -> Any:
    """Divide an episode's reward evenly among its rounds."""
    return reward / rounds if type(reward) in (int, float) and rounds else reward
