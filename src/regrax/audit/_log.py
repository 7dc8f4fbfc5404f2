"""A log read once: good rows into the spool by agent and episode, bad rows with line and reason."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from regrax.audit._formats import Numbered, read_rows
from regrax.audit._rows import Name, Seat, read_block, short
from regrax.audit._spill_buffer import Group, Spool


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
    spool: Spool = field(default_factory=Spool)
    seats: dict[str, Seat] = field(default_factory=dict)
    unanswered: dict[str, int] = field(
        default_factory=dict
    )  # rounds an outside agent did not answer
    last: dict[Group, int] = field(default_factory=dict)  # the last round of each group
    skipped: dict[str, int] = field(default_factory=dict)  # rounds missing between others

    def episodes(self, agent: str) -> list[Group]:
        """The groups of an agent."""
        return [group for group in self.spool.groups if group[0] == agent]


def read_log(path: Path) -> Log:
    """Read a whole log; a row that breaks a rule is counted with its line and reason and left out.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"policy": [0.5, 0.5], "losses": [0, 1]}\\n{"policy": [0.5, 0.7], "losses": [0, 1]}\\n')
    >>> log = read_log(path)
    >>> log.rows, list(log.bad)
    (1, [('2', 'policy must sum to 1 along its last axis, but sums to 1.2')])
    """
    log = Log()
    for chunk in read_rows(path):
        for group, rows in _grouped(chunk, log.bad).items():
            _take(log, group, rows)
    return log


def _grouped(chunk: list[Numbered], bad: BadRows) -> dict[Group, list[Numbered]]:
    groups: dict[Group, list[Numbered]] = {}
    named: dict[tuple[Name | None, Name | None], Group | str] = {}
    for numbered in chunk:
        line, row = numbered
        if isinstance(row, str):
            bad.add(line, row)
            continue
        key = row.agent, row.episode
        group = named.get(key) or named.setdefault(key, _group(*key))
        if isinstance(group, str):
            bad.add(line, group)
        elif group in groups:
            groups[group].append(numbered)
        else:
            groups[group] = [numbered]
    return groups


def _group(agent: Name | None, episode: Name | None) -> Group | str:
    """The names of agent and episode, or why one is none."""
    names = []
    for kind, value, default in (("agent", agent, "agent"), ("episode", episode, "0")):
        whole = int(value) if type(value) is float and value.is_integer() else value
        text = default if whole is None else str(whole)
        if type(whole) is float or not 1 <= len(text) <= 200:
            return f"{kind} must be a name or a whole number, but is {short(value)}"
        names.append(text)
    return names[0], names[1]


def _take(log: Log, group: Group, rows: list[Numbered]) -> None:
    """Keep the good rows; halve what holds a bad one until it stands alone."""
    after = log.last.get(group, -1)
    try:
        seat, block = read_block([row for _, row in rows], log.seats.get(group[0]), after)
    except ValueError as error:
        if len(rows) == 1:
            return log.bad.add(rows[0][0], str(error))
        middle = len(rows) // 2
        _take(log, group, rows[:middle])
        return _take(log, group, rows[middle:])
    _keep(log, group, seat, block, sum(row.answered is False for _, row in rows))


def _keep(log: Log, group: Group, seat: Seat, block: np.ndarray, silent: int) -> None:
    agent, after = group[0], log.last.get(group, -1)
    log.seats[agent] = seat
    log.spool.add(group, block)
    log.rows += len(block)
    first = int(block[0, 0]) if after < 0 else after + 1
    log.last[group] = int(block[-1, 0])
    missing = log.last[group] - first + 1 - len(block)
    log.skipped[agent] = log.skipped.get(agent, 0) + missing
    log.unanswered[agent] = log.unanswered.get(agent, 0) + silent
