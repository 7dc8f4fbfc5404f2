"""Agents of which only the loss they received is known: what can be said is said, and the rest refused with the reason.

Without the losses of other actions, and without the probabilities of actions, nothing is known of what another action
would have lost, so there is no regret. Losses, the fractions of actions, and the measures of `rx.exploration` remain;
the best action there is that of the least mean loss received in the episode.
"""

from itertools import groupby
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from regrax._exploration import Exploration, Seen
from regrax.audit._agent import AgentAudit, mean_of
from regrax.audit._log import Log
from regrax.audit._spill_buffer import Group
from regrax.audit._verdict import Learning

MAX_BATCH_NUMBERS = 1 << 18  # of a piece held at once
REASON = (
    "regret needs what other actions would have lost, which this log does not say: give the losses of every action, "
    "the propensity of the action played, or the game"
)


class Received(NamedTuple):
    """Numbers of an agent's episodes."""

    names: list[str]
    rounds: Float[np.ndarray, "E"]
    suffered: Float[np.ndarray, "E"]
    plays: Float[np.ndarray, "E d"]
    measures: Float[np.ndarray, "E 3"]


def received(log: Log, agent: str) -> Received:
    """What an agent's episodes say."""
    groups = sorted(log.episodes[agent], key=log.buffer.rows)
    parts = [
        _batch(log, same[start : start + many])
        for rounds, alike in groupby(groups, key=log.buffer.rows)
        for same in [list(alike)]
        for many in [max(1, MAX_BATCH_NUMBERS // (rounds * len(log.seats[agent].actions)))]
        for start in range(0, len(same), many)
    ]
    numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Received([name for _, name in groups], *numbers)


def audit_received(log: Log, agent: str) -> AgentAudit:
    """What losses and actions alone say."""
    _, rounds, suffered, plays, measures = received(log, agent)
    means = measures.mean(0)
    loss = mean_of(suffered, rounds)
    fractions = (plays.sum(0) / plays.sum()).tolist()
    return AgentAudit(
        agent=agent,
        feedback="received",
        actions=log.seats[agent].actions,
        episodes=len(rounds),
        rounds=int(rounds.sum()),
        unanswered=log.unanswered[agent],
        answers=dict(log.answers.get(agent, {})),
        loss=loss,
        loss_per_round=float(suffered.sum() / rounds.sum()),
        regret={},
        curve={},
        against={},
        worst_swap=None,
        baselines={},
        baseline_curves={},
        learning=Learning("cannot tell", f"cannot tell: {REASON}"),
        exploration=None if np.isnan(means).any() else Exploration(*means.tolist())._asdict(),
        notes=[REASON]
        + ["losses are the same in every round of an episode"] * bool(np.isnan(means).any()),
        fractions=dict(zip(log.seats[agent].actions, fractions, strict=True)),
    )


def _batch(log: Log, groups: list[Group]) -> tuple[np.ndarray, ...]:
    """Rounds, losses, plays of every action and measures of episodes of equal length; no measures of equal losses."""
    n, rounds, d = len(groups), log.buffer.rows(groups[0]), len(log.seats[groups[0][0]].actions)
    seen, low, high = Seen((n, rounds, d), True), np.full(n, np.inf), np.full(n, -np.inf)
    step = max(1, MAX_BATCH_NUMBERS // (n * d))
    pieces = [log.buffer.pieces(group, step) for group in groups]
    for together in zip(*pieces, strict=True):
        piece = np.stack(together)
        action, loss = piece[..., 1].astype(int), piece[..., 2]
        seen.add(action, loss, np.eye(d)[action] * loss[..., None])
        low, high = np.minimum(low, loss.min(1)), np.maximum(high, loss.max(1))
    suffered = seen.totals.sum(1)
    # by mean loss, not by sums: actions are played unequally often
    seen.totals = np.where(seen.plays > 0, seen.totals / np.maximum(seen.plays, 1), np.inf)
    measures = np.where((high > low)[:, None], seen.measures(), np.nan)
    return np.full(n, float(rounds)), suffered, seen.plays, measures
