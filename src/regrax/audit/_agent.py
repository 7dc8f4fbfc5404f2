"""One agent's audit: what walking through its episodes adds up to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax._exploration import Exploration
from regrax.audit import _bandit as bandit, _bootstrap as bootstrap
from regrax.audit._accumulate import MAX_BINNED_EPISODES, Episodes, Tally, concatenated, joined
from regrax.audit._baselines import NAMES
from regrax.audit._bins import Bins, Scores
from regrax.audit._log import Log
from regrax.audit._rows import Seat
from regrax.audit._running_regret import KINDS
from regrax.audit._text import counted
from regrax.audit._verdict import Learning, judge


@dataclass(frozen=True, slots=True)
class Measure:
    """A loss or regret with its 95 % interval.

    Attributes:
        total: mean over episodes.
        per_round: mean per round.
        low: lower end of the 95 % interval of `total`; None where too few episodes tell.
        high: its upper end.
    """

    total: float
    per_round: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Swap:
    """The single replacement of one action by another that would have saved most.

    Attributes:
        played: label of the action to replace.
        instead: label of its replacement.
        per_round: saved per round.
        words: the same as a sentence.
    """

    played: str
    instead: str
    per_round: float
    words: str


@dataclass(frozen=True, slots=True)
class AgentAudit:
    """What the log says of one agent; regrets are means over its episodes.

    Attributes:
        agent: its name.
        feedback: `"full"`, `"bandit"`, or `"received"` where only its own losses are logged.
        actions: their labels.
        episodes: how many.
        rounds: of all episodes.
        unanswered: rounds without an answer that could be read.
        answers: how many answers each parser read.
        loss: suffered.
        loss_per_round: mean over all rounds.
        regret: by kind: external, internal, swap, dynamic.
        curve: `round`, and each regret with `_low` and `_high` where known.
        against: regret against every fixed action, estimated, of bandit feedback.
        worst_swap: the replacement that would have saved most.
        baselines: by name what a classical learner suffers and regrets on the same losses.
        baseline_curves: their external regret over the rounds.
        learning: the verdict.
        exploration: see `rx.exploration`; None where policies were logged, not actions.
        notes: what to know when reading these numbers.
        fractions: of rounds per action, where nothing else is known.
    """

    agent: str
    feedback: str
    actions: tuple[str, ...]
    episodes: int
    rounds: int
    unanswered: int
    answers: dict[str, int]
    loss: Measure
    loss_per_round: float
    regret: dict[str, Measure]
    curve: dict[str, list[float]]
    against: dict[str, Measure]
    worst_swap: Swap | None
    baselines: dict[str, dict[str, float]]
    baseline_curves: dict[str, list[float]]
    learning: Learning
    exploration: dict[str, float] | None
    notes: list[str]
    fractions: dict[str, float] = field(default_factory=dict)


def audit_agent(log: Log, agent: str, tally: Tally) -> AgentAudit:
    """What an agent's tally says."""
    seat, all_of = log.seats[agent], joined(tally)
    rounds, full = float(all_of.rounds.sum()), seat.feedback == "full"
    regret = _full_regret(all_of) if full else _bandit_regret(all_of, seat)
    windows = [_joined(part) for part in zip(*tally.windows, strict=True)]
    scores = [
        Scores(*map(concatenated, zip(*part, strict=True)))
        for part in zip(*tally.scores, strict=True)
    ]
    rare, blind = all_of.plays.sum(0) < bandit.MIN_PLAYS, all_of.blind.sum(0) > 0
    explored = not (rare.any() or blind.any())
    return AgentAudit(
        agent=agent,
        feedback=seat.feedback,
        actions=seat.actions,
        episodes=len(all_of.rounds),
        rounds=int(rounds),
        unanswered=log.unanswered[agent],
        answers=dict(log.answers.get(agent, {})),
        loss=mean_of(all_of.suffered, all_of.rounds),
        loss_per_round=float(all_of.suffered.sum()) / rounds,
        regret=regret,
        curve=_curve(concatenated(tally.curves), tally.stops, tuple(regret)),
        against={} if full else _against(all_of, seat),
        worst_swap=_worst(all_of.gains.sum(0) / rounds, seat) if full or seat.mixed else None,
        baselines=_baselines(all_of) if full else {},
        baseline_curves=_baseline_curves(tally) if full else {},
        learning=judge(windows, scores, float(all_of.span.sum()) / rounds, explored),
        exploration=_exploration(all_of),
        notes=_notes(log, agent, tally, all_of) + ([] if full else _bandit_notes(all_of, seat)),
    )


def _mean(values: np.ndarray) -> Any:
    """Over episodes; of few numbers `ndarray.mean` takes four times as long."""
    return np.add.reduce(values) / len(values)


def mean_of(values: Float[np.ndarray, "E"], rounds: Float[np.ndarray, "E"]) -> Measure:
    """The mean over episodes with its interval."""
    ends, total = bootstrap.interval(values[:, None]), float(_mean(values))
    low, high = (None, None) if ends is None else (float(end[0]) for end in ends)
    return Measure(total, total / float(_mean(rounds)), low, high)


def _exploration(all_of: Episodes) -> dict[str, float] | None:
    means = _mean(all_of.explored)
    return None if np.isnan(means).any() else Exploration(*means.tolist())._asdict()


