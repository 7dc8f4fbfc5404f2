r"""Regret from the losses received alone: importance weighting with intervals.

An agent plays $a_t$ with probability $p_t$ and receives $\ell_{t,a_t}$. With a guess $b_{t,j}$ made before round $t$,

    lhat_tj = b_tj + 1{a_t = j} (l_t - b_tj) / p_t,        E[lhat_tj | past] = l_tj  if every action may be played

since $b_{t,j}$ and $p_t$ are known before $a_t$ is drawn. The guess is the mean of what $j$ received earlier in the
episode, one observation at the mean of what it received in the other episodes put in front: those are independent of
this one. The better the guess, the smaller the variance, and where losses are zero does not matter. Against a fixed
action $j$

    Rhat_j = sum_t (l_t - lhat_tj),       Vhat_j = sum_t 1{a_t = j} (1 - p_t) (l_t - b_tj)^2 / p_t^2

$\hat R_j$ is unbiased, and $\hat V_j$ is an unbiased estimate of the variance of $\hat R_j - R_j$. Regret against the
best action of each episode cannot be had: $E[\min_j \sum_t \ell_{t,j}]$ depends on how the losses of two actions go
together, and no log of received losses ever shows two losses of a round. So the comparator is one for all episodes,

    external   max_j E[R_j]        internal   max_ij E[G_ij]        swap   sum_i max_j E[G_ij],    G_ij = M_ii - M_ij

with $\hat M = \sum_t \pi_t \hat\ell_t^\top$ of policies that are known whole, each estimated by its value at the means
over episodes. `best_of_means` has their intervals, from five episodes on. Of fewer, $\hat V_j$ gives the interval of
these very episodes.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri, stdtrit

from regrax.agents.audit._bootstrap import (
    ENDS,
    MAX_RESAMPLED_EPISODES,
    MIN_EPISODES,
    Ends,
    resampled,
    studentised,
)

TAIL = ENDS[0]  # on each side of a 95 % interval
MIN_PLAYS = 30  # of an action: below, its interval is not to be trusted
NEAR = 3.0  # standard errors from the best within which a comparator may be the best
TIED_TAIL = (
    1.5 * TAIL
)  # below, where several may be the best: then the upper end hardly ever misses


def starting_guesses(
    paid: Float[np.ndarray, "E d"], plays: Float[np.ndarray, "E d"], first: Float[np.ndarray, "E"]
) -> Float[np.ndarray, "E d"]:
    """The first guess of every episode: the mean of what each action received in the others.

    For an action that the others never played it is the mean of all they received. An episode without others starts
    from the first loss it received, so that its first round counts as one without regret.

    >>> starting_guesses(np.array([[1.0, 3.0], [2.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 0.0]]), np.zeros(2)).tolist()
    [[2.0, 2.0], [1.0, 3.0]]
    """
    if len(paid) == 1:
        return np.repeat(first[:, None], paid.shape[1], 1)
    other_paid = paid.sum(0) - paid
    other_plays = plays.sum(0) - plays
    overall = other_paid.sum(1, keepdims=True) / other_plays.sum(1, keepdims=True)
    return np.where(other_plays > 0, other_paid / np.maximum(other_plays, 1), overall)


class Weighted:
    r"""$\hat R_j$ and $\hat V_j$ of `n` episodes, as far as their rounds have been added.

    `guesses` are those of the first round. `plays` counts the rounds of each action.

    >>> actions, losses, propensities = np.array([[0, 1]]), np.array([[0.5, 1.0]]), np.array([[0.5, 0.5]])
    >>> weighted = Weighted(np.array([[0.75, 0.75]]))
    >>> weighted.add(actions, losses, propensities).tolist(), weighted.against.tolist()
    ([[[0.25, 0.75], [0.625, 1.25]]], [[0.625, -0.5]])
    """

    def __init__(self, guesses: Float[np.ndarray, "n d"]) -> None:
        self._start = guesses[:, None]
        self._paid = np.zeros_like(guesses)
        self.plays = np.zeros_like(guesses)
        self.against = np.zeros_like(guesses)
        self.variance = np.zeros_like(guesses)

    def add(
        self,
        actions: Int[np.ndarray, "n t"],
        losses: Float[np.ndarray, "n t"],
        propensities: Float[np.ndarray, "n t"],
    ) -> Float[np.ndarray, "n t d"]:
        """Add rounds of bandit feedback and give their estimated losses."""
        drawn = np.eye(self.plays.shape[1])[actions]
        loss, chance = losses[..., None], propensities[..., None]
        paid = self._paid[:, None] + np.cumsum(drawn * loss, 1)
        plays = self.plays[:, None] + np.cumsum(drawn, 1)
        guess = (paid - drawn * loss + self._start) / (plays - drawn + 1)
        error = drawn * (loss - guess) / chance
        self._paid, self.plays = paid[:, -1], plays[:, -1]
        self.against += (loss - guess - error).sum(1)
        self.variance += ((1 - chance) * error**2).sum(1)
        return guess + error


def against_interval(weighted: Any) -> Ends:
    """The interval of mean regret against each fixed action."""
    if len(weighted.against) >= MIN_EPISODES:
        return over_episodes(weighted.against)
    means, spread = _within(weighted)
    reach = ndtri(1 - TAIL) * spread
    return means - reach, means + reach


def over_episodes(values: Float[np.ndarray, "E k"]) -> Ends:
    """The interval of each column's mean, the wider on each side of the studentised bootstrap's and Student's t."""
    episodes = len(values)
    error = values.std(0, ddof=1) / episodes**0.5
    some = values[:MAX_RESAMPLED_EPISODES]
    ratios, _ = studentised(some, resampled(len(some)))
    low, high = np.quantile(ratios, ENDS, axis=0)
    student = stdtrit(episodes - 1, 1 - TAIL)
    return (
        values.mean(0) - np.maximum(high, student) * error,
        values.mean(0) + np.maximum(-low, student) * error,
    )


