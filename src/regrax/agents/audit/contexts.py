r"""Regret by context, for agents that see a context before each choice, such as routers and recommenders.

Let $x_t$ be the context of round $t$, one of finitely many, and $f$ a policy that assigns an action to every context:

    R(f) = sum_t (l_t - l_{t,f(x_t)}) = sum_c R_c(f(c)),        max_f E[R(f)] = sum_c max_j E[R_c(j)]

so regret against the best policy is the sum over contexts of regret against the best action there; the policy is one
for all episodes. If only the loss received is known, losses are estimated by the doubly robust

    lhat_tj = q_tj + 1{a_t = j} (l_t - q_tj) / p_t

The guess $q_{t,j}$ is the mean loss received from $j$ in context $x_t$, in all other episodes and earlier in this one,
counting one extra observation equal to the mean of all losses there. It is known before $a_t$ is drawn, so the estimate
is unbiased if the propensities $p_t$ are right, whatever the guess, and has little variance if the guess is good.

A classical learner is replayed on the estimates, with a copy per context: its policy $\pi_t$ depends on earlier rounds
only, so $\sum_t \langle \pi_t, \hat\ell_t \rangle$ is an unbiased estimate of its loss, had it learned from this log.

Independent units for the intervals are the episodes. With fewer than five, these are blocks of consecutive rounds
instead; play that changes over time then makes intervals of regret wider, and a replayed learner's loss is that of the
policies it had on this log, with an interval from the differences of neighbouring blocks. References: Dudik, Langford,
Li (2011), Doubly robust policy evaluation and learning; Li, Chu, Langford, Wang (2011), Unbiased offline evaluation of
contextual-bandit-based news article recommendation algorithms.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from regrax.agents.audit.intervals import (
    MIN_EPISODES,
    MIN_PLAYS,
    Measure,
    best_of_means,
    interval,
)
from regrax.agents.audit.read import AgentLog, Schema
from regrax.agents.audit.sums import replay
from regrax.learners import RegretMatching

Array = np.ndarray

Cells = Float[Array, "c d"]  # contexts and actions
PerRound = Float[Array, "N d"]
Keys = Int[Array, "N"]

BATCH_NUMBERS = 1 << 20  # numbers in the rounds that are processed together
MAX_UNITS = 2000  # more episodes are summed in groups
BLOCKS = 50  # units if there are few episodes
MIN_BLOCK_ROUNDS = 2
MIN_REPLAYED_ROUNDS = 16  # shorter sequences are padded to this length, as every length is compiled
WRONG = 4.0  # standard errors beyond which inverse propensities do not add up
Rounds = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rounds of several episodes, one after the other: the place of the episode, the context, and the numbers."""
REPLAYED = ("hedge", "regret_matching", "hedge without contexts", "uniform")


@dataclass(frozen=True)
class Context:
    """Regret in one context.

    Attributes:
        context: its name.
        rounds: number of rounds.
        loss_per_round: mean loss in these rounds.
        best: the best action, as far as known.
        regret: regret against that action.
    """

    context: str
    rounds: int
    loss_per_round: float
    best: str
    regret: Measure


@dataclass(frozen=True)
class Contexts:
    """Regret by context.

    Attributes:
        regret: regret against the best policy, which plays the best action in each context.
        contexts: regret in every context.
        replayed: loss of each learner, replayed on the log.
        saved: loss of the agent minus that of each learner.
    """

    regret: Measure
    contexts: list[Context]
    replayed: dict[str, Measure]
    saved: dict[str, Measure]


class Totals(NamedTuple):
    """Sums over all rounds of an agent with bandit feedback, for every context and action.

    Attributes:
        rounds: rounds in the context in which the action could be played, as far as known.
        plays: how often it was played.
        paid: the loss received from it.
        inverse: sum of its inverse propensities, whose expectation is `rounds`.
        variance: unbiased estimate of the variance of `inverse`.
        propensities: the smallest and the largest propensity.
        spread: range of the losses received.
    """

    rounds: Cells
    plays: Cells
    paid: Cells
    inverse: Cells
    variance: Cells
    propensities: tuple[float, float]
    spread: float = 1.0


