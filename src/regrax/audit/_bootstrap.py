r"""Intervals over episodes, which are independent even where the rounds of one are not: the studentised bootstrap.

With mean $\bar x$ and standard error $s$ of $E$ episodes, and $\bar x^*, s^*$ those of a resample with replacement,

    t* = (xbar* - xbar) / s*,        interval  xbar - q_{1-alpha/2}(t*) s   to   xbar - q_{alpha/2}(t*) s

Beyond 2,000 episodes the quantiles are the normal distribution's. Reference: Efron, Tibshirani (1993), An introduction
to the bootstrap, chapter 12.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

MIN_EPISODES = 5  # below, resamples are too often all of one episode
DRAWS = 1000
MAX_RESAMPLED_EPISODES = 2000  # beyond, quantiles are those of the normal distribution


def interval(
    values: Float[np.ndarray, "E k"], level: float = 0.95, seed: int = 0
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"]] | None:
    """The ends of the interval of each column's mean, or None of fewer than five episodes.

    >>> low, high = interval(np.arange(20.0)[:, None])
    >>> bool(low[0] < 9.5 < high[0]), interval(np.ones((3, 1)))
    (True, None)
    """
    if len(values) < MIN_EPISODES:
        return None
    mean, error = values.mean(0), _error(values.mean(0), (values**2).mean(0), len(values))
    tail = (1 - level) / 2
    if len(values) > MAX_RESAMPLED_EPISODES:
        low, high = ndtri(tail), ndtri(1 - tail)
    else:
        low, high = np.quantile(draws(values, seed), [tail, 1 - tail], axis=0)
    return mean - high * error, mean - low * error


def p_value(values: Float[np.ndarray, "E"], seed: int = 0) -> float:
    """How often a resample's studentised mean is as far above its centre as the mean is above 0: small if it is above.

    Episodes that are all alike are not independent and say nothing of chance: 0.

    >>> p_value(np.arange(20.0)) < 0.01, p_value(-np.arange(20.0)) > 0.99
    (True, True)
    """
    mean, error = values.mean(), _error(values.mean(), (values**2).mean(), len(values))
    if error <= 1e-12 * np.abs(values).max(initial=0.0):
        return 0.0
    if len(values) > MAX_RESAMPLED_EPISODES:
        return float(ndtr(-mean / error))
    found = draws(values[:, None], seed)
    return float((1 + np.sum(found >= mean / error)) / (1 + len(found)))


def draws(values: Float[np.ndarray, "E k"], seed: int) -> Float[np.ndarray, "b k"]:
    """Resampled `t*`; a resample of one episode alone has no spread and counts as 0."""
    episodes = len(values)
    generator = np.random.default_rng(seed)
    centred = values - values.mean(0)
    picked = generator.multinomial(episodes, np.full(episodes, 1 / episodes), DRAWS) / episodes
    mean = picked @ centred
    error = _error(mean, picked @ centred**2, episodes)
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0)


def _error(mean: Any, square: Any, episodes: int) -> Any:
    """The standard error of a mean from first and second moments."""
    return np.sqrt(np.maximum(square - mean**2, 0) / (episodes - 1))
