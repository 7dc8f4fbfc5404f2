r"""Confidence intervals over episodes, which are independent even if the rounds within an episode are not.

**Means.** Intervals come from the studentised bootstrap. With mean $\bar x$ and standard error $s$ of $E$ episodes, and
$\bar x^*, s^*$ those of a resample with replacement,

    t* = (xbar* - xbar) / s*,        interval  xbar - q_{1-alpha/2}(t*) s   to   xbar - q_{alpha/2}(t*) s

With more than 2,000 episodes, normal quantiles are used. Reference: Efron, Tibshirani (1993), An introduction to
the bootstrap, chapter 12.

**Regret from received losses.** An agent plays $a_t$ with probability $p_t$ and receives $\ell_{t,a_t}$. With a guess
$b_{t,j}$ made before round $t$,

    lhat_tj = b_tj + 1{a_t = j} (l_t - b_tj) / p_t,        E[lhat_tj | past] = l_tj  if every action may be played

since $b_{t,j}$ and $p_t$ are known before $a_t$ is drawn. The guess for $j$ is the mean loss it received earlier in the
episode, counting one extra observation equal to its mean in the other, independent episodes. Better guesses lower the
variance, and adding a constant to all losses changes nothing. For a fixed action $j$,

    Rhat_j = sum_t (l_t - lhat_tj),       Vhat_j = sum_t 1{a_t = j} (1 - p_t) (l_t - b_tj)^2 / p_t^2

$\hat R_j$ is unbiased, and $\hat V_j$ is an unbiased estimate of the variance of $\hat R_j - R_j$. Regret against the
best action in each episode cannot be estimated, because $E[\min_j \sum_t \ell_{t,j}]$ depends on the joint distribution
of two actions' losses, and a log of received losses never shows two losses in the same round. All episodes therefore
share a comparator:

    external   max_j E[R_j]        internal   max_ij E[G_ij]        swap   sum_i max_j E[G_ij],    G_ij = M_ii - M_ij

where $\hat M = \sum_t \pi_t \hat\ell_t^\top$ if full policies are known. Each regret is estimated by its value at the
means over episodes. With at least five episodes, `best_of_means` computes the intervals; with fewer, $\hat V_j$ gives
the interval for the episodes at hand.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri, stdtrit

Array = np.ndarray

PerEpisode = Float[Array, "n"]
PerAction = Float[Array, "n d"]
Series = Float[Array, "n T"]
Vectors = Float[Array, "n T d"]

MIN_EPISODES = 5  # with fewer, too many resamples consist of a single episode
RESAMPLES = 1000
TAIL = 0.025  # on each side of a 95 % interval
MAX_RESAMPLED_EPISODES = 2000
MIN_PLAYS = 30  # an action's interval is unreliable if it was played less often
NEAR = 3.0  # a comparator within this many standard errors of the best may be the best
TIED_TAIL = 1.5 * TAIL  # lower tail if several may be best: the upper end then hardly ever misses

Ends = tuple[Float[Array, "k"], Float[Array, "k"]]


@dataclass(frozen=True, slots=True)
class Measure:
    """A loss or regret with its 95 % interval.

    Attributes:
        total: mean over episodes.
        per_round: mean per round.
        low: lower end of the 95 % interval of `total`; None if there are too few episodes.
        high: upper end.
    """

    total: float
    per_round: float
    low: float | None = None
    high: float | None = None


def standard_error(values: Float[Array, "E *k"]) -> Any:
    """Compute the standard error of the mean over episodes."""
    return values.std(0, ddof=1) / len(values) ** 0.5


def interval(values: Float[Array, "E k"], cautious: bool = False) -> Ends | None:
    """Compute the ends of the 95 % interval of each column's mean, or None for fewer than five episodes.

    Args:
        values: values of every episode.
        cautious: True to use, on each side, the wider of the bootstrap and Student's t.

    >>> low, high = interval(np.arange(20.0)[:, None])
    >>> bool(low[0] < 9.5 < high[0]), interval(np.ones((3, 1)))
    (True, None)
    """
    episodes = len(values)
    if episodes < MIN_EPISODES:
        return None
    mean = values.mean(0)
    error = standard_error(values)
    if episodes > MAX_RESAMPLED_EPISODES and not cautious:
        low, high = ndtri([TAIL, 1 - TAIL])
    else:
        ratios, spreads = _studentised(values[:MAX_RESAMPLED_EPISODES])
        low, high = np.quantile(ratios, [TAIL, 1 - TAIL], axis=0)
        # resamples of values that are nearly all equal often have no spread, and bound nothing
        is_wider = cautious | ((spreads == 0).mean(0) > TAIL)
        student = np.where(is_wider, stdtrit(episodes - 1, 1 - TAIL), 0.0)
        low, high = np.minimum(low, -student), np.maximum(high, student)
    return mean - high * error, mean - low * error


def mean_measures(
    values: Float[Array, "E k"], rounds: PerEpisode, ends: Ends | None = None
) -> list[Measure]:
    """Return the mean over episodes of every column, with the ends of its interval, by default from `interval`."""
    means = values.mean(0)
    columns = [means, means / rounds.mean(), *(ends or interval(values) or ())]
    return [Measure(*row) for row in np.stack(columns, 1).tolist()]


def starting_guesses(paid: PerAction, plays: PerAction, first: PerEpisode) -> PerAction:
    """Guess the losses before each episode: each action's mean loss received in the other episodes.

    For an action never played in the other episodes, the guess is the mean of all losses received in them. A single
    episode starts from the first loss it received, so its first round has no regret.

    Args:
        paid: total loss received from each action in each episode.
        plays: how often each action was played.
        first: the first loss received in each episode.

    >>> starting_guesses(np.array([[1.0, 3.0], [2.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 0.0]]), np.zeros(2)).tolist()
    [[2.0, 2.0], [1.0, 3.0]]
    """
    if len(paid) == 1:
        return np.repeat(first[:, None], paid.shape[1], 1)
    other_paid = paid.sum(0) - paid
    other_plays = plays.sum(0) - plays
    overall = other_paid.sum(1, keepdims=True) / other_plays.sum(1, keepdims=True)
    return np.where(other_plays > 0, other_paid / np.maximum(other_plays, 1), overall)


def estimate_losses(
    actions: Int[Array, "n T"],
    losses: Series,
    propensities: Series,
    guesses: PerAction,
) -> tuple[Vectors, PerAction]:
    r"""Estimate every action's losses from bandit feedback; return $\hat\ell$, and $\hat V$ for every episode.

    >>> actions, losses, propensities = np.array([[0, 1]]), np.array([[0.5, 1.0]]), np.array([[0.5, 0.5]])
    >>> estimates, variance = estimate_losses(actions, losses, propensities, np.array([[0.75, 0.75]]))
    >>> estimates.tolist()
    [[[0.25, 0.75], [0.625, 1.25]]]
    """
    drawn = np.eye(guesses.shape[1])[actions]
    loss = losses[..., None]
    chance = propensities[..., None]
    paid = np.cumsum(drawn * loss, 1) - drawn * loss
    plays = np.cumsum(drawn, 1) - drawn
    guess = (paid + guesses[:, None]) / (plays + 1)
    error = drawn * (loss - guess) / chance
    return guess + error, ((1 - chance) * error**2).sum(1)


def against_interval(against: PerAction, variance: PerAction) -> Ends:
    """Compute an interval for mean regret against each fixed action, from per-episode estimates and variances."""
    mean = against.mean(0)
    reach = ndtri(1 - TAIL) * variance.sum(0) ** 0.5 / len(against)
    return interval(against, cautious=True) or (mean - reach, mean + reach)


def external_interval(
    against: PerAction,
    variance: PerAction,
    known: Bool[Array, "d"],
) -> tuple[float, float, float]:
    """Estimate regret against the action that is best for all episodes, with the ends of its 95 % interval.

    Args:
        against: estimated regret against each action in each episode.
        variance: the variance of each estimate.
        known: actions played at least once; nothing is known about the others, so they are not comparators.
    """
    if len(against) >= MIN_EPISODES:
        return best_of_means(against[:, None, known])
    mean = against.mean(0)[known]
    error = variance.sum(0)[known] ** 0.5 / len(against)
    low = np.max(mean - ndtri(1 - TAIL / known.sum()) * error)
    high = np.max(mean + ndtri(1 - TAIL) * error)
    return float(mean.max()), float(low), float(high)


def best_of_means(
    values: Float[Array, "E rows k"], known: Bool[Array, "rows k"] | None = None
) -> tuple[float, float, float]:
    r"""Estimate $\sum_i \max_j E[x_{ij}]$ at the means of `E` episodes, with the ends of its 95 % interval.

    The largest mean exceeds the mean at the truly best $j$ by an amount that depends on how many come close. Let $N_i$
    be the $j$ within three standard errors of the best, $j_i$ the best, $x = \sum_i x_{i j_i}$, $s$ its standard error,
    and let stars denote resamples:

        low    xbar - s q(sum_i max_{j in N_i} (xbar*_ij - xbar_ij) / s*),   q at 0.975, or 0.9625 if any N_i has two
        high   max over x' of  xbar' + s' q_{0.975}((xbar - xbar*) / s*),    x' is x with one j_i replaced, within N_i

    If the best is clear, this is the studentised bootstrap. Quantiles are never below those of Student's t, because
    estimates with small propensities have tails that do not show in a few episodes. With more than 2,000 episodes, the
    first 2,000 are resampled.

    Args:
        values: values of every episode.
        known: the comparators that count; by default all.

    >>> value, low, high = best_of_means(np.arange(20.0)[:, None, None] * [[1.0, 0.1]])
    >>> value, bool(low < 9.5 < high)
    (9.5, True)
    """
    episodes = len(values)
    if known is None:
        known = np.ones(values.shape[1:], bool)
    best = np.where(known, values.mean(0), -np.inf).argmax(1)
    chosen = values[:, np.arange(len(best)), best]
    total = chosen.sum(1)
    gaps = chosen[..., None] - values
    near = known & (gaps.mean(0) <= NEAR * standard_error(gaps))
    error = standard_error(total)
    others = total[:, None] - gaps[:, near]  # the best with one comparator replaced
    means = others.mean(0)
    errors = standard_error(others)
    value = float(total.mean())
    student = stdtrit(episodes - 1, 1 - TAIL)
    if error <= 1e-12 * np.abs(values).max(initial=0.0):
        return value, value, float(np.max(means + student * errors))
    columns = np.column_stack([total, values[:, near]])[:MAX_RESAMPLED_EPISODES]
    ratios, spreads = _studentised(columns)
    noise = ratios[:, 1:] * spreads[:, 1:]
    starts = np.cumsum(near.sum(1)) - near.sum(1)
    highest = np.maximum.reduceat(noise, starts, axis=1).sum(1)
    spread = spreads[:, 0]
    upward = np.divide(highest, spread, out=np.zeros_like(spread), where=spread > 0)
    tail = TIED_TAIL if near.sum() > len(near) else TAIL
    below = max(np.quantile(upward, 1 - tail), stdtrit(episodes - 1, 1 - tail))
    above = max(-np.quantile(ratios[:, 0], TAIL), student)
    return value, float(value - below * error), float(np.max(means + above * errors))


@lru_cache(1)  # several measures of the same episodes are computed in a row
def _resamples(episodes: int) -> Float[Array, "b E"]:
    """Return the weight of every episode in each resample."""
    even = np.full(episodes, 1 / episodes)
    return np.random.default_rng(0).multinomial(episodes, even, RESAMPLES) / episodes


def _studentised(
    values: Float[Array, "E k"],
) -> tuple[Float[Array, "b k"], Float[Array, "b k"]]:
    """Compute `t*` and `s*` for every resample; `t*` is 0 for a resample without spread, up to rounding."""
    centred = values - values.mean(0)
    moments = _resamples(len(values)) @ np.hstack([centred, centred**2])
    mean, square = np.hsplit(moments, 2)
    error = np.sqrt(np.maximum(square - mean**2, 0) / (len(values) - 1))
    error = np.where(error > 1e-6 * values.std(0), error, 0.0)
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0), error