def _joined(parts: tuple[Bins, ...]) -> Bins:
    s, p, l = (concatenated([part[i] for part in parts]) for i in range(3))
    return parts[0]._replace(suffered=s, played=p, losses=l)


def _full_regret(all_of: Episodes) -> dict[str, Measure]:
    means, per = _mean(all_of.regrets).tolist(), _mean(all_of.rounds)
    ends = bootstrap.interval(all_of.regrets)
    low, high = ([None] * 4, [None] * 4) if ends is None else (end.tolist() for end in ends)
    return {
        kind: Measure(means[k], float(means[k] / per), low[k], high[k])
        for k, kind in enumerate(KINDS)
    }


def _bandit_regret(all_of: Episodes, seat: Seat) -> dict[str, Measure]:
    value, low, high = bandit.regret_interval(all_of)
    per = float(_mean(all_of.rounds))
    means = dict(zip(KINDS, _mean(all_of.regrets).tolist(), strict=True))
    whole = ("internal", "swap") if seat.mixed else ()
    return {
        "external": Measure(value, value / per, low, high),
        **{kind: Measure(means[kind], means[kind] / per) for kind in whole},
    }


def _against(all_of: Episodes, seat: Seat) -> dict[str, Measure]:
    low, high = (end.tolist() for end in bandit.against_interval(all_of))
    means, per = _mean(all_of.against).tolist(), float(_mean(all_of.rounds))
    return {
        name: Measure(means[j], means[j] / per, low[j], high[j])
        for j, name in enumerate(seat.actions)
        if all_of.plays[:, j].sum() > 0
    }


def _curve(
    curves: Float[np.ndarray, "E stops 4"], stops: list[int], kinds: tuple[str, ...]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"round": [float(s) for s in stops]}
    episodes, count, _ = curves.shape
    means, ends = _mean(curves), bootstrap.interval(curves.reshape(episodes, -1))
    for kind in kinds:
        k = KINDS.index(kind)
        found[kind] = means[:, k].tolist()
        if ends is not None:
            low, high = (end.reshape(count, 4)[:, k].tolist() for end in ends)
            found[f"{kind}_low"], found[f"{kind}_high"] = low, high
    return found


def _worst(gains: Float[np.ndarray, "d d"], seat: Seat) -> Swap | None:
    i, j = np.unravel_index(np.argmax(gains), gains.shape)
    rate = float(gains[i, j])
    if rate <= 0:
        return None
    prefix = "" if seat.named else "action "
    played, instead = seat.actions[i], seat.actions[j]
    words = f"when it played {prefix}{played} it should have played {prefix}{instead}: {rate:.3g} per round"
    return Swap(played, instead, rate, words)


def _baselines(all_of: Episodes) -> dict[str, dict[str, float]]:
    means = _mean(all_of.baselines).tolist()
    found = {}
    for name, (rounds, suffered, *regrets) in zip(NAMES, means, strict=True):
        found[name] = {"loss_per_round": suffered / rounds}
        found[name] |= dict(zip(KINDS, regrets, strict=True))
    return found


def _baseline_curves(tally: Tally) -> dict[str, list[float]]:
    """External regret of the baselines over the rounds."""
    rounds = [float(min(s * tally.grain, tally.horizon)) for s in tally.coarse_stops]
    means = _mean(concatenated(tally.baseline_curves)).tolist()
    return {"round": rounds, **dict(zip(NAMES, means, strict=True))}


def _notes(log: Log, agent: str, tally: Tally, all_of: Episodes) -> list[str]:
    full, episodes, short = log.seats[agent].feedback == "full", len(all_of.rounds), 0
    short = int((all_of.rounds < tally.horizon).sum())
    silent, skipped, fewest = log.unanswered[agent], log.skipped[agent], bootstrap.MIN_EPISODES
    said = {
        f"{silent:,} rounds had no usable answer and were played uniformly": silent,
        f"{skipped:,} rounds are missing between others": skipped,
        f"{counted(short, 'episode')} {'has' if short == 1 else 'have'} fewer than {tally.horizon} rounds: "
        "they count in totals, not in curves and tests": short,
        f"no intervals: they need {fewest} episodes, and there are {episodes}": full
        and episodes < fewest,
        f"baselines change their play every {tally.grain} rounds only": full and tally.grain > 1,
        f"baselines play {len(all_of.baselines):,} of the episodes": full
        and len(all_of.baselines) < episodes,
        f"the published tests look at {MAX_BINNED_EPISODES} of the episodes": episodes
        > MAX_BINNED_EPISODES,
    }
    return [note for note, holds in said.items() if holds]


def _bandit_notes(all_of: Episodes, seat: Seat) -> list[str]:
    def named(which: np.ndarray) -> str:
        return ", ".join(name for name, is_one in zip(seat.actions, which, strict=True) if is_one)

    plays, few = all_of.plays.sum(0), bandit.MIN_PLAYS
    said = {
        "never played, so nothing is known of them": named(plays == 0),
        f"played fewer than {few} times, so their intervals are not to be trusted": named(
            (plays > 0) & (plays < few)
        ),
        "could not be played in some rounds, where their losses are guessed": named(
            all_of.blind.sum(0) > 0
        ),
    }
    missing = ["dynamic regret and baselines need the losses of every action"]
    missing += [] if seat.mixed else ["internal and swap regret need whole policies"]
    return [f"{what}, which this log does not give" for what in missing] + [
        f"{note}: {names}" for note, names in said.items() if names
    ]
