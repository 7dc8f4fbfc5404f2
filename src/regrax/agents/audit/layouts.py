r"""Layouts, which describe how to convert records from other harnesses to rows.

A row is one agent's round. A record is a row or a multi-round episode: a list of rounds, chat messages, lists with one
entry per round, or a record of Inspect, verifiers or TextArena, which is recognised by its fields.

A `Resolver` then turns free-text answers into actions and, in a game, players' actions into the losses of every action.
In a game with payoffs $u$ the losses of player $n$ are $\ell_{n,j} = -u_n(j, a_{-n})$, so no propensity is needed. The
other players' actions come from the row's `others`, or from their rows for the same episode and round, anywhere in the
log.
"""

import dataclasses
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from regrax import _checks as checks
from regrax._files import read_limited
from regrax.agents.answers import PARSERS, AnswerReader
from regrax.agents.audit.formats import VECTORS, convert, short, type_error
from regrax.games import Game
from regrax.specs import as_game

MAX_ACTIONS = 1000
MAX_ROUND = 1 << 53  # doubles do not represent every integer above this
MAX_FILE_BYTES = 1 << 20
MAX_WAITING_ROUNDS = 1 << 20  # rounds in which some player's action has not been read yet
LOSS_FIELDS = ("losses", "payoffs", "loss", "payoff")
FORMATS = ("inspect", "rows", "textarena", "verifiers")
USUAL_FIELDS = {
    "inspect": {"episode": "id", "agent": "model"},
    "verifiers": {"episode": "example_id", "agent": "model", "payoff": "reward"},
}
USUAL_MESSAGES = {"inspect": "messages", "verifiers": "completion"}
# Inspect's correct, partial, incorrect, no answer
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
SIGNS = (
    ("inspect", {"messages", "epoch"}),
    ("textarena", {"logs", "rewards"}),
    ("verifiers", {"completion"}),
    ("verifiers", {"traces"}),
)
"""Fields by which the records of a tool are recognised, if they have no action."""
Fields = dict[str, Any]
Name = str | int | float
Vector = list[float] | dict[str, float]


class LogRow(msgspec.Struct, gc=False):
    """The fields that are read from a row; all others are ignored."""

    episode: Name | None = None
    agent: Name | None = None
    round: int | float | None = None
    policy: Vector | None = None
    action: Name | None = None
    losses: Vector | None = None
    payoffs: Vector | None = None
    loss: float | None = None
    payoff: float | None = None
    propensity: float | None = None
    answered: Any = None
    parser: str | None = None  # the parser that read the answer
    player: Name | None = None  # in a game; by default the agent's name
    others: list[Name] | Name | None = None  # the other players' actions, in the game's order
    context: Name | None = None


Numbered = tuple[int, LogRow | str]  # line number, and the row or why it cannot be read


class _Reward(msgspec.Struct):
    score: float | None = None
    weight: float | None = None


class _Node(msgspec.Struct):
    message: Any = None
    sampled: bool = False


class _Trace(msgspec.Struct):
    """The fields of a trace of verifiers that are read."""

    rewards: dict[str, _Reward] | None = None
    nodes: list[_Node] | None = None


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
        format: tool that wrote the records, "inspect", "verifiers" or "textarena", or "rows"; by default it is guessed
            from the first record.
        players: the player of the game that each agent is.

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
    players: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = LogRow.__struct_fields__
        for name in self.fields:
            if name not in known:
                raise ValueError(f"fields must be among {', '.join(known)}, got {short(name)}")
        if self.format != "":
            checks.one_of("format", self.format, FORMATS)

    @cached_property
    def paths(self) -> dict[str, str]:
        """The path of every field of a row."""
        paths = USUAL_FIELDS.get(self.format, {}) | dict(self.fields)
        return {name: paths.get(name, name) for name in LogRow.__struct_fields__}

    def unfold(self, record: Fields, names: Counter[str] | None = None) -> Iterator[Fields | str]:
        """Yield the rows of a record, or the reason why it has none.

        Args:
            record: a parsed record.
            names: how often each episode name has occurred; repeated names are numbered.
        """
        try:
            if self.format == "verifiers" and isinstance(record.get("traces"), list):
                for trace in record["traces"]:
                    yield from self.unfold(_rollout(record, trace), names)
                return
            row = self._fields(record)
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
        shared = {}
        for name, value in row.items():
            if not (isinstance(value, list | dict) and len(value) > MAX_ACTIONS):
                shared[name] = value
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
        path = self.messages or USUAL_MESSAGES.get(self.format)
        if path:
            messages = lookup(record, path)
            row = {**row, "action": _answers(messages)}
            if not row["action"]:
                raise ValueError(f"{path} must have an answer, got {short(messages)}")
        return _columns(row) if isinstance(row.get("action"), list) else None

    def _fields(self, record: Fields) -> Fields:
        values = {name: lookup(record, path) for name, path in self.paths.items()}
        if self.format == "inspect" and isinstance(values["payoff"], str):
            values["payoff"] = GRADES.get(values["payoff"], values["payoff"])
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


