"""A log read once: good rows into the spool by agent and episode, bad rows with line and reason."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regrax.audit._fast_jsonl import Alike
from regrax.audit._formats import Numbered, json_row, read_rows
from regrax.audit._rows import Seat, read_block, short
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
        if chunk and isinstance(chunk[0], Alike):
            for table in chunk:
                _take_table(log, table)  # pyright: ignore[reportArgumentType]
        else:
            _take_rows(log, chunk)  # pyright: ignore[reportArgumentType]
    return log


def _take_rows(log: Log, chunk: list[Numbered]) -> None:
    for group, rows in _grouped(chunk, log.bad).items():
        _take(log, group, rows)


def _take_table(log: Log, table: Alike) -> None:
    """Keep a table's rows by episode; one that holds a bad row is read again row by row."""
    episodes = table.columns.get("episode", np.zeros(len(table.lines)))
    for episode in np.unique(episodes):
        picked = np.flatnonzero(episodes == episode)
        columns = {n: c[picked] for n, c in table.columns.items() if n != "episode"}
        row = {**table.same, **({"episode": float(episode)} if "episode" in table.columns else {})}
        try:
            group = _name(row, "agent", "agent"), _name(row, "episode", 0)
            seat, block = read_block(columns, log.seats.get(group[0]), log.last.get(group, -1))
        except ValueError:
            _take_rows(log, [(table.numbers[i], json_row(table.lines[i])) for i in picked])
        else:
            _keep(log, group, seat, block, len(picked) * (table.same.get("answered") is False))


def _grouped(chunk: list[Numbered], bad: BadRows) -> dict[Group, list[tuple[int, dict[str, Any]]]]:
    groups: dict[Group, list[tuple[int, dict[str, Any]]]] = {}
    for line, row in chunk:
        if isinstance(row, str):
            bad.add(line, row)
            continue
        try:
            group = _name(row, "agent", "agent"), _name(row, "episode", 0)
        except ValueError as error:
            bad.add(line, str(error))
            continue
        groups.setdefault(group, []).append((line, row))
    return groups


def _name(row: dict[str, Any], field: str, default: str | int) -> str:
    value = row.get(field)
    value = default if value is None else value
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) not in (str, int) or value == "" or len(str(value)) > 200:
        raise ValueError(f"{field} must be a name or a whole number, but is {short(value)}")
    return str(value)


def _take(log: Log, group: Group, rows: list[tuple[int, dict[str, Any]]]) -> None:
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
    _keep(log, group, seat, block, sum(row.get("answered") is False for _, row in rows))


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
