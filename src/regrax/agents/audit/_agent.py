"""One agent's audit: what walking through its episodes adds up to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax._exploration import Exploration
from regrax.agents.audit import _bandit as bandit
from regrax.agents.audit._accumulate import MAX_BINNED_EPISODES, Episodes, Tally, joined
from regrax.agents.audit._baselines import NAMES
from regrax.agents.audit._bootstrap import MIN_EPISODES, Measure, interval, mean, mean_of, measures
from regrax.agents.audit._log import Log
from regrax.agents.audit._rows import Seat
from regrax.agents.audit._running_regret import KINDS
from regrax.agents.audit._text import counted, shown
from regrax.agents.audit._verdict import Learning, judge
from regrax.regret import internal_of, swap_of

Curves = dict[str, list[float]]
Measures = dict[str, Measure]
REASON = (
    "regret needs what other actions would have lost, which this log does not say: give the losses of every action, "
    "the propensity of the action played, or the game"
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    regret: Measures = field(default_factory=dict)
    curve: Curves = field(default_factory=dict)
    against: Measures = field(default_factory=dict)
    worst_swap: Swap | None = None
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    baseline_curves: Curves = field(default_factory=dict)
    learning: Learning
    exploration: dict[str, float] | None
    notes: list[str]
    fractions: dict[str, float] = field(default_factory=dict)

    def measures(self) -> list[tuple[str, Measure]]:
        """Regrets, those against every action, and the loss, by the names that tables give them."""
        regrets = [(f"{kind} regret", measure) for kind, measure in self.regret.items()]
        against = [(f"regret against {shown(a)}", measure) for a, measure in self.against.items()]
        return [*regrets, *against, ("loss", self.loss)]

    def regret_per_round(self, kind: str) -> tuple[float | None, float | None, float | None]:
        """A kind of regret per round and the ends of its interval, None where unknown."""
        if kind not in self.regret:
            return None, None, None
        measure = self.regret[kind]
        if measure.low is None or measure.high is None:
            return measure.per_round, None, None
        length = self.rounds / self.episodes
        return measure.per_round, measure.low / length, measure.high / length

    def beside(self) -> dict[str, dict[str, float]]:
        """By name what this agent and the baselines suffer and regret."""
        own = {kind: measure.total for kind, measure in self.regret.items()}
        return {"this agent": {"loss_per_round": self.loss_per_round, **own}, **self.baselines}


def audit_agent(log: Log, agent: str, tally: Tally) -> AgentAudit:
    """What an agent's tally says."""
    seat, all_of = log.seats[agent], joined(tally.episodes)
    rounds, means = float(all_of.rounds.sum()), mean(all_of.explored)
    exploration = None if np.isnan(means).any() else Exploration(*means.tolist())._asdict()
    received = seat.feedback == "received"
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
        exploration=exploration,
        **(_received(all_of, seat) if received else _regretted(log, agent, tally, all_of)),
    )


def _received(all_of: Episodes, seat: Seat) -> dict[str, Any]:
    """What losses and actions alone say."""
    plays, alike = all_of.plays.sum(0), np.isnan(all_of.explored).any()
    return {
        "learning": Learning("cannot tell", f"cannot tell: {REASON}"),
        "notes": [REASON] + ["losses are the same in every round of an episode"] * int(alike),
        "fractions": dict(zip(seat.actions, (plays / plays.sum()).tolist(), strict=True)),
    }


def _regretted(log: Log, agent: str, tally: Tally, all_of: Episodes) -> dict[str, Any]:
    """What is known of regret, or estimated."""
    seat, rounds = log.seats[agent], float(all_of.rounds.sum())
    full, plays, blind = seat.feedback == "full", all_of.plays.sum(0), all_of.blind.any()
    curves, baselines, *parts = zip(*tally.reached, strict=True)
    scores, windows = ([joined(part) for part in zip(*own, strict=True)] for own in parts)
    if full:
        every = measures(all_of.regrets, all_of.rounds, interval(all_of.regrets))
        regret = dict(zip(KINDS, every, strict=True))
        curve = _curve(np.concatenate(curves))
    else:
        regret = _bandit_regret(all_of, seat)
        against = np.concatenate(curves).sum(0) / len(scores[0].falls)
        curve = {"external": against[:, plays > 0].max(1).tolist()}
    explored = full or not (blind or (plays < bandit.MIN_PLAYS).any())
    span = float(all_of.span.sum()) / rounds
    return {
        "regret": regret,
        "curve": {"round": [*map(float, tally.stops)], **curve},
        "against": {} if full else _against(all_of, seat),
        "worst_swap": _worst(all_of.gains.sum(0) / rounds, seat) if seat.mixed else None,
        "baselines": _baselines(all_of) if full else {},
        "baseline_curves": _baseline_curves(tally, np.concatenate(baselines)) if full else {},
        "learning": judge(windows, scores, span, explored, plays > 0),
        "notes": _notes(log, agent, tally, all_of) + ([] if full else _bandit_notes(all_of, seat)),
    }


