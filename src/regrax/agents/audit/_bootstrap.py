r"""Intervals over episodes, which are independent even where the rounds of one are not: the studentised bootstrap.

With mean $\bar x$ and standard error $s$ of $E$ episodes, and $\bar x^*, s^*$ those of a resample with replacement,

    t* = (xbar* - xbar) / s*,        interval  xbar - q_{1-alpha/2}(t*) s   to   xbar - q_{alpha/2}(t*) s

Beyond 2,000 episodes the quantiles are the normal distribution's. Reference: Efron, Tibshirani (1993), An introduction
to the bootstrap, chapter 12.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

MIN_EPISODES = 5  # below, resamples are too often all of one episode
DRAWS = 1000
ENDS = ((1 - 0.95) / 2, (1 + 0.95) / 2)  # quantiles of a 95 % interval
MAX_RESAMPLED_EPISODES = 2000  # beyond, quantiles are those of the normal distribution


Ends = tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]]
Interval = Callable[[float | None, float | None], str]  # its ends as text


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

    def cells(self, number: Callable[[float], str], interval: Interval) -> list[str]:
        """Per round, per episode, and the interval per episode as text."""
        return [number(self.per_round), number(self.total), interval(self.low, self.high)]


def mean(values: np.ndarray) -> Any:
    """Over episodes; of few numbers `ndarray.mean` takes four times as long."""
    return np.add.reduce(values) / len(values)


def mean_of(values: Float[np.ndarray, "E"], rounds: Float[np.ndarray, "E"]) -> Measure:
    """The mean over episodes with its interval."""
    return measures(values[:, None], rounds, interval(values[:, None]))[0]


def measures(
    values: Float[np.ndarray, "E k"], rounds: Float[np.ndarray, "E"], ends: Ends | None = None
) -> list[Measure]:
    """The mean over episodes of every column, with the ends of its interval."""
    means, per = mean(values).tolist(), float(mean(rounds))
    low, high = [[None] * len(means)] * 2 if ends is None else [end.tolist() for end in ends]
    return [Measure(m, m / per, a, b) for m, a, b in zip(means, low, high, strict=True)]


def interval(values: Float[np.ndarray, "E k"]) -> Ends | None:
    """The ends of the 95 % interval of each column's mean, or None of fewer than five episodes.

    >>> low, high = interval(np.arange(20.0)[:, None])
    >>> bool(low[0] < 9.5 < high[0]), interval(np.ones((3, 1)))
    (True, None)
    """
    if len(values) < MIN_EPISODES:
        return None
    mean, error = _moments(values)
    if len(values) > MAX_RESAMPLED_EPISODES:
        low, high = ndtri(ENDS)
    else:
        ratios, _ = studentised(values, resampled(len(values)))
        low, high = np.quantile(ratios, ENDS, axis=0)
    return mean - high * error, mean - low * error


@lru_cache(1)  # several measures of the same episodes follow each other
def resampled(episodes: int) -> Float[np.ndarray, "b E"]:
    """The weight of every episode in each resample."""
    even = np.full(episodes, 1 / episodes)
    return np.random.default_rng(0).multinomial(episodes, even, DRAWS) / episodes


def studentised(
    values: Float[np.ndarray, "E k"], picked: Float[np.ndarray, "b E"]
) -> tuple[Float[np.ndarray, "b k"], Float[np.ndarray, "b k"]]:
    """`t*` and `s*` of every resample; a resample of one episode alone has no spread and counts as 0."""
    centred = values - values.mean(0)
    mean, square = np.hsplit(picked @ np.hstack([centred, centred**2]), 2)
    error = _error(mean, square, len(values))
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0), error


def _moments(values: np.ndarray) -> tuple[Any, Any]:
    """The mean over episodes, and its standard error."""
    mean = values.mean(0)
    return mean, _error(mean, (values**2).mean(0), len(values))


def _error(mean: Any, square: Any, episodes: int) -> Any:
    """The standard error of a mean from first and second moments."""
    return np.sqrt(np.maximum(square - mean**2, 0) / (episodes - 1))
