"""One agent's audit: what walking through its episodes adds up to."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from regrax.audit import _bandit as bandit, _bootstrap as bootstrap
from regrax.audit._accumulate import FINE, KEPT, Tally, walk_agent
from regrax.audit._log import Log
from regrax.audit._rows import Seat
from regrax.audit._running_regret import KINDS, checkpoints
from regrax.audit._verdict import Bins, Learning, Scores, judge


@dataclass(frozen=True)
class Measure:
    """A regret: mean over episodes of its total, the same a round, and the ends of its 95 % interval."""

    total: float
    per_round: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Swap:
    """The single replacement of one action by another that would have saved most."""

    played: str
    instead: str
    per_round: float
    words: str


@dataclass(frozen=True)
class AgentAudit:
    """What the log says of one agent; regrets are means over its episodes."""

    agent: str
    feedback: str
    actions: tuple[str, ...]
    episodes: int
    rounds: int  # of all episodes
    unanswered: int
    loss_per_round: float
    regret: dict[str, Measure]
    curve: dict[str, list[float]]  # round, and each regret with _low and _high where known
    against: dict[str, Measure]  # every fixed action, estimated, of bandit feedback
    worst_swap: Swap | None
    rivals: dict[str, dict[str, float]]
    rival_curves: dict[str, list[float]]
    learning: Learning
    notes: list[str]


def audit_agent(log: Log, agent: str) -> AgentAudit:
    """Audit one agent of a log, in jax's default float."""
    lengths = sorted(log.spool.rows(group) for group in log.episodes(agent))
    horizon = lengths[(len(lengths) - 1) // 2]
    stops = checkpoints(horizon, max(2, min(48, 1_000_000 // len(lengths))))
    return _summed(log, agent, walk_agent(log, agent, horizon, stops), horizon, stops)


def _summed(log: Log, agent: str, tally: Tally, horizon: int, stops: list[int]) -> AgentAudit:
    seat, lengths = log.seats[agent], np.array(tally.lengths, float)
    totals, curves = np.concatenate(tally.totals), np.concatenate(tally.curves, 1)
    rounds, full = int(lengths.sum()), seat.feedback == "full"
    joined = [_joined(part) for part in zip(*tally.windows, strict=True)]
    scores = [
        Scores(*map(np.concatenate, zip(*part, strict=True)))
        for part in zip(*tally.scores, strict=True)
    ]
    weighted = None if full else _together(tally.weighted)
    regret = _measures(totals, lengths, seat, weighted)
    return AgentAudit(
        agent=agent,
        feedback=seat.feedback,
        actions=seat.actions,
        episodes=len(lengths),
        rounds=rounds,
        unanswered=log.unanswered[agent],
        loss_per_round=tally.suffered / rounds,
        regret=regret,
        curve=_curve(curves, stops, tuple(regret)),
        against={} if weighted is None else _against(weighted, seat, rounds),
        worst_swap=_worst(tally.gains, rounds, seat) if full or seat.mixed else None,
        rivals=_rivals(tally, rounds),
        rival_curves=_rival_curves(tally),
        learning=judge(joined, scores, tally.span / rounds),
        notes=_notes(log, agent, tally, horizon, weighted),
    )


def _joined(parts: tuple[Bins, ...]) -> Bins:
    suffered, played, losses = (np.concatenate([p[i] for p in parts]) for i in range(3))
    return Bins(suffered, played, losses, parts[0].length)


def _together(parts: list[bandit.Weighted]) -> bandit.Weighted:
    actions = parts[0].plays.shape[1]
    whole = bandit.Weighted(np.zeros(0), actions)
    for name in ("plays", "against", "variance"):
        setattr(whole, name, np.concatenate([getattr(part, name) for part in parts]))
    return whole


def _measures(
    totals: Float[np.ndarray, "E 4"],
    lengths: Float[np.ndarray, "E"],
    seat: Seat,
    weighted: bandit.Weighted | None,
) -> dict[str, Measure]:
    mean_rounds = lengths.mean()
    if weighted is not None:
        value, low, high = bandit.regret_interval(weighted)
        found = {"external": Measure(value, value / mean_rounds, low, high)}
        if seat.mixed:
            for kind in ("internal", "swap"):
                value = float(totals[:, KINDS.index(kind)].mean())
                found[kind] = Measure(value, value / mean_rounds)
        return found
    ends = bootstrap.interval(totals)
    return {
        kind: Measure(
            float(totals[:, k].mean()),
            float(totals[:, k].mean() / mean_rounds),
            None if ends is None else float(ends[0][k]),
            None if ends is None else float(ends[1][k]),
        )
        for k, kind in enumerate(KINDS)
    }


def _against(weighted: bandit.Weighted, seat: Seat, rounds: int) -> dict[str, Measure]:
    low, high = bandit.against_interval(weighted)
    means, per = weighted.against.mean(0), rounds / len(weighted.against)
    return {
        name: Measure(float(means[j]), float(means[j] / per), float(low[j]), float(high[j]))
        for j, name in enumerate(seat.actions)
        if weighted.plays[:, j].sum() > 0
    }


def _curve(
    curves: Float[np.ndarray, "stops E 4"], stops: list[int], kinds: tuple[str, ...]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"round": [float(s) for s in stops]}
    for kind in kinds:
        values = curves[:, :, KINDS.index(kind)].T
        found[kind] = values.mean(0).tolist()
        ends = bootstrap.interval(values)
        if ends is not None:
            found[f"{kind}_low"], found[f"{kind}_high"] = ends[0].tolist(), ends[1].tolist()
    return found


def _worst(gains: Float[np.ndarray, "d d"], rounds: int, seat: Seat) -> Swap | None:
    i, j = np.unravel_index(np.argmax(gains), gains.shape)
    rate = float(gains[i, j]) / rounds
    if rate <= 0:
        return None
    played, instead = (_action(seat, int(a)) for a in (i, j))
    words = f"when it played {played} it should have played {instead}: {rate:.3g} a round"
    return Swap(seat.actions[i], seat.actions[j], rate, words)


def _action(seat: Seat, index: int) -> str:
    return seat.actions[index] if seat.named else f"action {index}"


def _rivals(tally: Tally, rounds: int) -> dict[str, dict[str, float]]:
    found = {}
    for name, parts in tally.others.items():
        rows = np.concatenate(parts)
        found[name] = {"loss_per_round": float(rows[:, 0].sum() / rounds)}
        found[name] |= {kind: float(rows[:, 1 + k].mean()) for k, kind in enumerate(KINDS)}
    return found


def _rival_curves(tally: Tally) -> dict[str, list[float]]:
    """External regret of the rivals over the rounds."""
    curves = {name: np.concatenate(c, 1).mean(1).tolist() for name, c in tally.other_curves.items()}
    return {"round": tally.other_rounds, **curves} if curves else {}


def _notes(
    log: Log, agent: str, tally: Tally, horizon: int, weighted: bandit.Weighted | None
) -> list[str]:
    seat, episodes = log.seats[agent], len(tally.lengths)
    notes = []
    if log.unanswered[agent]:
        notes.append(
            f"{log.unanswered[agent]:,} rounds had no usable answer and were played uniformly"
        )
    if log.skipped[agent]:
        notes.append(f"{log.skipped[agent]:,} rounds are missing between others")
    short = sum(length < horizon for length in tally.lengths)
    if short:
        notes.append(
            f"{short} episodes have fewer than {horizon} rounds: they count in totals, not in curves and tests"
        )
    if episodes < bootstrap.FEWEST and weighted is None:
        notes.append(
            f"no intervals: they need {bootstrap.FEWEST} episodes, and there are {episodes}"
        )
    if weighted is None and horizon > FINE:
        notes.append(f"rivals change their play every {-(-horizon // FINE)} rounds only")
    if episodes > KEPT:
        notes.append(f"the published tests look at {KEPT} of the episodes")
    return notes + ([] if weighted is None else _bandit_notes(seat, weighted, tally))


def _bandit_notes(seat: Seat, weighted: bandit.Weighted, tally: Tally) -> list[str]:
    notes = [
        "dynamic regret and rivals need the losses of every action, which this log does not give"
    ]
    if not seat.mixed:
        notes.append("internal and swap regret need whole policies, which this log does not give")
    plays = weighted.plays.sum(0)
    never = [n for n, p in zip(seat.actions, plays, strict=True) if p == 0]
    rare = [n for n, p in zip(seat.actions, plays, strict=True) if 0 < p < bandit.FEW]
    if never:
        notes.append(f"never played, so nothing is known of them: {', '.join(never)}")
    if rare:
        notes.append(
            f"played fewer than {bandit.FEW} times, so their intervals are not to be trusted: {', '.join(rare)}"
        )
    if np.any(tally.blind):
        blind = [n for n, b in zip(seat.actions, tally.blind, strict=True) if b]
        notes.append(
            f"could not be played in some rounds, where their losses are guessed: {', '.join(blind)}"
        )
    return notes