def complete_layout(layout: Layout | None, record: Any, game: Game | str | None) -> Layout | None:
    """Guess the format of a log from its first record, and raise if nothing gives the losses.

    >>> complete_layout(None, {"logs": [], "rewards": {}}, "chicken").format
    'textarena'
    """
    fields = record if isinstance(record, dict) else {}
    if layout is None or not (layout.format or layout.rows or layout.messages):
        for guess, names in SIGNS:
            if "action" not in fields and fields.keys() >= names:
                layout = dataclasses.replace(layout or Layout(), format=guess)
                break
    if layout is None or game is not None:
        return layout
    if layout.format == "inspect" and layout.fields.keys().isdisjoint(LOSS_FIELDS):
        scores = fields.get("scores")
        names = ", ".join(scores) if isinstance(scores, dict) else ""
        raise ValueError(
            "a log of Inspect does not say which losses count: name the game, or the path of a score as the field "
            f"payoff, such as payoff=scores.NAME.value (scores: {short(names) if names else 'none'})"
        )
    if (layout.messages or layout.format not in ("", "rows")) and not layout.actions:
        raise ValueError("to read answers in words, name the actions or the game")
    return layout


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
        yield {**{name: values[t] for name, values in columns.items()}, "round": t + 1}


def _textarena_rounds(record: Fields) -> list[Fields]:
    """Read `{"logs": [[player, message], ...], "rewards": {player: reward}}`; player -1 is the game itself."""
    logs = record.get("logs")
    rewards = record.get("rewards") or {}
    if not isinstance(logs, list) or not isinstance(rewards, dict):
        raise ValueError("logs must be a list of [player, message] and rewards an object")
    spoken = [entry for entry in logs if isinstance(entry, list) and len(entry) >= 2]
    messages: dict[int, list[str]] = {}
    # a game may repeat a player's move in its own words, so a run of messages is one answer
    for player, entries in groupby(spoken, key=lambda entry: entry[0]):
        if type(player) is int and player >= 0:
            answer = "\n".join(str(entry[1]) for entry in entries)
            messages.setdefault(player, []).append(answer)
    rounds = []
    for player, answers in messages.items():
        fields: Fields = {"agent": str(player), "player": player}
        if str(player) in rewards:
            fields["payoff"] = _share(rewards[str(player)], len(answers))
        # rounds are numbered later, because an invalid move does not count
        rounds += [{**fields, "action": answer} for answer in answers]
    if not rounds:
        raise ValueError("logs must have a message of a player, got none")
    return rounds


def _rollout(episode: Fields, trace: Any) -> Fields:
    """Return one agent's trace in an episode of verifiers as a record with messages and a reward."""
    known = convert(trace, _Trace)
    values = []
    for reward in (known.rewards or {}).values():
        if reward.score is not None and reward.weight is not None:
            values.append(reward.score * reward.weight)
    return {
        **trace,
        "example_id": episode.get("id"),
        "model": lookup(trace, "agent.config.model") or lookup(trace, "agent.name"),
        "completion": [node.message for node in known.nodes or () if node.sampled],
        "reward": sum(values) if values else None,
    }


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


def round_number(value: float) -> int:
    """Check a round number and return it as an integer."""
    if not 0 <= value < MAX_ROUND or value != int(value):
        raise ValueError(f"round must be an integer >= 0, got {short(value)}")
    return int(value)


class Resolver:
    """Replaces answers in words and positions with action names."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.reader = AnswerReader(layout.parsers, layout.regex)

    def resolve(self, line: int, row: LogRow) -> list[Numbered]:
        """Return the rows that a row completes, or the reason why it cannot be used."""
        try:
            return self._complete(line, row)
        except ValueError as error:
            return [(line, str(error))]

    def incomplete(self) -> Iterator[Numbered]:
        """Yield a reason for every row whose round was never completed."""
        yield from ()

    def _complete(self, line: int, row: LogRow) -> list[Numbered]:
        return [(line, self._name(row, self.layout.actions))]

    def _name(self, row: LogRow, names: tuple[str, ...]) -> LogRow:
        """Replace positions in a row's vectors and action with action names; an answer may be a policy."""
        if not names:
            return row
        for name in VECTORS:
            vector = getattr(row, name)
            if isinstance(vector, list) and len(vector) == len(names):
                setattr(row, name, dict(zip(names, vector, strict=True)))
        action = row.action
        if isinstance(action, int | float):
            if action not in range(len(names)):
                last = len(names) - 1
                raise ValueError(f"action must be from 0 to {last}, got {short(action)}")
            row.action = names[int(action)]
        elif isinstance(action, str) and action not in names:
            policy = self.reader.read(action, names)
            row.parser = self.reader.last
            row.action = None
            if policy.max() == 1:
                row.action = names[int(policy.argmax())]
            elif row.policy is None:
                row.policy = dict(zip(names, policy.tolist(), strict=True))
        return row


