"""Several agents compared: which regrets more, how surely, and by how much."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import jax
import msgspec
import numpy as np
from jaxtyping import Float

from regrax.audit._accumulate import joined, new_tally, walk_agents
from regrax.audit._agent import AgentAudit, Measure, audit_agent, mean_of
from regrax.audit._layout import Layout
from regrax.audit._log import Callback, Log, read_log
from regrax.audit._received import REASON, audit_received, received
from regrax.audit._running_regret import KINDS
from regrax.audit._two_samples import difference, holm
from regrax.games import Game

MEASURES = (*KINDS, "loss")
MAX_CONTESTANTS = 50
LEVEL = 0.05  # of significance, for all pairs together
BLIND = {"bandit": "the largest of estimated regrets is biased", "received": REASON}


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
    """An agent's episodes: their names, rounds, losses, regrets, and digests of the losses of every action."""

    log: Path
    audit: AgentAudit
    names: list[str]
    rounds: np.ndarray  # (E,)
    suffered: np.ndarray  # (E,)
    regrets: np.ndarray | None  # (E, 4), where they are known, not estimated
    digests: dict[str, bytes]

    def values(self, measure: str) -> Float[np.ndarray, "E"]:
        """What is compared."""
        if measure == "loss" or self.regrets is None:
            return self.suffered
        return self.regrets[:, KINDS.index(measure)]


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
    with jax.enable_x64(True):
        read = [
            _read(log, path, name)
            for path, log in _logs([Path(p) for p in paths], layout, game, callback)
            for name in _chosen(log, path, agent, len(paths) == 1)
        ]
    if len(read) > MAX_CONTESTANTS:
        raise ValueError(f"at most {MAX_CONTESTANTS} agents can be compared, got {len(read)}")
    blind = {one.audit.feedback for one in read if one.regrets is None}
    notes = [f"losses are compared, not regrets: {BLIND[kind]}" for kind in sorted(blind)]
    notes, measure = ([], "loss") if measure == "loss" else (notes, "loss" if blind else measure)
    names = _names(read)
    contestants = [_contestant(one, name, measure) for one, name in zip(read, names, strict=True)]
    return Comparison(measure, contestants, _pairs(read, names, measure), notes)


def _logs(paths: list[Path], layout: Any, game: Any, callback: Callback | None) -> Any:
    if not paths:
        raise ValueError("at least one log must be given, got none")
    for path in paths:
        log = read_log(path, callback or (lambda *_: None), layout, game)
        if not log.rows:
            reason = next((f"line {lines}: {why}" for lines, why in log.bad), "the file holds none")
            raise ValueError(f"{path} has no usable row ({log.bad.count:,} bad); {reason}")
        yield path, log


def _chosen(log: Log, path: Path, agent: str | None, alone: bool) -> list[str]:
    names = list(log.seats)
    if agent is not None and agent not in names:
        raise ValueError(f"{path} has no agent {agent!r} (there are {', '.join(names[:10])})")
    if agent is None and len(names) > 1 and not alone:
        raise ValueError(
            f"{path} has {len(names)} agents ({', '.join(names[:10])}): say which one to compare"
        )
    return names[: MAX_CONTESTANTS + 1] if agent is None else [agent]


def _read(log: Log, path: Path, name: str) -> _Read:
    kind = log.seats[name].feedback
    if kind == "received":
        audit, own = audit_received(log, name), received(log, name)
        return _Read(path, audit, own.names, own.rounds, own.suffered, None, {})
    tallies = {name: new_tally(log, name)}
    for _ in walk_agents(log, tallies):
        pass
    audit, own, names = (
        audit_agent(log, name, tallies[name]),
        joined(tallies[name]),
        tallies[name].names,
    )
    full = kind == "full"
    digests = {episode: _digest(log, (name, episode)) for episode in names} if full else {}
    return _Read(
        path, audit, names, own.rounds, own.suffered, own.regrets if full else None, digests
    )


def _contestant(one: _Read, name: str, measure: str) -> Contestant:
    value = mean_of(one.values(measure), one.rounds)
    episodes, rounds = len(one.names), int(one.rounds.sum())
    return Contestant(name, str(one.log), one.audit.agent, episodes, rounds, value, one.audit)


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


def _pairs(read: list[_Read], names: list[str], measure: str) -> list[Pair]:
    found = []
    for i, j in combinations(range(len(read)), 2):
        first, second = read[i], read[j]
        paired = bool(first.digests) and first.digests == second.digests
        x, y = first.values(measure), second.values(measure)
        if paired:
            places = {name: place for place, name in enumerate(second.names)}
            y = y[[places[name] for name in first.names]]
        found.append((names[i], names[j], paired, difference(x, y, paired)))
    known = [told.p_value for *_, told in found if told.p_value is not None]
    adjusted = iter(holm(known))
    pairs = []
    for one, other, paired, told in found:
        own = None if told.p_value is None else next(adjusted)
        numbers = told.value, told.low, told.high, told.p_value, own, told.effect_size
        pairs.append(Pair(one, other, paired, *numbers, words=_words(one, other, told.value, own)))
    return pairs


def _words(first: str, second: str, value: float, adjusted: float | None) -> str:
    if adjusted is None:
        return f"{first} and {second}: cannot tell: that needs at least five episodes of each"
    if adjusted > LEVEL or value == 0:
        return f"{first} and {second}: no clear difference (p = {adjusted:.2g})"
    word = "worse" if value > 0 else "better"
    return f"{second} is {word} than {first} (p = {adjusted:.2g})"
