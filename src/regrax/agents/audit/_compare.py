"""Several agents compared: which regrets more, how surely, and by how much."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Float

from regrax.agents.audit._accumulate import Episodes, Tally, joined
from regrax.agents.audit._agent import REASON, AgentAudit
from regrax.agents.audit._audit import audit_agents
from regrax.agents.audit._bootstrap import Interval, Measure, mean_of
from regrax.agents.audit._layout import Layout
from regrax.agents.audit._log import Callback, Log, read_usable
from regrax.agents.audit._running_regret import KINDS
from regrax.agents.audit._two_samples import Difference, difference, holm
from regrax.games import Game

MEASURES = (*KINDS, "loss")
MAX_CONTESTANTS = 50
LEVEL = 0.05  # of significance, for all pairs together
BLIND = {
    "bandit": "received losses do not tell which action was best in each episode",
    "received": REASON,
}


@dataclass(frozen=True)
class Contestant:
    """An agent in a log.

    Attributes:
        name: unique among the contestants.
        log: the file.
        agent: its name in the log.
        episodes: how many.
        rounds: of all episodes.
        value: what is compared, with its interval.
        audit: everything else.
    """

    name: str
    log: str
    agent: str
    episodes: int
    rounds: int
    value: Measure
    audit: AgentAudit


@dataclass(frozen=True)
class Pair:
    """The second less the first: above 0 the second is worse.

    Attributes:
        first: name of a contestant.
        second: name of the other.
        paired: by episode, where both met the same losses.
        difference: mean over episodes of the second less that of the first.
        low: lower end of its 95 % interval.
        high: its upper end.
        p_value: two-sided, by permutation.
        adjusted: Holm's p-value for all pairs together.
        effect_size: the difference in standard deviations; None below five episodes, as are interval and test.
        words: the same as a sentence.
    """

    first: str
    second: str
    paired: bool
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    adjusted: float | None
    effect_size: float | None
    words: str

    def cells(self, number: Callable[[float], str], interval: Interval) -> list[str]:
        """Difference, interval, p-values, effect size, and how episodes are compared, as text."""
        tests = (self.p_value, self.adjusted, self.effect_size)
        small = ["" if value is None else f"{value:.3g}" for value in tests]
        how = "paired" if self.paired else "independent"
        return [number(self.difference), interval(self.low, self.high), *small, how]


@dataclass(frozen=True)
class Comparison:
    """Agents compared by a measure, each with each.

    Attributes:
        measure: what is compared.
        contestants: the agents, in the order of the logs.
        pairs: each with each.
        notes: what to know when reading these numbers.
    """

    measure: str
    contestants: list[Contestant]
    pairs: list[Pair]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, text and lists, as JSON takes them; audits are left out."""
        found = msgspec.to_builtins(self)
        for one in found["contestants"]:
            del one["audit"]
        return found

    def above(self, limit: float) -> list[str]:
        """Agents whose measure per round is above a limit."""
        return [one.name for one in self.contestants if one.value.per_round > limit]

    def worse(self) -> list[str]:
        """Agents that are surely worse than the first, at 5 % for all pairs together."""
        first = self.contestants[0].name
        own = [pair for pair in self.pairs if pair.first == first]
        if any(pair.adjusted is None for pair in own):
            raise ValueError("to say which agent is worse needs five episodes of each, got fewer")
        return [p.second for p in own if (p.adjusted or 0) <= LEVEL and p.difference > 0]


@dataclass(frozen=True)
class _Read:
    """An agent's episodes, and digests of the losses of every action by their names, where those are known."""

    log: Path
    audit: AgentAudit
    names: list[str]
    episodes: Episodes
    digests: dict[str, bytes]

    def values(self, measure: str) -> Float[np.ndarray, "E"]:
        """What is compared."""
        own = self.episodes
        return own.suffered if measure == "loss" else own.regrets[:, KINDS.index(measure)]