def sum_rounds(agent: AgentLog) -> Totals:
    """Sum the rounds of an agent with bandit feedback, for estimates and for checks of its propensities."""
    shape = max(1, len(agent.schema.contexts)), agent.d
    sums = np.zeros((4, *shape))  # plays, paid, inverse, variance
    rounds = np.zeros(shape)
    ends = []
    for _, context, numbers in _batches(agent):
        actions, loss, chance = numbers[:, :3].T
        terms = np.ones_like(loss), loss, 1 / chance, (1 - chance) / chance**2
        for part, term in zip(sums, terms, strict=True):
            np.add.at(part, (context, actions.astype(int)), term)
        np.add.at(rounds, context, numbers[:, 3 : 3 + agent.d] > 0 if agent.schema.mixed else 1.0)
        ends += [numbers[:, 1:3].min(0), numbers[:, 1:3].max(0)]
    (lowest, low), (highest, high) = np.min(ends, 0).tolist(), np.max(ends, 0).tolist()
    return Totals(rounds, *sums, propensities=(low, high), spread=highest - lowest)


def propensity_notes(totals: Totals, schema: Schema) -> list[str]:
    """Check that propensities agree with how often actions were played, and that actions were played often enough.

    >>> row = np.array([[90.0, 10.0]])
    >>> totals = Totals(row * 0 + 100, row, row, 2 * row, 2 * row, propensities=(0.5, 0.5))
    >>> propensity_notes(totals, Schema("bandit", ("a", "b"), named=True, mixed=False))[0]
    'every propensity is 0.5, but a was played in 90 % of rounds: is it a default?'
    """
    notes = []
    plays = totals.plays.sum(0)
    inverse = totals.inverse.sum(0)
    rounds = totals.rounds.sum(0)
    errors = np.abs(inverse - rounds) / np.sqrt(np.maximum(totals.variance.sum(0), 1e-300))
    worst = int(np.where(plays < MIN_PLAYS, 0.0, errors).argmax())
    low, high = totals.propensities
    is_constant = high - low < 1e-9
    if plays[worst] >= MIN_PLAYS and errors[worst] > WRONG:
        action = schema.actions[worst]
        if is_constant:
            share = 100 * plays[worst] / rounds[worst]
            where = f"but {action} was played in {share:.3g} % of rounds: is it a default?"
            notes.append(f"every propensity is {low:.3g}, {where}")
        else:
            notes.append(
                f"propensities do not add up: the inverse propensities of {action} sum to {inverse[worst]:,.0f} "
                f"instead of about {rounds[worst]:,.0f}, so they are wrong, or it could not be played in some rounds"
            )
    elif is_constant and low > 1 - 1e-9 and len(plays) > 1:
        notes.append("every propensity is 1, so nothing is known about other actions")
    rare = (totals.plays > 0) & (totals.plays < MIN_PLAYS)
    cases = {
        "never played in their context, so not compared": totals.plays == 0,
        f"played fewer than {MIN_PLAYS} times in their context, so their intervals are unreliable": rare,
    }
    for case, applies in cases.items():
        if schema.contexts and applies.any():
            c, j = np.argwhere(applies)[0]
            notes.append(
                f"{applies.sum():,} of {applies.size:,} pairs of context and action were {case}; "
                f"the first is {schema.contexts[c]}, {schema.actions[j]}"
            )
    return notes


