"""Episodes walked through in batches of equal length, of one agent or of many: sums, curves, bins and baselines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from regrax._exploration import Seen
from regrax.agents.audit._bandit import Weighted, starting_guesses
from regrax.agents.audit._baselines import NAMES, baselines, policies, scales
from regrax.agents.audit._bins import Bins, Scores, score
from regrax.agents.audit._bootstrap import DRAWS
from regrax.agents.audit._log import Log
from regrax.agents.audit._running_regret import Piece, checkpoints, walk
from regrax.agents.audit._spill_buffer import Group
from regrax.agents.audit._verdict import BINS
from regrax.regret import gains_of

MAX_BATCH_NUMBERS = 1 << 18  # numbers of a piece held at once
# rounds that baselines play one by one; of a longer episode sums of several, of more episodes some
FINE = 1 << 17
MAX_BINNED_EPISODES = 64  # episodes whose bins are kept for random orders
CURVE_NUMBERS = 1_000_000  # of all curves together
MAX_GAINS = 1 << 24  # numbers for the intervals of internal and swap regret from bandit feedback


class Episodes(NamedTuple):
    """Numbers of `n` episodes; those from `against` to `blind` are of bandit feedback, baselines of full feedback."""

    rounds: Float[np.ndarray, "n"]
    suffered: Float[np.ndarray, "n"]
    span: Float[
        np.ndarray, "n"
    ]  # sum over rounds of the spread of losses: of a round, or of all received
    regrets: Float[np.ndarray, "n 4"]
    baselines: Float[np.ndarray, "k R 6"]  # rounds, suffered, and the regrets
    plays: Float[np.ndarray, "n d"]
    against: Float[np.ndarray, "n d"]
    variance: Float[np.ndarray, "n d"]
    blind: Float[np.ndarray, "n d"]  # rounds in which an action could not be played
    explored: Float[np.ndarray, "n 3"]  # as `rx.exploration`; NaN where no action was drawn
    gains: Float[np.ndarray, "k d d"]  # of every episode, or summed over those of a batch

    def part(self, at: slice, summed: bool) -> "Episodes":
        """Some of the episodes."""
        own = Episodes(*(a[at] for a in self))
        return own._replace(gains=own.gains.sum(0)[None]) if summed else own


class Reached(NamedTuple):
    """Curves of episodes and of the baselines, and a window of bins or two.

    Bandit feedback has the regret against every action instead of the four regrets, summed over episodes.
    """

    curves: Float[np.ndarray, "n stops 4"]
    baselines: Float[np.ndarray, "k R coarse"]
    scores: list[Scores]
    windows: list[Bins]  # of some episodes


@dataclass
class Tally:
    """What the batches of one agent add up to; `reached` is of the episodes that reach the horizon."""

    horizon: int
    stops: list[int]
    guesses: dict[str, np.ndarray] = field(default_factory=dict)  # by episode, of bandit feedback
    known: Any = None  # actions that were ever played
    sums_gains: bool = True  # over the episodes of a batch
    names: list[str] = field(default_factory=list)  # of the episodes
    episodes: list[Episodes] = field(default_factory=list)
    reached: list[Reached] = field(default_factory=list)

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
    tally = Tally(horizon, checkpoints(horizon, count))
    seat = log.seats[agent]
    if seat.feedback == "bandit":
        tally.guesses, tally.known = _guesses(log, agent)
        tally.sums_gains = (len(lengths) + DRAWS) * len(seat.actions) ** 2 > MAX_GAINS
    return tally


def _guesses(log: Log, agent: str) -> tuple[dict[str, np.ndarray], Bool[np.ndarray, "d"]]:
    """The first guess of the losses in every episode of an agent with bandit feedback, and which actions it played."""
    d = len(log.seats[agent].actions)
    names, paid, plays, first = [], [], [], []
    for group in log.episodes[agent]:
        sums = np.zeros((2, d))
        pieces = log.buffer.pieces(group, MAX_BATCH_NUMBERS)
        for number, piece in enumerate(pieces):
            actions, losses = piece[:, 1].astype(int), piece[:, 2]
            sums += np.bincount(actions, losses, d), np.bincount(actions, minlength=d)
            if number == 0:
                first.append(losses[0])
        names.append(group[1])
        paid.append(sums[0])
        plays.append(sums[1])
    guesses = starting_guesses(np.stack(paid), np.stack(plays), np.array(first))
    return dict(zip(names, guesses, strict=True)), np.sum(plays, 0) > 0


def joined(parts: Sequence[Any]) -> Any:
    """Named tuples of arrays as one, along the first axis; what is no array is the same in all."""
    columns = zip(*parts, strict=True)
    arrays = (np.concatenate(c) if isinstance(c[0], np.ndarray) else c[0] for c in columns)
    return parts[0] if len(parts) == 1 else parts[0]._make(arrays)


def walk_agents(log: Log, tallies: dict[str, Tally]) -> Iterator[int]:
    """Go through all episodes of some agents, adding to their tallies; how many episodes each batch had."""
    for groups in _batches(log, tallies):
        _walk_batch(log, groups, tallies)
        yield len(groups)


def _batches(log: Log, tallies: dict[str, Tally]) -> Iterator[list[Group]]:
    """Episodes alike in rounds, horizon and feedback, as many as fit; in memory are `d * d` sums of each."""

    def kind(group: Group) -> tuple[Any, ...]:
        seat, rounds = log.seats[group[0]], log.buffer.rows(group)
        horizon = tallies[group[0]].horizon
        return -rounds, len(seat.actions), horizon, seat.feedback, seat.mixed

    groups = sorted((group for agent in tallies for group in log.episodes[agent]), key=kind)
    for (rounds, d, *_), alike in groupby(groups, key=kind):
        episodes, many = list(alike), max(1, MAX_BATCH_NUMBERS // (d * max(-rounds, d)))
        for start in range(0, len(episodes), many):
            yield episodes[start : start + many]


class _Batch:
    """Episodes of equal length in pieces of `(n, t, d)`: what was played, and the losses, estimated if need be."""

    def __init__(self, log: Log, groups: list[Group], tallies: dict[str, Tally]) -> None:
        self.log, self.seat, self.groups = log, log.seats[groups[0][0]], groups
        self.n, self.d = len(groups), len(self.seat.actions)
        self.rounds, self.full = log.buffer.rows(groups[0]), self.seat.feedback == "full"
        self.whole: np.ndarray | None = None  # the numbers, if one piece holds them
        self.bins: list[list[np.ndarray]] = []  # of every piece, of what `_read` gives
        self.suffered, self.blind = np.zeros(self.n), np.zeros((self.n, self.d))
        self.smallest, self.largest = np.full(self.n, np.inf), np.full(self.n, -np.inf)  # received
        self.seen = Seen((self.n, self.rounds, self.d), not self.full)
        self.drawn, self.varied = np.ones(self.n, bool), np.zeros(self.n, bool)  # actions; losses
        self.stops = tallies[groups[0][0]].stops
        self.against: list[np.ndarray] = []  # regret at the stops, of bandit feedback
        guesses = np.zeros((self.n, self.d))
        if self.seat.feedback == "bandit":
            guesses = np.stack([tallies[agent].guesses[episode] for agent, episode in groups])
            self.known = np.stack([tallies[agent].known for agent, _ in groups])[:, None]
        self.weighted = Weighted(guesses)

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

    def pieces(self, step: int, length: int) -> Iterator[Piece]:
        """Played and losses; sums over `length` rounds are kept, and the first rounds one by one."""
        done, regret = 0, np.zeros((self.n, 1, self.d))
        for piece in self.raw(step):
            suffered, played, losses = series = self._read(piece)
            if self.seat.feedback == "bandit":
                running = regret + (suffered[..., None] - losses).cumsum(1)
                end = done + piece.shape[1]
                self.against.append(
                    running[:, [s - done - 1 for s in self.stops if done < s <= end]]
                )
                done, regret = end, running[:, -1:]
            self.suffered += suffered.sum(1)
            self.smallest = np.minimum(self.smallest, suffered.min(1))
            self.largest = np.maximum(self.largest, suffered.max(1))
            if not self.bins:
                self.first = [_cut(part, 1) for part in series]
            self.varied |= (suffered != self.first[0][:, :1]).any(1)
            self.bins.append([_cut(part, length) for part in series])
            yield played, losses

    def _read(self, piece: Float[np.ndarray, "n t k"]) -> tuple[np.ndarray, ...]:
        """Suffered, played, losses."""
        if self.full:
            played, losses = piece[..., : self.d], piece[..., self.d :]
            suffered = np.einsum("ntd,ntd->nt", played, losses)
            self.drawn &= (played.max(-1) == 1).all(1)
            if self.drawn.any():
                self.seen.add(played.argmax(-1), suffered, losses)
            return suffered, played, losses
        action, suffered = piece[..., 0].astype(int), piece[..., 1]
        drawn = np.eye(self.d)[action]
        if self.seat.feedback == "received":  # nothing is known of others: as if there were one
            self.seen.add(action, suffered, drawn * suffered[..., None])
            return suffered, np.ones((*suffered.shape, 1)), suffered[..., None]
        losses = self.weighted.add(action, suffered, piece[..., 2])
        losses = np.where(self.known, losses, suffered[..., None])  # no regret against the unknown
        self.seen.add(action, suffered, losses)
        self.blind += (piece[..., 3:] <= 0).sum(1) if self.seat.mixed else 0
        return suffered, piece[..., 3:] if self.seat.mixed else drawn, losses

    def explored(self) -> Float[np.ndarray, "n 3"]:
        """Measures of drawn actions; of received losses the best action is that of the least mean, if they differ."""
        seen, known = self.seen, self.drawn
        if self.seat.feedback == "received":
            seen.totals = np.where(seen.plays > 0, seen.totals / np.maximum(seen.plays, 1), np.inf)
            known = self.varied
        return np.where(known[:, None], seen.measures(), np.nan)

    def windows(self, length: int, horizon: int) -> list[Bins]:
        """The whole horizon, and its first rounds if it is long."""
        parts = [np.concatenate(part, 1) for part in zip(*self.bins, strict=True)]
        cut, estimated = [part[:, : horizon // length] for part in parts], not self.full
        whole = Bins(*cut, length=length, estimated=estimated)
        start = [Bins(*self.first, length=1, estimated=estimated)] if length > 1 else []
        return [whole, *start]


def _walk_batch(log: Log, groups: list[Group], tallies: dict[str, Tally]) -> None:
    batch, tally = _Batch(log, groups, tallies), tallies[groups[0][0]]
    length = max(1, -(-tally.horizon // BINS))
    step = length * max(-(-BINS // length), MAX_BATCH_NUMBERS // (batch.n * batch.d * length))
    curves, sums = walk(batch.pieces(step, length), tally.stops)
    others, other_curves = _walk_baselines(batch, tally, sums.least)
    w = batch.weighted
    span = sums.most - sums.least
    if not batch.full:  # estimates spread more than losses
        span = batch.rounds * (batch.largest - batch.smallest)
    known = batch.suffered, span, sums.regrets(), others, batch.seen.plays
    estimated, explored = (w.against, w.variance, batch.blind), batch.explored()
    rounds, gains = np.full(batch.n, float(batch.rounds)), gains_of(sums.matrix)
    episodes = Episodes(rounds, *known, *estimated, explored, gains)
    windows = batch.windows(length, tally.horizon)
    scores = [score(window) for window in windows]
    for agent, own in groupby(range(batch.n), key=lambda place: groups[place][0]):
        one, places = tallies[agent], list(own)
        at = slice(places[0], places[-1] + 1)
        one.names += [name for _, name in groups[at]]
        one.episodes.append(episodes.part(at, one.sums_gains))
        if batch.rounds >= tally.horizon:
            room = MAX_BINNED_EPISODES - sum(len(r.windows[0].suffered) for r in one.reached)
            binned = [w.part(at).part(slice(max(0, room))) for w in windows]
            parts = [s.part(at) for s in scores]
            own = curves[at]
            if batch.seat.feedback == "bandit":
                own = np.concatenate(batch.against, 1)[at].sum(0)[None]
            one.reached.append(Reached(own, other_curves[at], parts, binned))


def _cut(series: Float[np.ndarray, "n t ..."], length: int) -> Float[np.ndarray, "n m ..."]:
    """Sums over `length` rounds each, at most `BINS`, what is left at the end dropped."""
    count = min(series.shape[1] // length, BINS)
    return _coarse(series[:, : count * length], length)


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

    totals, curves = [], []
    low, width, deviation = scales(losses)
    for name, learner in baselines(batch.d, rounds).items():
        scale = deviation if name == "best possible" else width
        played = policies(learner, losses, low, scale)
        found, sums = walk(played, tally.coarse_stops)
        regrets = np.column_stack([sums.regrets()[:, :3], sums.suffered - least])
        totals.append(np.column_stack([np.full(batch.n, batch.rounds), sums.suffered, regrets]))
        curves.append(found[..., 0])
    return np.stack(totals, 1), np.stack(curves, 1)


def _coarse(series: Float[np.ndarray, "n t ..."], length: int) -> Float[np.ndarray, "n u ..."]:
    """Sums over `length` rounds each, the last of what is left."""
    return np.add.reduceat(series, np.arange(0, series.shape[1], length), axis=1)
