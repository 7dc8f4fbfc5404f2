"""An agent's episodes walked through in batches: sums, curves, bins and rivals, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax.audit import _bandit as bandit
from regrax.audit._baselines import policies, rivals, scales
from regrax.audit._log import Log
from regrax.audit._rows import Seat
from regrax.audit._running_regret import Sums, walk
from regrax.audit._spill_buffer import Group
from regrax.audit._verdict import BINS, Bins, Scores, score
from regrax.regret import external_regret, internal_regret, swap_regret

MEASURES = (external_regret, internal_regret, swap_regret)
FEW = 32  # agents times episodes
BATCH = 1 << 18  # numbers of a piece held at once
FINE = 1 << 17  # rounds that rivals play one by one; of a longer episode they play sums of several
KEPT = 64  # episodes whose bins are kept for random orders


@dataclass
class Tally:
    """What the batches add up to."""

    lengths: list[int] = field(default_factory=list)
    totals: list[np.ndarray] = field(default_factory=list)  # (n, 4)
    curves: list[np.ndarray] = field(default_factory=list)  # (stops, n, 4)
    suffered: float = 0.0
    gains: Any = 0.0
    span: float = 0.0
    windows: list[list[Bins]] = field(default_factory=list)
    scores: list[list[Scores]] = field(default_factory=list)
    weighted: list[bandit.Weighted] = field(default_factory=list)
    others: dict[str, list[np.ndarray]] = field(default_factory=dict)
    other_curves: dict[str, list[np.ndarray]] = field(default_factory=dict)
    other_rounds: list[float] = field(default_factory=list)
    blind: Any = 0


def walk_agent(log: Log, agent: str, horizon: int, stops: list[int]) -> Tally:
    """Go through all episodes; curves are taken at `stops`, tests over `horizon` rounds."""
    seat, tally = log.seats[agent], Tally()
    for batch in _batches(log, log.episodes(agent), len(seat.actions)):
        _walk_batch(log, seat, batch, horizon, stops, tally)
    return tally


def _batches(log: Log, groups: list[Group], d: int) -> Iterator[list[Group]]:
    """Episodes of equal length together, as many as fit; in memory are sums of `d * d` for each."""
    by_length = sorted(groups, key=lambda group: -log.spool.rows(group))
    for rounds, alike in groupby(by_length, key=log.spool.rows):
        episodes = list(alike)
        many = max(1, BATCH // (d * max(rounds, d)))
        for start in range(0, len(episodes), many):
            yield episodes[start : start + many]


class _Batch:
    """Episodes of equal length as pieces of `(n, t, d)`: what was played, and the losses, estimated if need be."""

    def __init__(self, log: Log, seat: Seat, groups: list[Group], step: int) -> None:
        self.log, self.seat, self.groups, self.step = log, seat, groups, step
        self.d, self.rounds = len(seat.actions), log.spool.rows(groups[0])
        self.weighted: bandit.Weighted | None = None
        self.blind = np.zeros(self.d, int)

    def raw(self, step: int | None = None) -> Iterator[Float[np.ndarray, "n t k"]]:
        """The numbers of the rounds, `step` rounds at a time."""
        pieces = [self.log.spool.pieces(group, step or self.step) for group in self.groups]
        for together in zip(*pieces, strict=True):
            yield np.stack(together)[:, :, 1:]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Played, losses, suffered."""
        if self.seat.feedback == "full":
            for piece in self.raw():
                played, losses = piece[..., : self.d], piece[..., self.d :]
                yield played, losses, np.einsum("ntd,ntd->nt", played, losses)
            return
        mean = sum(piece[..., 1].sum(1) for piece in self.raw()) / self.rounds
        self.weighted = bandit.Weighted(np.asarray(mean), self.d)
        for piece in self.raw():
            action = piece[..., 0].astype(int)
            received = bandit.Received(action, piece[..., 1], piece[..., 2])
            played = piece[..., 3:] if self.seat.mixed else np.eye(self.d)[action]
            if self.seat.mixed:
                self.blind = self.blind + (played <= 0).sum((0, 1))
            yield played, self.weighted.add(received), piece[..., 1]


