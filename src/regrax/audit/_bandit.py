r"""Regret from the losses received alone: importance weighting with intervals.

An agent plays $a_t$ with probability $p_t$ and receives $\ell_{t,a_t}$. With a guess $b_{t,j}$ made before round $t$,

    lhat_tj = b_tj + 1{a_t = j} (l_t - b_tj) / p_t,        E[lhat_tj | past] = l_tj  if every action may be played

The guess is the mean of what $j$ received before, one observation at the episode's mean put in front: the better the
guess, the smaller the variance, and where losses are zero does not matter. Against a fixed action $j$

    Rhat_j = sum_t (l_t - lhat_tj),       Vhat_j = sum_t 1{a_t = j} (1 - p_t) (l_t - b_tj)^2 / p_t^2

$\hat R_j - R_j$ is a martingale with predictable variance $V_j$, of which $\hat V_j$ is an unbiased estimate: the
interval is $\hat R_j \pm z_{1-\alpha/2} \hat V_j^{1/2}$. Regret itself is a maximum over $j$, averaged over episodes:

    from  max_j (mean_e Rhat_ej - z_{1-alpha/2d} s_j)   to   mean_e max_j Rhat_ej + z_{1-alpha/2} s
    s_j^2 = sum_e Vhat_ej / E^2,    s^2 = sum_e max_j Vhat_ej / E^2

The left end holds by the union bound, since a maximum of means is below the mean of maxima; the right end since the
largest estimate is above the estimate at the truly best action. Swap and internal regret need $\pi_t$ whole: they are
those of the policies, with $\hat M = \sum_t \pi_t \hat\ell_t^\top$.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from regrax.audit._bootstrap import Ends

TAIL = 0.025  # on each side of a 95 % interval
MIN_PLAYS = 30  # of an action: below, its interval is not to be trusted


class Weighted:
    r"""$\hat R_j$ and $\hat V_j$ of `n` episodes, as far as their rounds have been added.

    `means` are the episodes' mean losses. `plays` counts the rounds of each action.

    >>> actions, losses, propensities = np.array([[0, 1]]), np.array([[0.5, 1.0]]), np.array([[0.5, 0.5]])
    >>> weighted = Weighted(np.array([0.75]), 2)
    >>> weighted.add(actions, losses, propensities).tolist(), weighted.against.tolist()
    ([[[0.25, 0.75], [0.625, 1.25]]], [[0.625, -0.5]])
    """

    def __init__(self, means: Float[np.ndarray, "n"], actions: int) -> None:
        self._means = means[:, None, None]
        self._paid, self.plays, self.against, self.variance = np.zeros((4, len(means), actions))

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
        guess = (paid - drawn * loss + self._means) / (plays - drawn + 1)
        error = drawn * (loss - guess) / chance
        self._paid, self.plays = paid[:, -1], plays[:, -1]
        self.against += (loss - guess - error).sum(1)
        self.variance += ((1 - chance) * error**2).sum(1)
        return guess + error


def against_interval(weighted: Any) -> Ends:
    """The interval of mean regret against each fixed action."""
    means, spread = _pooled(weighted)
    reach = ndtri(1 - TAIL) * spread
    return means - reach, means + reach


def regret_interval(weighted: Any) -> tuple[float, float, float]:
    """Mean external regret over episodes: estimate, and the ends of an interval that holds at least 95 %.

    Nothing is known of an action that was never played, and it is no comparator.
    """
    known = weighted.plays.sum(0) > 0
    means, spread = _pooled(weighted)
    low = np.max((means - ndtri(1 - TAIL / known.sum()) * spread)[known])
    best = weighted.against[:, known].max(1).mean()
    widest = weighted.variance[:, known].max(1).sum() ** 0.5 / len(weighted.against)
    return float(best), float(low), float(best + ndtri(1 - TAIL) * widest)


def _pooled(weighted: Any) -> Ends:
    return weighted.against.mean(0), weighted.variance.sum(0) ** 0.5 / len(weighted.against)
