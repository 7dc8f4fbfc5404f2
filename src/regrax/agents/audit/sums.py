r"""Step 2 of an audit: sums over the rounds of each episode, which are all that the verdict needs.

External, internal and swap regret follow from $M = \sum_t \pi_t \ell_t^\top$ (`regrax.regret`); dynamic regret
$\sum_t \langle \ell_t, \pi_t \rangle - \sum_t \min_j \ell_{t,j}$ compares play with the best action in every round.

For comparison, classical learners play on the same losses, tuned with knowledge of an episode's length $T$ and the
range $[a, a + w]$ of its losses: Hedge on $(\ell - a)/w$ with step $\sqrt{8 \ln d / T}$, Blum-Mansour whose copies use
step $d \sqrt{2 \ln d / T}$, and the best possible policy (`regrax.theory.Optimal`) on $\ell / \sigma$, where $\sigma^2$
is the mean variance within a round.

Episodes of equal length are processed in batches of shape `(n, T, d)` and bounded size. A single long episode may
exceed that bound, so memory use grows with the longest episode, not with the size of the log.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from regrax.agents.audit.intervals import (
    RESAMPLES,
    PerAction,
    PerEpisode,
    Vectors,
    estimate_losses,
    starting_guesses,
)
from regrax.agents.audit.read import AgentLog
from regrax.agents.audit.verdict import Bins, Scores, score, windows_of
from regrax.agents.exploration import measure_episodes
from regrax.learners import BlumMansour, Hedge, Learner, Uniform, rollout
from regrax.regret import external_of, gains_of, internal_of, swap_of
from regrax.theory import Optimal

KINDS = ("external", "internal", "swap", "dynamic")
BASELINES = ("hedge", "blum_mansour", "best possible", "uniform")
BATCH_NUMBERS = 1 << 18  # maximum size of a batch of several episodes
# Baselines play longer episodes in coarser steps, and no further episode after this many rounds in all.
BASELINE_ROUNDS = 1 << 17
MAX_BINNED_EPISODES = 64  # number of episodes whose bins are kept for random orders
CURVE_NUMBERS = 1_000_000  # numbers in an agent's curves
MAX_GAINS = 1 << 24  # numbers for the intervals of internal and swap regret from bandit feedback

Array = np.ndarray


class Episodes(NamedTuple):
    """Totals for `n` episodes; `against`, `variance` and `blind` matter only for bandit feedback."""

    rounds: PerEpisode
    suffered: PerEpisode
    span: PerEpisode  # spread of a round's losses, or of all received, summed over rounds
    regrets: Float[Array, "n 4"]
    plays: PerAction
    against: PerAction  # regret against every action
    variance: PerAction
    blind: PerAction  # rounds in which an action could not be played
    exploration: Float[Array, "n 3"]  # NaN if no actions were drawn
    baselines: Float[Array, "k R 6"]  # rounds, loss, and the regrets; k is n or 0
    gains: Float[Array, "k d d"]  # per episode, or summed over episodes


class Reached(NamedTuple):
    """Curves, statistics and bins of the episodes that reach the horizon."""

    curves: Float[Array, "n stops 4"]  # for bandit feedback, summed regret against every action
    baseline_curves: Float[Array, "k R coarse"]
    scores: tuple[Scores, ...]
    windows: tuple[Bins, ...]  # of some of the episodes


class AgentSums(NamedTuple):
    """Sums for one agent.

    Attributes:
        names: episode names.
        horizon: the median length of the episodes.
        stops: rounds at which curves are evaluated.
        grain: number of rounds that baselines treat as one.
        coarse_stops: the stops, counted in rounds of the baselines.
        episodes: totals for all episodes.
        reached: curves and statistics of the episodes that reach the horizon.
    """

    names: list[str]
    horizon: int
    stops: list[int]
    grain: int
    coarse_stops: list[int]
    episodes: Episodes
    reached: Reached


class _Play(NamedTuple):
    """Episodes of equal length: their rounds, with known or estimated losses, and what happened in them."""

    bins: Bins  # of one round
    plays: PerAction
    exploration: Float[Array, "n 3"]
    variance: Any = 0.0
    blind: Any = 0.0


def sum_agent(agent: AgentLog) -> AgentSums:
    """Sum over the rounds of all of an agent's episodes."""
    feedback = agent.schema.feedback
    lengths = sorted(episode.rounds for episode in agent.episodes.values())
    horizon = lengths[(len(lengths) - 1) // 2]
    stops = checkpoints(horizon, max(2, min(48, CURVE_NUMBERS // len(lengths))))
    grain = -(-horizon // BASELINE_ROUNDS)
    coarse_stops = sorted({-(-stop // grain) for stop in stops})
    sum_gains = feedback != "bandit" or (len(lengths) + RESAMPLES) * agent.d**2 > MAX_GAINS
    names: list[str] = []
    parts: list[Episodes] = []
    reached: list[Reached] = []
    simulated = 0
    room = MAX_BINNED_EPISODES
    for batch, play in _plays(agent):
        suffered, played, losses, _, estimated = play.bins
        n, rounds, _ = losses.shape
        curves, gains = _regret_curves(played, losses, stops)
        baselines = np.zeros((0, len(BASELINES), 6))
        baseline_curves = np.zeros((0, len(BASELINES), len(coarse_stops)))
        if feedback == "full" and simulated < BASELINE_ROUNDS:
            baselines, baseline_curves = _play_baselines(losses, grain, coarse_stops)
            simulated += n * rounds
        spans = np.ptp(losses, axis=2).sum(1)
        if estimated:  # estimated losses are more spread out than true losses
            spans = rounds * np.ptp(suffered, axis=1)
        names += batch
        parts.append(
            Episodes(
                rounds=np.full(n, float(rounds)),
                suffered=suffered.sum(1),
                span=spans,
                regrets=curves[:, -1],
                plays=play.plays,
                against=suffered.sum(1)[:, None] - losses.sum(1),
                variance=play.variance + np.zeros_like(play.plays),
                blind=play.blind + np.zeros_like(play.plays),
                exploration=play.exploration,
                baselines=baselines,
                gains=gains.sum(0, keepdims=True) if sum_gains else gains,
            )
        )
        if rounds >= horizon:
            curves = curves[:, : len(stops)]
            if feedback == "bandit":
                against = play.bins.rates().cumsum(1)
                curves = against[:, np.array(stops) - 1].sum(0, keepdims=True)
            windows = windows_of(play.bins, horizon)
            kept = tuple(window.part(slice(room)) for window in windows)
            reached.append(Reached(curves, baseline_curves, tuple(map(score, windows)), kept))
            room = max(0, room - n)
    return AgentSums(names, horizon, stops, grain, coarse_stops, _join(parts), _join(reached))


def checkpoints(rounds: int, count: int = 48) -> list[int]:
    """Choose the rounds at which curves are evaluated: all rounds if there are few, otherwise denser at the start.

    >>> checkpoints(3), len(checkpoints(10**6)), checkpoints(10**6)[-1]
    ([1, 2, 3], 46, 1000000)
    """
    if rounds <= count:
        return list(range(1, rounds + 1))
    return sorted({round(x) for x in np.geomspace(1, rounds, count)})


def _plays(agent: AgentLog) -> Iterator[tuple[list[str], _Play]]:
    """Yield episodes of equal length, longest first, with as many at a time as fit into `BATCH_NUMBERS`."""
    feedback = agent.schema.feedback
    d = agent.d
    names = list(agent.episodes)
    lengths = np.array([episode.rounds for episode in agent.episodes.values()])
    guesses = np.zeros((len(names), d))
    if feedback == "bandit":
        guesses = _guess_losses(agent)
    for rounds in np.unique(lengths)[::-1]:
        places = np.flatnonzero(lengths == rounds)
        size = max(1, BATCH_NUMBERS // (d * max(int(rounds), d)))
        for start in range(0, len(places), size):
            batch = places[start : start + size]
            episodes = [names[place] for place in batch]
            numbers = np.stack([agent.read(episode) for episode in episodes])
            if feedback == "full":
                yield episodes, _full_play(numbers, d)
            elif feedback == "bandit":
                yield episodes, _bandit_play(numbers, guesses[batch], agent.schema.mixed)
            else:
                yield episodes, _received_play(numbers, d)


def _guess_losses(agent: AgentLog) -> PerAction:
    """Guess the losses before each episode; NaN for actions that were never played."""
    paid, plays, first = [], [], []
    for episode in agent.episodes:
        actions, losses = agent.read(episode)[:, :2].T
        paid.append(np.bincount(actions.astype(int), losses, agent.d))
        plays.append(np.bincount(actions.astype(int), minlength=agent.d))
        first.append(losses[0])
    guesses = starting_guesses(np.array(paid), np.array(plays, float), np.array(first))
    guesses[:, np.sum(plays, 0) == 0] = np.nan
    return guesses


def _full_play(numbers: Float[Array, "n T k"], d: int) -> _Play:
    played = numbers[..., :d]
    losses = numbers[..., d : 2 * d]
    exploration = np.full((len(numbers), 3), np.nan)
    is_drawn = (played.max(2) == 1).all(1)
    if is_drawn.any():
        best = losses.sum(1).argmin(1)
        exploration = measure_episodes(played.argmax(2), losses, best, bandit=False)
        exploration[~is_drawn] = np.nan
    suffered = np.einsum("ntd,ntd->nt", played, losses)
    return _Play(Bins(suffered, played, losses), played.sum(1), exploration)


def _bandit_play(numbers: Float[Array, "n T k"], guesses: PerAction, mixed: bool) -> _Play:
    d = guesses.shape[1]
    actions = numbers[..., 0].astype(int)
    suffered = numbers[..., 1]
    drawn = np.eye(d)[actions]
    losses, variance = estimate_losses(actions, suffered, numbers[..., 2], guesses)
    # no regret against an unknown loss
    losses = np.where(np.isnan(losses), suffered[..., None], losses)
    best = losses.sum(1).argmin(1)
    exploration = measure_episodes(actions, drawn * suffered[..., None], best, bandit=True)
    policies = numbers[..., 3 : 3 + d]
    return _Play(
        Bins(suffered, policies if mixed else drawn, losses, estimated=True),
        drawn.sum(1),
        exploration,
        variance=np.nan_to_num(variance),
        blind=(policies <= 0).sum(1) if mixed else 0.0,
    )


def _received_play(numbers: Float[Array, "n T k"], d: int) -> _Play:
    """Treat the action played as the only one, since nothing is known about the others."""
    actions = numbers[..., 0].astype(int)
    suffered = numbers[..., 1]
    drawn = np.eye(d)[actions]
    received = drawn * suffered[..., None]
    plays = drawn.sum(1)
    means = np.where(plays > 0, received.sum(1) / np.maximum(plays, 1), np.inf)
    exploration = measure_episodes(actions, received, means.argmin(1), bandit=True)
    exploration[(suffered == suffered[:, :1]).all(1)] = np.nan
    alone = suffered[..., None]
    return _Play(Bins(suffered, np.ones_like(alone), alone, estimated=True), plays, exploration)


def _regret_curves(
    played: Vectors, losses: Vectors, stops: list[int]
) -> tuple[Float[Array, "n s 4"], Float[Array, "n d d"]]:
    """Compute the four regrets at the stops and after the last round, and the gains of swaps over all rounds."""
    n, rounds, d = losses.shape
    matrix = np.zeros((n, d, d))
    smallest = np.zeros(n)
    gains = matrix
    curves = []
    start = 0
    for stop in [*(stop for stop in stops if stop < rounds), rounds]:
        matrix += played[:, start:stop].swapaxes(1, 2) @ losses[:, start:stop]
        smallest += losses[:, start:stop].min(2).sum(1)
        gains = gains_of(matrix)
        dynamic = np.trace(matrix, axis1=1, axis2=2) - smallest
        regrets = [external_of(gains), internal_of(gains), swap_of(gains), dynamic]
        curves.append(np.stack(regrets, 1))
        start = stop
    return np.stack(curves, 1), gains


def _play_baselines(
    losses: Vectors, grain: int, stops: list[int]
) -> tuple[Float[Array, "n R 6"], Float[Array, "n R s"]]:
    """Play the baselines; return the rounds, loss and regrets of each, and its external regret at the coarse stops."""
    n, rounds, d = losses.shape
    smallest = losses.min(2).sum(1)
    losses = np.add.reduceat(losses, np.arange(0, rounds, grain), axis=1)
    low = losses.min((1, 2))
    width = losses.max((1, 2)) - low
    deviation = losses.var(2, ddof=min(1, d - 1)).mean(1) ** 0.5
    totals = []
    curves = []
    for name, learner in baseline_learners(d, losses.shape[1]).items():
        scale = deviation if name == "best possible" else width
        factor = np.where(scale > 0, scale, 1.0)[:, None, None]
        policies = replay(learner, (losses - low[:, None, None]) / factor)
        curve, _ = _regret_curves(policies, losses, stops)
        suffered = (policies * losses).sum((1, 2))
        regrets = [*curve[:, -1, :3].T, suffered - smallest]
        totals.append(np.column_stack([np.full(n, rounds), suffered, *regrets]))
        curves.append(curve[:, : len(stops), 0])
    return np.stack(totals, 1), np.stack(curves, 1)


@cache
def baseline_learners(actions: int, rounds: int) -> dict[str, Learner]:
    """Build the baselines, tuned to losses with unit range (unit variance for the best possible policy).

    >>> str(baseline_learners(3, 20)["hedge"])
    'hedge(0.6629...)'
    """
    root = max(np.log(actions), 1e-9) / rounds
    hedge = Hedge(float((8 * root) ** 0.5))
    copies = BlumMansour(Hedge(float(actions * (2 * root) ** 0.5)), tolerance=1e-6)
    learners = (hedge, copies, Optimal(float(rounds)), Uniform())
    return dict(zip(BASELINES, learners, strict=True))


def replay(learner: Learner, losses: Vectors) -> Vectors:
    """Play a learner on many episodes in float64, padded to a small set of shapes to limit compilation."""
    n, rounds, d = losses.shape
    shape = _padded(n), _padded(rounds)
    if n <= 64 and rounds <= 1024:
        shape = _padded(max(n, 8)), _padded(max(rounds, 64))
    filled = np.zeros((*shape, d))
    filled[:n, :rounds] = losses
    with jax.enable_x64(True):
        return np.asarray(_rollouts(learner, filled))[:n, :rounds]


_rollouts = jax.jit(jax.vmap(rollout, in_axes=(None, 0)))


def _padded(count: int) -> int:
    """Round up by at most an eighth.

    >>> _padded(64), _padded(100)
    (64, 104)
    """
    unit = 1 << max(0, count.bit_length() - 4)
    return -(-count // unit) * unit


def _join(trees: Sequence[Any]) -> Any:
    """Concatenate the arrays in trees of equal structure; everything else is that of the first."""

    def join(*parts: Any) -> Any:
        return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else parts[0]

    return jax.tree.map(join, *trees)