def compare_logs(
    paths: Sequence[str | Path],
    *,
    agent: str | None = None,
    measure: str = "external",
    layout: Layout | None = None,
    game: Game | str | None = None,
    callback: Callback | None = None,
) -> Comparison:
    r"""Which agent regrets more: intervals, permutation tests and effect sizes of every pair.

    Episodes are paired by name where both agents met the same losses in each, and independent otherwise.

    Args:
        paths: one log per agent, or one log of several agents.
        agent: which agent of each log; needed where several logs hold several.
        measure: "external", "internal", "swap" or "dynamic" regret, or "loss". Where only received losses are known,
            losses are compared: of agents that meet the same losses they differ as external regret does.
        layout: how the records of another harness become rows.
        game: whose payoffs tell the losses of every action.
        callback: told what is being done, how much of it is done, and of how much.

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, action in (("good", 1), ("bad", 0)):
    ...     rows = [{"episode": e, "action": action, "losses": [e % 3 + 1, 0]} for e in range(8) for _ in range(9)]
    ...     _ = (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    >>> found = compare_logs([folder / "good.jsonl", folder / "bad.jsonl"])
    >>> found.pairs[0].paired, found.pairs[0].difference, found.worse()
    (True, 16.875, ['bad.jsonl'])
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    if not paths:
        raise ValueError("at least one log must be given, got none")
    read = [
        _read(log, path, audit, tally)
        for path in map(Path, paths)
        for log in [read_usable(path, callback, layout, game)]
        for audit, tally in audit_agents(log, _chosen(log, path, agent, len(paths) == 1), None)
    ]
    if len(read) > MAX_CONTESTANTS:
        raise ValueError(f"at most {MAX_CONTESTANTS} agents can be compared, got {len(read)}")
    known = {"full"} if measure != "loss" else {"full", *BLIND}
    blind = sorted({one.audit.feedback for one in read} - known)
    notes = [f"losses are compared, not regrets: {BLIND[kind]}" for kind in blind]
    measure, named = "loss" if blind else measure, list(zip(_names(read), read, strict=True))
    contestants = [_contestant(name, one, measure) for name, one in named]
    return Comparison(measure, contestants, _pairs(named, measure), notes)


def _chosen(log: Log, path: Path, agent: str | None, alone: bool) -> list[str]:
    names = list(log.seats)
    some = ", ".join(names[:10])
    if agent is not None and agent not in names:
        raise ValueError(f"{path} has no agent {agent!r} (there are {some})")
    if agent is None and len(names) > 1 and not alone:
        raise ValueError(f"{path} has {len(names)} agents ({some}): say which one to compare")
    return names[: MAX_CONTESTANTS + 1] if agent is None else [agent]


def _read(log: Log, path: Path, audit: AgentAudit, tally: Tally) -> _Read:
    known = tally.names if audit.feedback == "full" else []
    digests = {episode: _digest(log, (audit.agent, episode)) for episode in known}
    return _Read(path, audit, tally.names, joined(tally.episodes), digests)


def _contestant(name: str, one: _Read, measure: str) -> Contestant:
    audit, value = one.audit, mean_of(one.values(measure), one.episodes.rounds)
    own = audit.agent, audit.episodes, audit.rounds
    return Contestant(name, str(one.log), *own, value, audit)


def _digest(log: Log, group: tuple[str, str]) -> bytes:
    """Of the losses of an episode."""
    found, d = hashlib.blake2b(digest_size=16), len(log.seats[group[0]].actions)
    for piece in log.buffer.pieces(group, 1 << 12):
        found.update(np.ascontiguousarray(piece[:, 1 + d :]).data)
    return found.digest()


def _names(read: list[_Read]) -> list[str]:
    """What tells agents apart: the file's name, the agent's, or both."""
    labels = [
        [one.log.name for one in read],
        [one.audit.agent for one in read],
        [f"{one.log.name}: {one.audit.agent}" for one in read],
        [f"{one.log}: {one.audit.agent}" for one in read],
        [f"{place}: {one.log.name}" for place, one in enumerate(read)],
    ]
    return next(names for names in labels if len(set(names)) == len(names))


def _pairs(named: list[tuple[str, _Read]], measure: str) -> list[Pair]:
    found = [
        (one, other, *_difference(first, second, measure))
        for (one, first), (other, second) in combinations(named, 2)
    ]
    adjusted = iter(holm([p for *_, (_, _, _, p, _) in found if p is not None]))
    pairs = []
    for one, other, paired, (value, low, high, p, effect) in found:
        own = None if p is None else next(adjusted)
        words = _words(one, other, value, own)
        pairs.append(Pair(one, other, paired, value, low, high, p, own, effect, words))
    return pairs


def _difference(first: _Read, second: _Read, measure: str) -> tuple[bool, Difference]:
    """Whether episodes are paired, and the difference."""
    paired = bool(first.digests) and first.digests == second.digests
    x, y = first.values(measure), second.values(measure)
    if paired:
        places = {name: place for place, name in enumerate(second.names)}
        y = y[[places[name] for name in first.names]]
    return paired, difference(x, y, paired)


def _words(first: str, second: str, value: float, adjusted: float | None) -> str:
    if adjusted is None:
        return f"{first} and {second}: cannot tell: that needs at least five episodes of each"
    if adjusted > LEVEL or value == 0:
        return f"{first} and {second}: no clear difference (p = {adjusted:.2g})"
    word = "worse" if value > 0 else "better"
    return f"{second} is {word} than {first} (p = {adjusted:.2g})"
