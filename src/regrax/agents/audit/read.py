r"""Step 1 of an audit: read a log in one pass, store good rows as numbers, and list bad rows with line and reason.

| feedback | fields |
|---|---|
| full | `losses` (or `payoffs`, their negative) of every action, and `action`, or `policy` if no action was drawn |
| bandit | `loss` (or `payoff`) of `action`, and its probability: `propensity`, or its entry in `policy` |
| received | `loss` (or `payoff`) of `action` alone, with no information about the other actions |

Vectors are lists, or mappings from action names. By default `episode` is 0, `agent` is "agent" and `round` is one more
than in the previous row.

`read_block` converts one agent's rows together and raises at the first problem. The block is then bisected until the
bad row is isolated, so conversion is fast and every bad row still gets a reason. The numbers are written to a
memory-mapped temporary file, so a log may be larger than memory.
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.agents.audit.formats import ROWS_PER_CHUNK, VECTORS, open_records, parse, short
from regrax.agents.audit.layouts import (
    LOSS_FIELDS,
    MAX_ACTIONS,
    GameResolver,
    Layout,
    LogRow,
    Name,
    Numbered,
    Resolver,
    Vector,
    complete_layout,
    round_number,
)
from regrax.games import Game

MAX_CHUNK_BYTES = 1 << 26
PEEKED_RECORDS = 100  # records among which the first readable one shows the format
MAX_CONTEXTS = 1000
MAX_LOSS = 1e50  # so that sums and squares of many losses stay finite
MIN_PROPENSITY = 1e-9

Callback = Callable[[str, float, float], None]  # activity, amount done, total
Placed = tuple[int, str, LogRow]  # line, episode, row


@dataclass(frozen=True)
class Schema:
    """The form of an agent's rows, fixed by its first good row.

    Attributes:
        feedback: "full", "bandit" or "received".
        actions: names of the actions.
        named: True if rows refer to actions by name, False if by index.
        mixed: True if rows give full policies or the losses of every action.
        contexts: names of the contexts; empty if rows give none.
    """

    feedback: str
    actions: tuple[str, ...]
    named: bool
    mixed: bool
    contexts: tuple[str, ...] = ()


@dataclass
class Episode:
    """The location of an episode's rounds in the file of numbers."""

    rounds: int = 0
    last: int = -1  # number of the last round
    blocks: list[slice] = field(default_factory=list)


@dataclass
class AgentLog:
    """The rows of one agent.

    Attributes:
        name: its name.
        schema: the form of its rows.
        episodes: its episodes by name.
        unanswered: number of rounds without a usable answer.
        skipped: number of rounds missing within episodes.
        answers: how many answers each parser read.
        numbers: the numbers of all good rows of the log.
    """

    name: str
    schema: Schema
    episodes: dict[str, Episode] = field(default_factory=dict)
    unanswered: int = 0
    skipped: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    numbers: Float[np.ndarray, "size"] = field(default_factory=lambda: np.zeros(0))

    @property
    def d(self) -> int:
        """Number of actions."""
        return len(self.schema.actions)

    def read(self, episode: str) -> Float[np.ndarray, "T k"]:
        """Return the rounds of an episode, with the columns of `read_block`."""
        stored = self.episodes[episode]
        numbers = np.concatenate([self.numbers[block] for block in stored.blocks])
        return numbers.reshape(stored.rounds, -1)