def _bandit_regret(all_of: Episodes, seat: Seat) -> Measures:
    """Estimated regrets against comparators that are one for all episodes."""
    length, episodes = float(mean(all_of.rounds)), len(all_of.rounds)
    found: dict[str, tuple[float, float | None, float | None]]
    found = {"external": bandit.external_interval(all_of)}
    if seat.mixed:
        gains = all_of.gains * (all_of.plays.sum(0) > 0)  # not to what was never played
        if len(gains) == episodes >= MIN_EPISODES:
            found["internal"] = bandit.best_of_means(gains.reshape(episodes, 1, -1))
            found["swap"] = bandit.best_of_means(gains)
        else:
            total = gains.sum(0) / episodes
            found["internal"] = float(internal_of(total)), None, None
            found["swap"] = float(swap_of(total)), None, None
    return {
        kind: Measure(value, value / length, low, high)
        for kind, (value, low, high) in found.items()
    }


def _against(all_of: Episodes, seat: Seat) -> Measures:
    found = measures(all_of.against, all_of.rounds, bandit.against_interval(all_of))
    every = zip(seat.actions, found, all_of.plays.sum(0), strict=True)
    return {name: measure for name, measure, plays in every if plays > 0}


def _curve(curves: Float[np.ndarray, "E stops 4"]) -> Curves:
    """Mean regret at every stop, and the ends of its interval."""
    lines = mean(curves), *(interval(curves.reshape(len(curves), -1)) or ())
    named = dict(
        zip(("", "_low", "_high"), (line.reshape(-1, 4).T for line in lines), strict=False)
    )
    return {
        kind + suffix: line[place].tolist()
        for place, kind in enumerate(KINDS)
        for suffix, line in named.items()
    }


def _worst(gains: Float[np.ndarray, "d d"], seat: Seat) -> Swap | None:
    i, j = np.unravel_index(np.argmax(gains), gains.shape)
    rate, played, instead = float(gains[i, j]), seat.actions[i], seat.actions[j]
    prefix = "" if seat.named else "action "
    words = f"when it played {prefix}{played} it should have played {prefix}{instead}: {rate:.3g} per round"
    return Swap(played, instead, rate, words) if rate > 0 else None


def _baselines(all_of: Episodes) -> dict[str, dict[str, float]]:
    means = zip(NAMES, mean(all_of.baselines).tolist(), strict=True)
    return {
        name: {"loss_per_round": suffered / rounds, **dict(zip(KINDS, regrets, strict=True))}
        for name, (rounds, suffered, *regrets) in means
    }


def _baseline_curves(tally: Tally, curves: Float[np.ndarray, "k R s"]) -> Curves:
    """External regret of the baselines over the rounds."""
    rounds = [float(min(s * tally.grain, tally.horizon)) for s in tally.coarse_stops]
    return {"round": rounds, **dict(zip(NAMES, mean(curves).tolist(), strict=True))}


def _notes(log: Log, agent: str, tally: Tally, all_of: Episodes) -> list[str]:
    full, episodes = log.seats[agent].feedback == "full", len(all_of.rounds)
    short = int((all_of.rounds < tally.horizon).sum())
    silent, skipped, fewest = log.unanswered[agent], log.skipped[agent], MIN_EPISODES
    few, played, binned = full and episodes < fewest, len(all_of.baselines), MAX_BINNED_EPISODES
    said = {
        f"{silent:,} rounds had no usable answer and were played uniformly": silent,
        f"{skipped:,} rounds are missing between others": skipped,
        f"{counted(short, 'episode')} {'has' if short == 1 else 'have'} fewer than {tally.horizon} rounds: "
        "they count in totals, not in curves and tests": short,
        f"no intervals: they need {fewest} episodes, and there are {episodes}": few,
        f"baselines change their play every {tally.grain} rounds only": full and tally.grain > 1,
        f"baselines play {played:,} of the episodes": full and played < episodes,
        f"the published tests look at {binned} of the episodes": episodes > binned,
    }
    return [note for note, holds in said.items() if holds]


def _bandit_notes(all_of: Episodes, seat: Seat) -> list[str]:
    def named(which: np.ndarray) -> str:
        return ", ".join(name for name, is_one in zip(seat.actions, which, strict=True) if is_one)

    plays, few = all_of.plays.sum(0), bandit.MIN_PLAYS
    rare, blind = named((plays > 0) & (plays < few)), named(all_of.blind.sum(0) > 0)
    said = {
        "never played, so nothing is known of them": named(plays == 0),
        f"played fewer than {few} times, so their intervals are not to be trusted": rare,
        "could not be played in some rounds, where their losses are guessed": blind,
    }
    missing = ["dynamic regret and baselines need the losses of every action"]
    missing += [] if seat.mixed else ["internal and swap regret need whole policies"]
    notes = [f"{what}, which this log does not give" for what in missing]
    if len(all_of.rounds) > 1:
        notes.append(
            "regret compares with what is best for all episodes together: received losses do not tell which action "
            "was best in each"
        )
    return notes + [f"{note}: {names}" for note, names in said.items() if names]
