r"""Two agents' episodes set side by side: difference of means, interval, permutation test, effect size.

Paired, with $d_e = y_e - x_e$ of the same episode; else with independent episodes $x$ and $y$:

    difference   dbar,  s^2 = var(d) / E                 ybar - xbar,  s^2 = var(x) / E_x + var(y) / E_y
    interval     difference -+ t_{0.975, nu} s, nu = E - 1 or Welch's degrees of freedom
    test         signs of d_e flipped at random          episodes dealt out to the two at random
    statistic    t = difference / s, two-sided: it stays valid if the two spread differently
    effect size  dbar / sd(d)                            (ybar - xbar) / sd, of the pooled variance

both effect sizes times Hedges' $1 - 3 / (4 \nu - 1)$ for small samples. References: Welch (1947), The generalization of
Student's problem; Janssen (1997), Studentized permutation tests for non-i.i.d. hypotheses; Holm (1979), A simple
sequentially rejective multiple test procedure.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, stdtrit

from regrax.agents.audit._bootstrap import MIN_EPISODES

DRAWS = 1999
MAX_PERMUTED_EPISODES = 2000  # beyond, the statistic is taken as normal
LEVEL = 0.95  # of confidence, for the interval of one pair
Values = Float[np.ndarray, "E"]


class Difference(NamedTuple):
    """The mean of the second less that of the first; no interval and test of fewer than five episodes."""

    value: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    effect_size: float | None = None


def difference(first: Values, second: Values, paired: bool, seed: int = 0) -> Difference:
    """The difference of two agents' episodes.

    >>> difference(np.arange(10.0), np.arange(10.0) + [0, 1] * 5, paired=True).value
    0.5
    """
    samples = [second - first] if paired else [second, first]
    value = float(samples[0].mean() if paired else second.mean() - first.mean())
    if min(map(len, samples)) < MIN_EPISODES:
        return Difference(value)
    variances = np.array([part.var(ddof=1) for part in samples])
    freedoms = np.array([len(part) - 1 for part in samples])
    shares = variances / (freedoms + 1)
    error = float(np.sqrt(shares.sum()))
    if error <= 1e-12 * max(np.abs(part).max() for part in (first, second)):
        return Difference(value, value, value, 1.0 if value == 0 else _flips(samples, seed), None)
    reach = error * float(stdtrit(error**4 / (shares**2 / freedoms).sum(), 0.5 + LEVEL / 2))
    pooled, freedom = variances @ freedoms / freedoms.sum(), freedoms.sum()
    effect = float(value / pooled**0.5 * (1 - 3 / (4 * freedom - 1)))
    return Difference(value, value - reach, value + reach, _flips(samples, seed), effect)


def holm(p_values: list[float]) -> list[float]:
    """Adjusted p-values: each at most 5 % is true of all at once.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    scaled = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted.round(12).tolist()


def _flips(samples: list[Values], seed: int) -> float:
    """The two-sided p-value of the permutation test."""
    rng, pooled, paired = np.random.default_rng(seed), np.concatenate(samples), len(samples) == 1
    count, statistic = len(pooled), _student if paired else _welch
    own = np.arange(count) < len(samples[0])  # the first agent's; of pairs all, as signs of 1
    found = abs(statistic(pooled, own[None])[0])
    if count > MAX_PERMUTED_EPISODES:
        return float(2 * ndtr(-found))
    same = np.tile(own, (DRAWS, 1))
    drawn = rng.choice([-1.0, 1.0], same.shape) if paired else rng.permuted(same, axis=1)
    null = statistic(pooled, drawn)
    return float((1 + np.sum(np.abs(null) >= found * (1 - 1e-9))) / (1 + DRAWS))


def _student(values: Values, signs: np.ndarray) -> Float[np.ndarray, "b"]:
    """t of the values with every row of signs; without spread it is as far away as can be."""
    rows = signs * values
    mean, error = rows.mean(1), rows.std(1, ddof=1) / rows.shape[1] ** 0.5
    return mean / np.maximum(error, 1e-300)


def _welch(pooled: Values, masks: np.ndarray) -> Float[np.ndarray, "b"]:
    """Welch's t of every way to deal the episodes out."""
    centred = pooled - pooled.mean()
    shares = []
    for mask in (masks.astype(float), 1.0 - masks):
        n = mask.sum(1)
        mean, square = mask @ centred / n, mask @ centred**2 / n
        shares.append((mean, np.maximum(square - mean**2, 0) / (n - 1)))
    (m, v), (k, w) = shares
    return (m - k) / np.maximum(np.sqrt(v + w), 1e-300)