@dataclass
class Log:
    """The contents of a log.

    Attributes:
        agents: the rows of every agent by name.
        rows: number of good rows.
        bad_rows: number of bad rows.
        ranges: ranges of lines with bad rows, by reason.
        format: the tool that wrote the log, or "rows".
    """

    agents: dict[str, AgentLog] = field(default_factory=dict)
    rows: int = 0
    bad_rows: int = 0
    ranges: dict[str, list[list[int]]] = field(default_factory=dict)
    format: str = "rows"

    @property
    def bad(self) -> list[tuple[str, str]]:
        """Lines of the bad rows with the reason, grouped by reason."""
        bad = []
        for reason, ranges in sorted(self.ranges.items(), key=lambda item: item[1]):
            spans = [f"{first}-{last}" if last > first else f"{first}" for first, last in ranges]
            bad.append((", ".join(spans), reason))
        return bad

    def check_usable(self, path: Path) -> None:
        """Raise if the log has no good rows."""
        if not self.rows:
            first = "the file has no rows"
            if self.ranges:
                reason, ranges = min(self.ranges.items(), key=lambda item: item[1])
                first = f"line {ranges[0][0]}: {reason}"
            raise ValueError(f"{path} has no usable rows ({self.bad_rows:,} bad); {first}")

    def add(self, rows: list[Numbered], file: IO[bytes]) -> None:
        """Add rows, with their numbers in a file and everything else in memory."""
        agents: dict[str, list[Placed]] = defaultdict(list)
        for line, row in rows:
            try:
                if isinstance(row, str):
                    raise ValueError(row)
                agent = _name("agent", row.agent, "agent")
                episode = _name("episode", row.episode, "0")
            except ValueError as error:
                self._reject(line, str(error))
            else:
                agents[agent].append((line, episode, row))
        for agent, placed in agents.items():
            self._add_agent(agent, placed, file)

    def _reject(self, line: int, reason: str) -> None:
        self.bad_rows += 1
        ranges = self.ranges.setdefault(reason, [])
        if ranges and ranges[-1][1] + 1 == line:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])

    def _add_agent(self, name: str, placed: list[Placed], file: IO[bytes]) -> None:
        """Store one agent's rows; if they raise, bisect them until each bad row is isolated."""
        agent = self.agents.get(name)
        rows = [row for _, _, row in placed]
        try:
            schema, numbers = read_block(rows, agent.schema if agent else None)
            last, skipped = _last_rounds(placed, agent)
        except ValueError as error:
            if len(placed) == 1:
                return self._reject(placed[0][0], str(error))
            middle = len(placed) // 2
            self._add_agent(name, placed[:middle], file)
            return self._add_agent(name, placed[middle:], file)
        agent = self.agents.setdefault(name, AgentLog(name, schema))
        agent.schema = schema
        agent.skipped += skipped
        agent.unanswered += sum(row.answered is False for row in rows)
        agent.answers.update(row.parser for row in rows if row.parser)
        self.rows += len(rows)
        places = {episode: place for place, episode in enumerate(last)}
        which = np.array([places[episode] for _, episode, _ in placed])
        start = file.tell() // numbers.itemsize
        file.write(numbers[np.argsort(which, kind="stable")].tobytes())
        for (episode, number), rounds in zip(
            last.items(), np.bincount(which).tolist(), strict=True
        ):
            stored = agent.episodes.setdefault(episode, Episode())
            end = start + rounds * numbers.shape[1]
            stored.blocks.append(slice(start, end))
            start = end
            stored.rounds += rounds
            stored.last = number


def read_log(
    path: Path,
    callback: Callback | None = None,
    layout: Layout | None = None,
    game: Game | str | None = None,
) -> Log:
    """Read a log; invalid rows are skipped and listed with their lines and reasons.

    Args:
        path: the log.
        callback: called with the fraction of the file read so far.
        layout: how to convert records to rows; by default the records show it.
        game: a game whose payoffs give the loss of every action, based on the players' actions.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"policy": [0.5, 0.5], "losses": [0, 1]}\\n{"policy": [0.5, 0.7], "losses": [0, 1]}\\n')
    >>> log = read_log(path)
    >>> log.rows, log.bad
    (1, [('2', 'policy must sum to 1 along its last axis, got 1.2')])
    """
    size = path.stat().st_size or 1
    with path.open("rb") as raw, tempfile.TemporaryFile() as stored:
        records, text = open_records(path, raw)
        peeked = list(islice(records, PEEKED_RECORDS))
        decoder = msgspec.json.Decoder(dict[str, Any])
        parsed = (parse(record, decoder) for _, record in peeked)
        first = next((record for record in parsed if isinstance(record, dict)), None)
        layout = complete_layout(layout, first, game)
        if game is None:
            resolver = Resolver(layout or Layout())
        else:
            resolver = GameResolver(layout or Layout(), game)
        log = Log(format=(layout and layout.format) or "rows")
        chunk: list[Numbered] = []
        start = 0
        for row in _rows(chain(peeked, records), layout, resolver):
            chunk.append(row)
            if len(chunk) == ROWS_PER_CHUNK or text.tell() - start > MAX_CHUNK_BYTES:
                log.add(chunk, stored)
                chunk = []
                start = text.tell()
                if callback is not None:
                    callback("log read", min(raw.tell() / size, 1.0), 1.0)
        log.add(chunk, stored)
        if callback is not None:
            callback("log read", 1.0, 1.0)
        stored.flush()
        if log.rows:
            numbers = np.asarray(np.memmap(stored, float, "r"))
            for agent in log.agents.values():
                agent.numbers = numbers
    return log