def _walk_batch(
    log: Log, seat: Seat, groups: list[Group], horizon: int, stops: list[int], tally: Tally
) -> None:
    length = max(1, -(-horizon // BINS))
    n, d = len(groups), len(seat.actions)
    step = length * max(-(-BINS // length), BATCH // (n * d * length))
    batch = _Batch(log, seat, groups, step)
    sums, bins, first = Sums(n, d), [], []
    here = [*(s for s in stops if s < batch.rounds), batch.rounds]

    def pieces() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for played, losses, suffered in batch:
            if not bins:
                first.extend(_cut(suffered, played, losses, 1, BINS))
            bins.append(_cut(suffered, played, losses, length, BINS))
            tally.suffered += float(suffered.sum())
            yield played, losses

    found = walk(pieces(), here, sums)
    if batch.rounds >= horizon:
        _keep_bins(tally, bins, first, length, horizon)
        tally.curves.append(found[: len(stops)])
    tally.lengths += [batch.rounds] * n
    few = seat.feedback == "full" and len(log.spool.groups) <= FEW and batch.rounds <= step
    tally.totals.append(_by_the_library(batch) if few else found[-1])
    tally.gains = tally.gains + sums.gains().sum(0)
    tally.span += float((sums.most - sums.least).sum())
    if batch.weighted is not None:
        tally.weighted.append(batch.weighted)
        tally.blind = tally.blind + batch.blind
    else:
        _walk_rivals(batch, horizon, stops, sums.least, tally)


def _by_the_library(batch: _Batch) -> Float[np.ndarray, "n 4"]:
    """The regrets of short episodes by `regrax.regret`, which sums in another order: equal to the last digit."""
    rows = []
    for played, losses, suffered in batch:
        for n in range(len(played)):
            known = [float(measure(played[n], losses[n])) for measure in MEASURES]
            rows.append([*known, float(suffered[n].sum() - losses[n].min(1).sum())])
    return np.array(rows)


def _cut(
    suffered: np.ndarray, played: np.ndarray, losses: np.ndarray, length: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over `length` rounds each, what is left at the end dropped."""
    n, t, d = played.shape
    count = min(t // length, most)
    used = count * length
    return (
        suffered[:, :used].reshape(n, count, length).sum(2),
        played[:, :used].reshape(n, count, length, d).sum(2),
        losses[:, :used].reshape(n, count, length, d).sum(2),
    )


def _keep_bins(tally: Tally, bins: list, first: list, length: int, horizon: int) -> None:
    """Score the whole horizon, and its first rounds if it is long; keep some of the bins."""
    count = horizon // length
    joined = [np.concatenate(part, 1)[:, :count] for part in zip(*bins, strict=True)]
    windows = [Bins(joined[0], joined[1], joined[2], length)]
    if length > 1:
        windows.append(Bins(first[0], first[1], first[2], 1))
    tally.scores.append([score(window) for window in windows])
    room = KEPT - sum(len(kept[0].suffered) for kept in tally.windows)
    if room > 0:
        tally.windows.append([w.first(room) for w in windows])


def _walk_rivals(
    batch: _Batch, horizon: int, stops: list[int], least: np.ndarray, tally: Tally
) -> None:
    grain = -(-horizon // FINE)
    rounds = -(-batch.rounds // grain)
    step = grain * max(1, BATCH // (len(batch.groups) * batch.d * grain))

    def losses() -> Iterator[np.ndarray]:
        return (_coarse(piece[..., batch.d :], grain) for piece in batch.raw(step))

    inner = sorted({-(-stop // grain) for stop in stops if stop <= batch.rounds} - {rounds})
    scale = scales(losses)
    for name, learner in rivals(batch.d, rounds).items():
        sums = Sums(len(batch.groups), batch.d)
        found = walk(policies(learner, losses, scale[name]), [*inner, rounds], sums)
        found[-1, :, 3] = sums.suffered - least
        tally.others.setdefault(name, []).append(np.column_stack([sums.suffered, found[-1]]))
        if batch.rounds >= horizon:
            shown = [-(-stop // grain) for stop in stops]
            at = [inner.index(s) if s in inner else len(inner) for s in sorted(set(shown))]
            tally.other_rounds = [float(min(s * grain, horizon)) for s in sorted(set(shown))]
            tally.other_curves.setdefault(name, []).append(found[at, :, 0])


def _coarse(losses: Float[np.ndarray, "n t d"], grain: int) -> Float[np.ndarray, "n u d"]:
    """Sums over `grain` rounds each, the last of what is left."""
    if grain == 1:
        return losses
    n, t, d = losses.shape
    padded = np.concatenate([losses, np.zeros((n, -t % grain, d))], 1)
    return padded.reshape(n, -1, grain, d).sum(2)
