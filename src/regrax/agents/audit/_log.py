"""A log read once: good rows into the buffer by agent and episode, bad rows with line and reason."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from regrax.agents.audit._formats import read_rows
from regrax.agents.audit._layout import Layout
from regrax.agents.audit._resolve import Resolver
from regrax.agents.audit._rows import Name, Row, Seat, label, read_block, read_round
from regrax.agents.audit._spill_buffer import Group, SpillBuffer
from regrax.agents.audit._text import short
from regrax.games import Game

Placed = tuple[int, Group, Row]  # line, agent and episode, row
Callback = Callable[[str, float, float], None]
"""Told what is being done, how much is done, and of how much."""


class BadRows:
    """Why rows were left out, and where: every line is kept, neighbours as ranges.

    >>> bad = BadRows()
    >>> for line in (3, 4, 9):
    ...     bad.add(line, "not JSON")
    >>> bad.count, list(bad)
    (3, [('3-4, 9', 'not JSON')])
    """

    def __init__(self) -> None:
        self.count = 0
        self._ranges: dict[str, list[list[int]]] = {}

    def add(self, line: int, reason: str) -> None:
        """Count one bad row."""
        self.count += 1
        ranges = self._ranges.setdefault(reason, [])
        if ranges and ranges[-1][1] + 1 == line:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for reason, ranges in sorted(self._ranges.items(), key=lambda item: item[1]):
            yield ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in ranges), reason


@dataclass
class Log:
    """What a file held: good rows, bad rows, and for every agent its seat and its episodes."""

    rows: int = 0  # good ones
    bad: BadRows = field(default_factory=BadRows)
    buffer: SpillBuffer = field(default_factory=SpillBuffer)
    seats: dict[str, Seat] = field(default_factory=dict)
    unanswered: Counter[str] = field(default_factory=Counter)  # rounds without an answer
    answers: dict[str, Counter[str]] = field(default_factory=dict)  # how many each parser read
    last: dict[Group, int] = field(default_factory=dict)  # the last round of each group
    skipped: Counter[str] = field(default_factory=Counter)  # rounds missing between others
    episodes: dict[str, list[Group]] = field(default_factory=dict)  # the groups of each agent


def read_log(
    path: Path,
    callback: Callback | None = None,
    layout: Layout | None = None,
    game: Game | str | None = None,
) -> Log:
    """Read a whole log; a row that breaks a rule is counted with its line and reason and left out.

    Args:
        path: the file.
        callback: told how much of it is read.
        layout: how its records become rows; by default they are rows.
        game: whose payoffs tell the losses of every action, from what the players did.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"policy": [0.5, 0.5], "losses": [0, 1]}\\n{"policy": [0.5, 0.7], "losses": [0, 1]}\\n')
    >>> log = read_log(path)
    >>> log.rows, list(log.bad)
    (1, [('2', 'policy must sum to 1 along its last axis, got 1.2')])
    """
    log = Log()
    resolver = Resolver(layout or Layout(), game) if layout or game else None
    for chunk, share in read_rows(path, layout):
        if callback is not None:
            callback("log read", share, 1.0)
        _take_all(log, chunk if resolver is None else resolver.resolved(chunk))
    _take_all(log, [] if resolver is None else resolver.left())
    return log


def read_usable(path: Path, *options: Any) -> Log:
    """What `read_log` gives, which must have a row that can be used."""
    log = read_log(path, *options)
    if not log.rows:
        first = next((f"line {lines}: {why}" for lines, why in log.bad), "the file holds none")
        raise ValueError(f"{path} has no usable row ({log.bad.count:,} bad); {first}")
    return log


def _take_all(log: Log, rows: Iterable[tuple[int, Any]]) -> None:
    """Keep the rows of a chunk, those of an agent together."""
    agents: dict[str, list[Any]] = defaultdict(list)
    for line, row in rows:
        group = row if isinstance(row, str) else _group(row.agent, row.episode)
        if isinstance(group, str):
            log.bad.add(line, group)
        else:
            agents[group[0]].append((line, group, row))
    for agent, own in agents.items():
        _take(log, agent, own)


@lru_cache(1 << 13)
def _group(agent: Name | None, episode: Name | None) -> Group | str:
    """The names of agent and episode, or why one is none."""
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


def _take(log: Log, agent: str, rows: list[Placed]) -> None:
    """Keep the good rows; halve what holds a bad one until it stands alone."""
    last: dict[Group, int] = {}
    skipped, rounds = 0, []
    try:
        seat, numbers = read_block([row for _, _, row in rows], log.seats.get(agent))
        for _, group, row in rows:
            before = last.get(group, log.last.get(group, -1))
            last[group] = read_round(row, before)
            skipped += last[group] - before - 1 if before >= 0 else 0
            rounds.append(last[group])
    except ValueError as error:
        if len(rows) == 1:
            return log.bad.add(rows[0][0], str(error))
        middle = len(rows) // 2
        _take(log, agent, rows[:middle])
        return _take(log, agent, rows[middle:])
    _keep(log, rows, np.column_stack([rounds, numbers]), list(last))
    log.last |= last
    log.seats[agent] = seat
    log.rows += len(rows)
    log.skipped[agent] += skipped
    log.unanswered[agent] += sum(row.answered is False for _, _, row in rows)
    if parsers := [row.parser for _, _, row in rows if row.parser]:
        log.answers.setdefault(agent, Counter()).update(parsers)


def _keep(log: Log, rows: list[Placed], block: np.ndarray, groups: list[Group]) -> None:
    """Add the rows of every group to the buffer, and note groups that are new."""
    place = {group: at for at, group in enumerate(groups)}
    which = np.array([place[group] for _, group, _ in rows])
    block = block[np.argsort(which, kind="stable")]
    parts = np.split(block, np.cumsum(np.bincount(which))[:-1])
    for group, part in zip(groups, parts, strict=True):
        if group not in log.last:
            log.episodes.setdefault(group[0], []).append(group)
        log.buffer.add(group, part)