def sum_contexts(
    agent: AgentLog, totals: Totals | None, in_blocks: bool
) -> tuple[Float[Array, "U c d"], Float[Array, "U c"], Float[Array, "U c"], Float[Array, "U k"]]:
    """Sum over the rounds of each of `U` units; `totals` estimate the losses that are not known.

    Returns:
        Regret against each action in each context, losses, rounds, and losses of the replayed learners.
    """
    c, d = len(agent.schema.contexts), agent.d
    episodes = len(agent.episodes)
    count = sum(episode.rounds for episode in agent.episodes.values())
    if in_blocks:
        units = min(BLOCKS, max(2, count // MIN_BLOCK_ROUNDS))
    else:
        units = min(episodes, MAX_UNITS)
    against = np.zeros((units, c, d))
    suffered, rounds = np.zeros((2, units, c))
    replayed = np.zeros((units, len(REPLAYED)))
    first_episode = 0
    first_round = 0
    for batch in _batches(agent):
        episode, context, numbers = batch
        if totals is None:
            losses = numbers[:, d : 2 * d]
            loss = (numbers[:, :d] * losses).sum(1)
        else:
            losses = estimate_by_context(batch, totals)
            loss = numbers[:, 1]
        if in_blocks:
            unit = (np.arange(len(loss)) + first_round) * units // count
        else:
            unit = (episode + first_episode) * units // episodes
        np.add.at(against, (unit, context), loss[:, None] - losses)
        np.add.at(suffered, (unit, context), loss)
        np.add.at(rounds, (unit, context), 1.0)
        policies = replay_learners(batch, losses, totals)
        np.add.at(replayed, unit, (policies * losses).sum(2).T)
        first_episode += int(episode[-1]) + 1
        first_round += len(loss)
    return against, suffered, rounds, replayed


def estimate_by_context(rounds: Rounds, totals: Totals) -> PerRound:
    """Estimate every action's losses in rounds with columns `action, loss, propensity`; whole episodes, in order."""
    episode, context, numbers = rounds
    c, d = totals.plays.shape
    actions = numbers[:, 0].astype(int)
    loss = numbers[:, 1, None]
    drawn = np.eye(d)[actions]
    place = episode * c + context
    own_plays, own_paid = np.zeros((2, int(episode[-1]) + 1, c, d))
    np.add.at(own_plays, (episode, context, actions), 1.0)
    np.add.at(own_paid, (episode, context, actions), loss[:, 0])
    # everything but this episode, and its earlier rounds
    other_plays = totals.plays - own_plays
    other_paid = totals.paid - own_paid
    plays = other_plays[episode, context] + _before(place, drawn)
    paid = other_paid[episode, context] + _before(place, drawn * loss)
    seen = other_plays.sum((1, 2))[episode, None] + _before(episode, np.ones_like(loss))
    spent = other_paid.sum((1, 2))[episode, None] + _before(episode, loss)
    mean = np.where(seen > 0, spent / np.maximum(seen, 1), loss)
    guess = (paid + mean) / (plays + 1)
    return guess + drawn * (loss - guess) / numbers[:, 2, None]


def replay_learners(
    rounds: Rounds, losses: PerRound, totals: Totals | None
) -> Float[Array, "k N d"]:
    r"""Return the policies of the replayed learners in every round.

    Hedge has step $\sqrt{8 \ln d / T}$ on the losses divided by their range, or $\sqrt{2 \ln d / (d T)}$ on estimates,
    for the $T$ rounds of a context in an episode.
    """
    episode, context, _ = rounds
    d = losses.shape[1]
    place = episode * (int(context.max()) + 1) + context
    if totals is None:
        step = (8 * np.log(d)) ** 0.5 / max(float(np.ptp(losses)), 1e-300)
    else:
        step = (2 * np.log(d) / d) ** 0.5 / max(totals.spread, 1e-300)
    above = losses - losses.min(1, keepdims=True)  # Hedge ignores what all actions have in common
    hedge = []
    for key in (place, episode):
        steps = step / np.bincount(key)[key, None] ** 0.5
        hedge.append(softmax(-steps * _before(key, above), axis=1))
    uniform = np.full_like(losses, 1 / d)
    return np.stack([hedge[0], _regret_matching(place, losses), hedge[1], uniform])


def audit_contexts(agent: AgentLog, totals: Totals | None) -> Contexts:
    """Compute regret by context, and the losses of replayed learners."""
    schema = agent.schema
    in_blocks = len(agent.episodes) < MIN_EPISODES
    against, suffered, rounds, replayed = sum_contexts(agent, totals, in_blocks)
    units = len(against)
    per_episode = units / len(agent.episodes)
    known = np.ones(against.shape[1:], bool) if totals is None else totals.plays > 0
    losses = np.hstack([replayed, suffered.sum(1)[:, None] - replayed])
    if in_blocks and units == BLOCKS:
        # a learner's loss falls from block to block: only differences of neighbours are noise
        steps = np.diff(losses, axis=0) / 2**0.5
        losses = losses.mean(0) + steps - steps.mean(0)

    def measured(value: float, low: float, high: float, rounds: float) -> Measure:
        ends = low * per_episode, high * per_episode
        if in_blocks and units < BLOCKS:
            ends = None, None
        return Measure(value * per_episode, value * units / rounds, *ends)

    lengths = rounds.sum(0)
    best = np.where(known, against.mean(0), -np.inf).argmax(1)
    contexts = []
    for c, context in enumerate(schema.contexts):
        length = float(lengths[c])
        regret = measured(*best_of_means(against[:, [c]], known[[c]]), length)
        loss = float(suffered[:, c].sum()) / length
        contexts.append(Context(context, int(length), loss, schema.actions[best[c]], regret))
    count = float(lengths.sum())
    means = losses.mean(0)
    ends = interval(losses, cautious=True) or (means, means)
    columns = np.stack([means, *ends], 1).tolist()
    rows = [measured(value, low, high, count) for value, low, high in columns]
    return Contexts(
        regret=measured(*best_of_means(against, known), count),
        contexts=contexts,
        replayed=dict(zip(REPLAYED, rows[: len(REPLAYED)], strict=True)),
        saved=dict(zip(REPLAYED, rows[len(REPLAYED) :], strict=True)),
    )


def _batches(agent: AgentLog) -> Iterator[Rounds]:
    """Read whole episodes, as many at a time as fit into `BATCH_NUMBERS`."""
    width = agent.d + 3
    parts: list[Array] = []
    size = 0
    for number, episode in enumerate(agent.episodes, 1):
        parts.append(agent.read(episode))
        size += len(parts[-1]) * width
        if size > BATCH_NUMBERS or number == len(agent.episodes):
            numbers = np.concatenate(parts)
            places = np.repeat(np.arange(len(parts)), list(map(len, parts)))
            contexts = np.zeros(len(numbers), int)
            if agent.schema.contexts:
                contexts = numbers[:, -1].astype(int)
            yield places, contexts, numbers
            parts = []
            size = 0


def _before(key: Keys, values: PerRound) -> PerRound:
    """For every round, sum the values of earlier rounds with the same key."""
    order = np.argsort(key, kind="stable")
    ordered = values[order]
    sums = ordered.cumsum(0) - ordered
    sums -= sums[np.searchsorted(key[order], key[order])]
    result = np.empty_like(sums)
    result[order] = sums
    return result


def _regret_matching(key: Keys, losses: PerRound) -> PerRound:
    """Play a copy of regret matching on the rounds of each key."""
    order = np.argsort(key, kind="stable")
    by_size: dict[int, list[Array]] = defaultdict(list)
    for rounds in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        size = max(MIN_REPLAYED_ROUNDS, 1 << (len(rounds) - 1).bit_length())
        by_size[size].append(rounds)
    policies = np.empty_like(losses)
    for size, sequences in by_size.items():
        padded = np.zeros((len(sequences), size, losses.shape[1]))
        for row, rounds in zip(padded, sequences, strict=True):
            row[: len(rounds)] = losses[rounds]
        for row, rounds in zip(replay(RegretMatching(), padded), sequences, strict=True):
            policies[rounds] = row[: len(rounds)]
    return policies
