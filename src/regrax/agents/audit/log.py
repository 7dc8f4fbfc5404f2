"""Read a log in one pass: store good rows as numbers by agent and episode, and list bad rows with line and reason.

The numbers are written to a memory-mapped temporary file, so a log may be larger than memory.
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Float, Int

from regrax.agents.audit.formats import first_record, read_rows
from regrax.agents.audit.layouts import Layout, Resolver, complete_layout
from regrax.agents.audit.rows import (
    Name,
    Numbered,
    Row,
    Schema,
    label,
    read_block,
    read_round,
    short,
)
from regrax.games import Game

Callback = Callable[[str, float, float], None]  # activity, amount done, total
Placed = tuple[int, str, Row]  # line, episode, row


@dataclass
class Episode:
    """The location of an episode's rounds in the file of numbers."""

    rounds: int = 0
    last: int = -1  # number of the last round
    blocks: list[tuple[int, int]] = field(default_factory=list)  # position, number of rounds


@dataclass
class AgentLog:
    """The rows of one agent.

    Attributes:
        schema: the form of its rows.
        episodes: its episodes by name.
        unanswered: number of rounds without a usable answer.
        skipped: number of rounds missing within episodes.
        answers: how many answers each parser read.
    """

    schema: Schema
    episodes: dict[str, Episode] = field(default_factory=dict)
    unanswered: int = 0
    skipped: int = 0
    answers: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Log:
    """The contents of a log.

    Attributes:
        agents: the rows of every agent by name.
        rows: number of good rows.
        bad_rows: number of bad rows.
        bad: lines of the bad rows with the reason, grouped by reason.
        numbers: the numbers of all good rows.
        format: the tool that wrote the log, or "rows".
    """

    agents: dict[str, AgentLog]
    rows: int
    bad_rows: int
    bad: list[tuple[str, str]]
    numbers: Float[np.ndarray, "size"]
    format: str = "rows"

    def check_usable(self, path: Path) -> None:
        """Raise if the log has no good rows."""
        if not self.rows:
            first = "the file has no rows"
            if self.bad:
                lines, reason = self.bad[0]
                line = lines.partition(",")[0].partition("-")[0]
                first = f"line {line}: {reason}"
            raise ValueError(f"{path} has no usable rows ({self.bad_rows:,} bad); {first}")

    def read(self, agent: str, episode: str) -> Float[np.ndarray, "T k"]:
        """Return the rounds of an episode, with the columns of `read_block` but the context."""
        return self._rounds(agent, episode)[0]

    def contexts(self, agent: str, episode: str) -> Int[np.ndarray, "T"]:
        """Return the index of the context in every round of an episode; 0 if the rows give none."""
        return self._rounds(agent, episode)[1].astype(int)

    def _rounds(self, agent: str, episode: str) -> tuple[np.ndarray, np.ndarray]:
        schema = self.agents[agent].schema
        d = len(schema.actions)
        width = {"full": 2 * d, "bandit": 3 + d * schema.mixed, "received": 2}[schema.feedback]
        width += bool(schema.contexts)
        blocks = self.agents[agent].episodes[episode].blocks
        parts = [self.numbers[start : start + rounds * width] for start, rounds in blocks]
        numbers = np.concatenate(parts).reshape(-1, width)
        if schema.contexts:
            return numbers[:, :-1], numbers[:, -1]
        return numbers, np.zeros(len(numbers))


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
    layout = complete_layout(layout, first_record(path), game)
    resolver = Resolver(layout or Layout(), game) if layout or game else None
    with tempfile.TemporaryFile() as file:
        reader = _Reader(file)
        for chunk, fraction in read_rows(path, layout):
            if callback is not None:
                callback("log read", fraction, 1.0)
            reader.add(resolver.resolve(chunk) if resolver else chunk)
        if resolver:
            reader.add(resolver.incomplete())
        file.flush()
        numbers = np.asarray(np.memmap(file, float, "r")) if reader.rows else np.zeros(0)
    bad = []
    for reason, ranges in sorted(reader.bad.items(), key=lambda item: item[1]):
        spans = [f"{first}-{last}" if last > first else f"{first}" for first, last in ranges]
        bad.append((", ".join(spans), reason))
    form = layout.format if layout and layout.format else "rows"
    return Log(reader.agents, reader.rows, reader.bad_rows, bad, numbers, form)


class _Reader:
    """Collects rows, with numbers in a file and everything else in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = 0  # numbers written
        self.rows = 0
        self.bad_rows = 0
        self.bad: dict[str, list[list[int]]] = {}  # ranges of lines by reason
        self.agents: dict[str, AgentLog] = {}

    def add(self, rows: Iterable[Numbered]) -> None:
        agents: dict[str, list[Placed]] = defaultdict(list)
        for line, row in rows:
            names = row if isinstance(row, str) else _names(row.agent, row.episode)
            if isinstance(names, str):
                self._reject(line, names)
            else:
                agent, episode = names
                agents[agent].append((line, episode, row))  # pyright: ignore[reportArgumentType]
        for agent, placed in agents.items():
            self._add_agent(agent, placed)

    def _reject(self, line: int, reason: str) -> None:
        self.bad_rows += 1
        ranges = self.bad.setdefault(reason, [])
        if ranges and ranges[-1][1] + 1 == line:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])

    def _add_agent(self, name: str, placed: list[Placed]) -> None:
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
            self._add_agent(name, placed[:middle])
            return self._add_agent(name, placed[middle:])
        agent = self.agents.setdefault(name, AgentLog(schema))
        agent.schema = schema
        agent.skipped += skipped
        agent.unanswered += sum(row.answered is False for row in rows)
        agent.answers.update(row.parser for row in rows if row.parser)
        self.rows += len(rows)
        places = {episode: place for place, episode in enumerate(last)}
        which = np.array([places[episode] for _, episode, _ in placed])
        self.file.write(numbers[np.argsort(which, kind="stable")].tobytes())
        for (episode, number), rounds in zip(last.items(), np.bincount(which), strict=True):
            stored = agent.episodes.setdefault(episode, Episode())
            stored.blocks.append((self.size, int(rounds)))
            stored.rounds += int(rounds)
            stored.last = number
            self.size += int(rounds) * numbers.shape[1]


def _last_rounds(placed: list[Placed], agent: AgentLog | None) -> tuple[dict[str, int], int]:
    """Return the last round of every episode in an agent's rows, and the number of missing rounds."""
    last: dict[str, int] = {}
    skipped = 0
    for _, episode, row in placed:
        if episode not in last:
            stored = agent.episodes.get(episode) if agent else None
            last[episode] = stored.last if stored else -1
        number = read_round(row, last[episode])
        if last[episode] >= 0:
            skipped += number - last[episode] - 1
        last[episode] = number
    return last, skipped


@lru_cache(1 << 13)
def _names(agent: Name | None, episode: Name | None) -> tuple[str, str] | str:
    """Return the agent and episode names as strings, or the reason why one of them is invalid."""
    names = []
    for kind, value, default in (("agent", agent, "agent"), ("episode", episode, "0")):
        try:
            text = default if value is None else label(kind, value)
        except ValueError as error:
            return str(error)
        if not 1 <= len(text) <= 200:
            return f"{kind} must be a name or an integer, got {short(value)}"
        names.append(text)
    return names[0], names[1]