def _rows(
    records: Iterable[tuple[int, Any]], layout: Layout | None, resolver: Resolver
) -> Iterator[Numbered]:
    """Yield the rows of all records with their lines; a row that cannot be used is replaced by the reason."""
    names: Counter[str] = Counter()
    rows = msgspec.json.Decoder(LogRow)
    decoder = rows if layout is None else msgspec.json.Decoder(dict[str, Any])
    for line, record in records:
        record = parse(record, decoder)
        unfolded = [record]
        if layout is not None and isinstance(record, dict):
            unfolded = layout.unfold(record, names)
        for row in unfolded:
            if isinstance(row, dict):
                row = parse(row, rows)
            if isinstance(row, str):
                yield line, row
            else:
                yield from resolver.resolve(line, row)
    yield from resolver.incomplete()


def _last_rounds(placed: list[Placed], agent: AgentLog | None) -> tuple[dict[str, int], int]:
    """Return the last round of every episode in an agent's rows, and the number of missing rounds."""
    last: dict[str, int] = {}
    skipped = 0
    for _, episode, row in placed:
        before = last.get(episode)
        if before is None:
            before = agent.episodes[episode].last if agent and episode in agent.episodes else -1
        number = max(before, 0) + 1 if row.round is None else round_number(row.round)
        if number <= before:
            where = "within an agent's episode"
            raise ValueError(f"round must increase {where}, got {number} after {before}")
        if before >= 0:
            skipped += number - before - 1
        last[episode] = number
    return last, skipped


@lru_cache(1 << 13)
def _name(kind: str, value: Name | None, default: str) -> str:
    """Return the name of an agent or episode as a string."""
    name = default if value is None else _label(kind, value)
    if not 1 <= len(name) <= 200:
        raise ValueError(f"{kind} must be a name or an integer, got {short(value)}")
    return name


