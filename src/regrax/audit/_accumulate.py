"""Episodes walked through in batches of equal length, of one agent or of many: sums, curves, bins and baselines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from regrax._exploration import Seen
from regrax.audit._bandit import Received, Weighted
from regrax.audit._baselines import NAMES, baselines, policies, scales
from regrax.audit._bins import Bins, Scores, score
from regrax.audit._log import Log
from regrax.audit._running_regret import Sums, checkpoints, walk
from regrax.audit._spill_buffer import Group
from regrax.audit._verdict import BINS
from regrax.regret import gains_of

MAX_BATCH_NUMBERS = 1 << 18  # numbers of a piece held at once
FINE = (
    1 << 17
)  # rounds that baselines play one by one; of a longer episode sums of several, of more episodes some
MAX_BINNED_EPISODES = 64  # episodes whose bins are kept for random orders
CURVE_NUMBERS = 1_000_000  # of all curves together


class Episodes(NamedTuple):
    """Numbers of `n` episodes; those from `plays` to `blind` are of bandit feedback, baselines of full feedback."""

    rounds: Float[np.ndarray, "n"]
    suffered: Float[np.ndarray, "n"]
    span: Float[np.ndarray, "n"]  # sum over rounds of the largest less the smallest loss
    regrets: Float[np.ndarray, "n 4"]
    baselines: Float[np.ndarray, "k R 6"]  # rounds, suffered, and the regrets
    plays: Float[np.ndarray, "n d"]
    against: Float[np.ndarray, "n d"]
    variance: Float[np.ndarray, "n d"]
    blind: Float[np.ndarray, "n d"]  # rounds in which an action could not be played
    explored: Float[
        np.ndarray, "n 3"
    ]  # the measures of `rx.exploration`; NaN where no action was drawn
    gains: Float[np.ndarray, "k d d"]  # of `part`, summed over its episodes

    def part(self, at: slice) -> "Episodes":
        """Some of the episodes."""
        return Episodes(*(a[at] for a in self))._replace(gains=self.gains[at].sum(0)[None])


@dataclass
class Tally:
    """What the batches of one agent add up to; curves and bins are of episodes that reach the horizon."""

    horizon: int
    stops: list[int]
    names: list[str] = field(default_factory=list)  # of the episodes
    episodes: list[Episodes] = field(default_factory=list)
    curves: list[np.ndarray] = field(default_factory=list)  # (n, stops, 4)
    baseline_curves: list[np.ndarray] = field(default_factory=list)  # (n, R, coarse stops)
    windows: list[list[Bins]] = field(default_factory=list)
    scores: list[list[Scores]] = field(default_factory=list)

    @property
    def grain(self) -> int:
        """Rounds that baselines play as one."""
        return -(-self.horizon // FINE)

    @property
    def coarse_stops(self) -> list[int]:
        """The stops in rounds of the baselines."""
        return sorted({-(-stop // self.grain) for stop in self.stops})


def new_tally(log: Log, agent: str) -> Tally:
    """Nothing yet; the horizon is the median length of the agent's episodes."""
    lengths = sorted(log.buffer.rows(group) for group in log.episodes[agent])
    horizon = lengths[(len(lengths) - 1) // 2]
    count = max(2, min(48, CURVE_NUMBERS // len(log.last)))
    return Tally(horizon, checkpoints(horizon, count))


def joined(tally: Tally) -> Episodes:
    """The numbers of all episodes."""
    return Episodes(*map(concatenated, zip(*tally.episodes, strict=True)))


def concatenated(parts: Sequence[Any]) -> np.ndarray:
    """Along the first axis; of many agents most have one part."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def walk_agents(log: Log, tallies: dict[str, Tally]) -> Iterator[int]:
    """Go through all episodes of some agents, adding to their tallies; how many episodes each batch had."""
    for groups in _batches(log, tallies):
        _walk_batch(log, groups, tallies)
        yield len(groups)


def _batches(log: Log, tallies: dict[str, Tally]) -> Iterator[list[Group]]:
    """Episodes alike in rounds, horizon and feedback together, as many as fit; in memory are `d * d` sums of each."""

    def kind(group: Group) -> tuple[int, ...]:
        seat = log.seats[group[0]]
        full, horizon = seat.feedback == "full", tallies[group[0]].horizon
        return -log.buffer.rows(group), len(seat.actions), horizon, full, seat.mixed

    groups = [group for agent in tallies for group in log.episodes[agent]]
    for (rounds, d, *_), alike in groupby(sorted(groups, key=kind), key=kind):
        episodes, many = list(alike), max(1, MAX_BATCH_NUMBERS // (d * max(-rounds, d)))
        for start in range(0, len(episodes), many):
            yield episodes[start : start + many]


class _Batch:
    """Episodes of equal length as pieces of `(n, t, d)`: what was played, and the losses, estimated if need be."""

    def __init__(self, log: Log, groups: list[Group]) -> None:
        self.log, self.seat, self.groups = log, log.seats[groups[0][0]], groups
        self.n, self.d = len(groups), len(self.seat.actions)
        self.rounds, self.full = log.buffer.rows(groups[0]), self.seat.feedback == "full"
        self.whole: np.ndarray | None = None  # the numbers, if one piece holds them
        self.suffered, self.blind = np.zeros(self.n), np.zeros((self.n, self.d))
        self.seen, self.pure = Seen((self.n, self.rounds, self.d), not self.full), True

    def raw(self, step: int) -> Iterator[Float[np.ndarray, "n t k"]]:
        """The numbers of the rounds, `step` rounds at a time."""
        if self.whole is not None:
            yield self.whole
            return
        pieces = [self.log.buffer.pieces(group, step) for group in self.groups]
        for together in zip(*pieces, strict=True):
            piece = np.stack(together)[:, :, 1:]
            self.whole = piece if self.rounds <= step else None
            yield piece

    def pieces(self, step: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Suffered, played, losses."""
        mean = sum((piece[..., 1].sum(1) for piece in self.raw(step)), np.zeros(self.n))
        self.weighted = Weighted(mean / self.rounds, 0 if self.full else self.d)
        for piece in self.raw(step):
            played, losses = piece[..., : self.d], piece[..., self.d :]
            self.pure &= not self.full or bool((played.max(-1) == 1).all())
            action = played.argmax(-1)
            suffered = np.einsum("ntd,ntd->nt", played, losses) if self.full else piece[..., 1]
            if not self.full:
                action = piece[..., 0].astype(int)
                played = piece[..., 3:] if self.seat.mixed else np.eye(self.d)[action]
                self.blind += (piece[..., 3:] <= 0).sum(1) if self.seat.mixed else 0
                losses = self.weighted.add(Received(action, suffered, piece[..., 2]))
            self.suffered += suffered.sum(1)
            if self.pure:
                self.seen.add(action, suffered, losses)
            yield suffered, played, losses


def _walk_batch(log: Log, groups: list[Group], tallies: dict[str, Tally]) -> None:
    batch, tally = _Batch(log, groups), tallies[groups[0][0]]
    length = max(1, -(-tally.horizon // BINS))
    step = length * max(-(-BINS // length), MAX_BATCH_NUMBERS // (batch.n * batch.d * length))
    sums, bins, first = Sums(batch.n, batch.d), [], []

    def pieces() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for piece in batch.pieces(step):
            if not bins:
                first.extend(_cut(part, 1) for part in piece)
            bins.append([_cut(part, length) for part in piece])
            yield piece[1:]

    curves = walk(pieces(), _inside(tally.stops, batch.rounds), sums)
    others, other_curves = _walk_baselines(batch, tally, sums.least)
    w, none = batch.weighted, np.zeros((batch.n, 0))
    parts = (w.plays, w.against, w.variance, none if batch.full else batch.blind)
    episodes = Episodes(
        np.full(batch.n, float(batch.rounds)),
        batch.suffered,
        sums.most - sums.least,
        curves[:, -1],
        others,
        *parts,
        batch.seen.measures() if batch.pure else np.full((batch.n, 3), np.nan),
        gains_of(sums.matrix),
    )
    windows = _windows(bins, first, length, tally.horizon, not batch.full)
    scores = [score(window) for window in windows]
    for agent, at in _segments(groups):
        one = tallies[agent]
        one.names += [name for _, name in groups[at]]
        one.episodes.append(episodes.part(at))
        if batch.rounds >= tally.horizon:
            one.curves.append(curves[at, : len(tally.stops)])
            one.baseline_curves.append(other_curves[at])
            one.scores.append([s.part(at) for s in scores])
            room = max(0, MAX_BINNED_EPISODES - sum(len(kept[0].suffered) for kept in one.windows))
            kept = slice(at.start, min(at.stop, at.start + room))
            one.windows.append([w.part(kept) for w in windows])


def _windows(bins: list, first: list, length: int, horizon: int, estimated: bool) -> list[Bins]:
    """The whole horizon, and its first rounds if it is long."""
    count = horizon // length
    s, p, l = (np.concatenate(part, 1)[:, :count] for part in zip(*bins, strict=True))
    start = [Bins(first[0], first[1], first[2], 1, estimated)] if length > 1 else []
    return [Bins(s, p, l, length, estimated), *start]


def _inside(stops: list[int], rounds: int) -> list[int]:
    """The stops before the last round, and it."""
    return [*(s for s in stops if s < rounds), rounds]


def _segments(groups: list[Group]) -> Iterator[tuple[str, slice]]:
    """The agents of a batch with their places."""
    start = 0
    for agent, own in groupby(groups, key=lambda group: group[0]):
        stop = start + sum(1 for _ in own)
        yield agent, slice(start, stop)
        start = stop


def _cut(series: Float[np.ndarray, "n t ..."], length: int) -> Float[np.ndarray, "n m ..."]:
    """Sums over `length` rounds each, at most `BINS`, what is left at the end dropped."""
    count = min(series.shape[1] // length, BINS)
    used = series[:, : count * length]
    return used.reshape(len(series), count, length, *series.shape[2:]).sum(2)


def _walk_baselines(
    batch: _Batch, tally: Tally, least: Float[np.ndarray, "n"]
) -> tuple[Float[np.ndarray, "k R 6"], Float[np.ndarray, "k R s"]]:
    """What the baselines suffer and regret, and their external regret at the coarse stops."""
    done = sum(part.baselines[:, :1, 0].sum() for part in tally.episodes)
    if not batch.full or (done >= FINE and batch.groups[0][0] == batch.groups[-1][0]):
        return np.zeros((0, len(NAMES), 6)), np.zeros((0, len(NAMES), len(tally.coarse_stops)))
    grain, rounds = tally.grain, -(-batch.rounds // tally.grain)
    step = grain * max(1, MAX_BATCH_NUMBERS // (batch.n * batch.d * grain))

    def losses() -> Iterator[np.ndarray]:
        return (_coarse(piece[..., batch.d :], grain) for piece in batch.raw(step))

    stops, scale, totals, curves = tally.coarse_stops, scales(losses), [], []
    for name, learner in baselines(batch.d, rounds).items():
        sums = Sums(batch.n, batch.d)
        found = walk(policies(learner, losses, scale[name]), _inside(stops, rounds), sums)
        found[:, -1, 3] = sums.suffered - least
        rows = np.full(batch.n, batch.rounds), sums.suffered, found[:, -1]
        totals.append(np.column_stack(rows))
        curves.append(found[:, : len(stops), 0])
    return np.stack(totals, 1), np.stack(curves, 1)


def _coarse(losses: Float[np.ndarray, "n t d"], grain: int) -> Float[np.ndarray, "n u d"]:
    """Sums over `grain` rounds each, the last of what is left."""
    n, t, d = losses.shape
    padded = np.pad(losses, ((0, 0), (0, -t % grain), (0, 0)))
    return padded.reshape(n, -1, grain, d).sum(2)