def external_interval(weighted: Any) -> tuple[float, float, float]:
    """Regret against the best action for all episodes: estimate and ends of its 95 % interval.

    Nothing is known of an action that was never played, and it is not a comparator.
    """
    known = weighted.plays.sum(0) > 0
    if len(weighted.against) >= MIN_EPISODES:
        return best_of_means(weighted.against[:, None, known])
    means, spread = _within(weighted)
    low = np.max((means - ndtri(1 - TAIL / known.sum()) * spread)[known])
    high = np.max((means + ndtri(1 - TAIL) * spread)[known])
    return float(means[known].max()), float(low), float(high)


def best_of_means(values: Float[np.ndarray, "E rows k"]) -> tuple[float, float, float]:
    r"""$\sum_i \max_j E[x_{ij}]$: the estimate at the means of `E` episodes, and the ends of its 95 % interval.

    A largest mean is above the mean at the truly best $j$, and by how much depends on how many come close. With $N_i$
    those within three standard errors of the best, $j_i$ the best, $x = \sum_i x_{i j_i}$, $s$ its standard error, and
    stars for resamples,

        low    xbar - s q(sum_i max_{j in N_i} (xbar*_ij - xbar_ij) / s*),   q at 0.975, or 0.9625 if any N_i has two
        high   max over x' of  xbar' + s' q_{0.975}((xbar - xbar*) / s*),    x' is x with one j_i replaced, within N_i

    which is the studentised bootstrap where the best is clear. A quantile is never below that of Student's t: estimates
    with small propensities have tails that few episodes do not show. Beyond 2,000 episodes the first 2,000 are
    resampled.

    >>> value, low, high = best_of_means(np.arange(20.0)[:, None, None] * [[1.0, 0.1]])
    >>> value, bool(low < 9.5 < high)
    (9.5, True)
    """
    episodes = len(values)
    best = values.mean(0).argmax(1)
    chosen = values[:, np.arange(len(best)), best]
    total = chosen.sum(1)
    gaps = chosen[..., None] - values
    near = gaps.mean(0) <= NEAR * gaps.std(0, ddof=1) / episodes**0.5
    error = total.std(ddof=1) / episodes**0.5
    others = total[:, None] - gaps[:, near]  # the best with one comparator replaced
    means, errors = others.mean(0), others.std(0, ddof=1) / episodes**0.5
    value = float(total.mean())
    if error <= 1e-12 * np.abs(values).max(initial=0.0):
        return value, value, float(np.max(means + stdtrit(episodes - 1, 1 - TAIL) * errors))
    columns = np.column_stack([total, values[:, near]])[:MAX_RESAMPLED_EPISODES]
    ratios, spreads = studentised(columns, resampled(len(columns)))
    noise = ratios[:, 1:] * spreads[:, 1:]
    starts = np.cumsum(near.sum(1)) - near.sum(1)
    highest = np.maximum.reduceat(noise, starts, axis=1).sum(1)
    spread = spreads[:, 0]
    upward = np.divide(highest, spread, out=np.zeros_like(spread), where=spread > 0)
    tail = TIED_TAIL if near.sum() > len(near) else TAIL
    below = max(np.quantile(upward, 1 - tail), stdtrit(episodes - 1, 1 - tail))
    above = max(-np.quantile(ratios[:, 0], TAIL), stdtrit(episodes - 1, 1 - TAIL))
    return value, float(value - below * error), float(np.max(means + above * errors))


def _within(weighted: Any) -> Ends:
    """The mean over episodes and its standard error, given their losses."""
    return weighted.against.mean(0), weighted.variance.sum(0) ** 0.5 / len(weighted.against)