def _label(kind: str, value: Name) -> str:
    """Convert a name or an integer to a string.

    >>> _label("agent", "x"), _label("agent", 3), _label("agent", 3.0)
    ('x', '3', '3')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{kind} must be a name or an integer, got {short(value)}")
    return str(int(value))


def read_block(
    rows: list[LogRow], schema: Schema | None
) -> tuple[Schema, Float[np.ndarray, "n numbers"]]:
    """Convert one agent's rows to numbers, given the schema fixed by earlier rows.

    The columns are `played..., losses...` for full feedback, `action, loss, propensity, policy...` for bandit feedback
    and `action, loss` for received feedback, followed by the index of the context if rows give contexts.

    >>> read_block([LogRow(policy=[0.5, 0.5], losses=[0.0, 1.0])], None)[1].tolist()
    [[0.5, 0.5, 0.0, 1.0]]
    """
    given = [name for name in LOSS_FIELDS if _column(rows, name) is not None]
    if len(given) != 1:
        names = " and ".join(given) or "none"
        of = "losses, payoffs, loss and payoff"
        raise ValueError(f"a row must give exactly one of {of}, got {names}")
    name = given[0]
    is_full = name in VECTORS
    if schema is not None and (schema.feedback == "full") != is_full:
        before = "only the loss received" if is_full else "the losses of every action"
        raise ValueError(f"earlier rows of this agent give {before}, but this one gives {name}")
    contexts = schema.contexts if schema is not None else ()
    column = _column(rows, "context")
    if schema is not None and (column is None) != (not contexts):
        raise ValueError("either every row of an agent must give its context, or none")
    read = _full if is_full else _bandit
    schema, numbers = read(rows, name, schema)
    if column is None:
        return schema, numbers
    contexts, places = _numbered("context", column, contexts, MAX_CONTEXTS)
    return replace(schema, contexts=contexts), np.column_stack([numbers, places])


def _full(rows: list[LogRow], name: str, schema: Schema | None) -> tuple[Schema, np.ndarray]:
    column = _column(rows, name)
    schema = schema or _first_schema("full", name, column[0])
    losses = _vectors(name, column, schema)
    policy = _column(rows, "policy")
    action = _column(rows, "action")
    if policy is None and action is None:
        raise ValueError("a row must give the action or the policy that was played, got neither")
    if policy is not None:
        played = _vectors("policy", policy, schema)
    if action is not None:  # regret is computed from the action that was actually drawn
        played = np.eye(len(schema.actions))[_indices(action, schema)]
    return schema, np.hstack([played, losses])  # pyright: ignore[reportPossiblyUnboundVariable]


def _bandit(rows: list[LogRow], name: str, schema: Schema | None) -> tuple[Schema, np.ndarray]:
    policy = _column(rows, "policy")
    action = _column(rows, "action")
    propensity = _column(rows, "propensity")
    if action is None:
        raise ValueError(f"a row with {name} alone must give the action that received it")
    feedback = "received" if policy is None and propensity is None else "bandit"
    if schema is not None and schema.feedback != feedback:
        reason = "earlier rows of this agent give no propensity, but this one does"
        if feedback == "received":
            reason = "a row with one action's loss must give its propensity or policy, got neither"
        raise ValueError(reason)
    if schema is not None and schema.mixed != (policy is not None):
        raise ValueError("either every row of a bandit agent must give its policy, or none")
    losses = _numbers(name, _column(rows, name))
    if policy is not None:
        schema = schema or _first_schema("bandit", "policy", policy[0])
        policies = _vectors("policy", policy, schema)
        played = _indices(action, schema)
        chances = _propensities(propensity, policies[np.arange(len(played)), played])
        return schema, np.column_stack([played, losses, chances, policies])
    # actions are known only from being played
    actions, played = _numbered("action", action, schema.actions if schema else (), MAX_ACTIONS)
    numbers = [played, losses]
    if propensity is not None:
        numbers.append(_propensities(propensity, None))
    return Schema(feedback, actions, named=True, mixed=False), np.column_stack(numbers)


def _column(rows: list[LogRow], name: str) -> Any:
    """Return a field of every row, or None if no row has it."""
    column = list(map(attrgetter(name), rows))
    missing = column.count(None)
    if missing == len(column):
        return None
    if missing:
        raise ValueError(f"{name} is missing")
    return column


def _first_schema(feedback: str, name: str, vector: Vector) -> Schema:
    if not 1 <= len(vector) <= MAX_ACTIONS:
        raise ValueError(f"{name} must have between 1 and {MAX_ACTIONS} entries, got {len(vector)}")
    named = isinstance(vector, dict)
    actions = tuple(vector if named else map(str, range(len(vector))))
    return Schema(feedback, actions, named, mixed=True)


def _vectors(name: str, column: list[Any], schema: Schema) -> np.ndarray:
    d = len(schema.actions)
    first = "as in this agent's first row"
    if set(map(type, column)) != {dict if schema.named else list}:
        form = f"a mapping from {short(list(schema.actions))}" if schema.named else "a list"
        raise ValueError(f"{name} must be {form}, {first}")
    if set(map(len, column)) != {d}:
        raise ValueError(f"{name} must have {d} entries, {first}, got {len(column[0])}")
    if schema.named:
        try:
            column = [[vector[action] for action in schema.actions] for vector in column]
        except KeyError as error:
            missing = f"got none for {short(error.args[0])}"
            raise ValueError(f"{name} must have an entry for every action, {missing}") from None
    vectors = _numbers(name, list(chain.from_iterable(column))).reshape(-1, d)
    if name == "policy":
        checks.distributions(name, vectors)
    return vectors


def _numbers(name: str, values: list[Any]) -> np.ndarray:
    """Check that values are finite numbers, and return payoffs as losses."""
    numbers = np.array(values, float)
    if not np.all(np.abs(numbers) <= MAX_LOSS):  # also false for nan
        raise ValueError(f"{name} must be finite numbers with absolute value at most {MAX_LOSS:g}")
    return -numbers if name.startswith("payoff") else numbers


def _indices(column: list[Any], schema: Schema) -> np.ndarray:
    names: Any = schema.actions if schema.named else range(len(schema.actions))
    places = {name: place for place, name in enumerate(names)}  # 1.0 matches 1
    indices = list(map(places.get, column))
    if None in indices:
        known = f"an integer from 0 to {len(names) - 1}"
        if schema.named:
            known = f"one of {short(list(names))}"
        raise ValueError(f"action must be {known}, got {short(column[0])}")
    return np.array(indices)


def _numbered(
    kind: str, column: list[Any], known: tuple[str, ...], limit: int
) -> tuple[tuple[str, ...], np.ndarray]:
    """Number names in order of first appearance, after the known ones."""
    places = {name: place for place, name in enumerate(known)}
    names = [_label(kind, value) for value in column]
    numbers = [places.setdefault(name, len(places)) for name in names]
    if len(places) > limit:
        more = f"got one more: {short(names[0])}"
        raise ValueError(f"an agent must have at most {limit} {kind}s, {more}")
    return tuple(places), np.array(numbers)


def _propensities(column: Any, of_policy: Any) -> np.ndarray:
    """Return the probability of each action, from the propensities or the policies, which must agree."""
    chance = of_policy if column is None else _numbers("propensity", column)
    if not np.all((chance >= MIN_PROPENSITY) & (chance <= 1 + checks.TOLERANCE)):
        raise ValueError(f"propensity must be from {MIN_PROPENSITY:g} to 1, got {chance[0]:g}")
    if of_policy is not None and not np.all(np.abs(of_policy - chance) <= checks.TOLERANCE):
        right = f"the policy's {of_policy[0]:g} for that action"
        raise ValueError(f"propensity must equal {right}, got {chance[0]:g}")
    return np.minimum(chance, 1.0)