class GameResolver(Resolver):
    """Replaces answers, and fills in the losses of a game once every player's action in the round is known."""

    def __init__(self, layout: Layout, game: Game | str) -> None:
        super().__init__(layout)
        self.game = as_game(game)
        self.payoffs = np.asarray(self.game.payoffs, float)
        self.players = {str(n): n for n in range(len(self.payoffs))}
        self.players |= {name: n for n, name in enumerate(self.game.players)}
        self.losses = lru_cache(1 << 14)(self._losses)
        self.waiting: dict[tuple[Any, Any], dict[int, tuple[int, LogRow]]] = {}  # by episode, round
        self.last_round: dict[tuple[Any, int], int] = {}  # by episode, player
        for player in layout.players.values():
            if player not in self.players:
                known = ", ".join([*self.game.players, *map(str, range(len(self.payoffs)))])
                raise ValueError(f"players must be among {known}, got {short(player)}")

    def incomplete(self) -> Iterator[Numbered]:
        for waiting in self.waiting.values():
            count = f"{len(waiting)} of {len(self.payoffs)}"
            for line, _ in waiting.values():
                yield line, f"its round must have an action from every player, got {count}"

    def _complete(self, line: int, row: LogRow) -> list[Numbered]:
        player = self._player(row)
        row = self._name(row, self.game.actions[player])
        if row.action is None:
            raise ValueError("a row must give the action that was played, got none")
        if row.others is not None:
            self._fill_in(row, player, self._others(row, player))
            return [(line, row)]
        waiting = self._waiting(row, player)
        waiting[player] = line, row
        if len(waiting) < len(self.payoffs):
            return []
        del self.waiting[row.episode, row.round]
        complete = sorted(waiting.items())
        played = [self.game.actions[n].index(own.action) for n, (_, own) in complete]
        for n, (_, own) in complete:
            self._fill_in(own, n, (*played[:n], *played[n + 1 :]))
        return [numbered for _, numbered in complete]

    def _player(self, row: LogRow) -> int:
        name = row.agent if row.player is None else row.player
        if isinstance(name, float) and name.is_integer():
            name = int(name)
        name = self.layout.players.get(str(name), name)
        if str(name) in self.players:
            return self.players[str(name)]
        if row.player is None and row.others is not None:
            return 0
        known = short(", ".join(self.game.players))
        reason = f"must be one of {known} or an index from 0, got {short(name)}"
        raise ValueError(f"player (or agent) {reason}")

    def _waiting(self, row: LogRow, player: int) -> dict[int, tuple[int, LogRow]]:
        """Number a row's round, and return the rows of that round by player."""
        own = row.episode, player
        number = self.last_round.get(own, 0) + 1 if row.round is None else row.round
        self.last_round[own] = row.round = round_number(number)
        place = row.episode, row.round
        if place not in self.waiting and len(self.waiting) >= MAX_WAITING_ROUNDS:
            most = f"at most {MAX_WAITING_ROUNDS:,} rounds"
            raise ValueError(f"{most} may wait for other players' actions")
        waiting = self.waiting.setdefault(place, {})
        if player in waiting:
            name = short(self.game.players[player])
            raise ValueError(f"player {name} has already played this round")
        return waiting

    def _others(self, row: LogRow, player: int) -> tuple[int, ...]:
        """Return the indices of the other players' actions."""
        actions = row.others if isinstance(row.others, list) else [row.others]
        names = [*self.game.actions[:player], *self.game.actions[player + 1 :]]
        if len(actions) != len(names):
            raise ValueError(f"others must have {len(names)} actions, got {len(actions)}")
        places = []
        for own, action in zip(names, actions, strict=True):
            other = self._name(LogRow(action=action), own)
            if other.action is None:
                raise ValueError("others must be actions, got a distribution")
            places.append(own.index(other.action))
        return tuple(places)

    def _fill_in(self, row: LogRow, player: int, others: tuple[int, ...]) -> None:
        """Replace a row's loss information with the game's losses for every action."""
        row.policy = row.payoffs = row.loss = row.payoff = row.propensity = None
        row.losses = self.losses(player, others)

    def _losses(self, player: int, others: tuple[int, ...]) -> dict[str, float]:
        losses = -self.payoffs[(player, *others[:player], slice(None), *others[player:])]
        return dict(zip(self.game.actions[player], losses.tolist(), strict=True))
