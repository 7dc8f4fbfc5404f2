r"""Episodes in bins, and what each says of learning: statistics of the episode's own regret.

With $c$ what a bin suffered, $\ell$ its losses, $\pi$ its play and $\bar\ell$ the average losses it is judged by,

    r = c - l_{j*},  j* = argmin_j lbar_j          regret against the episode's own best action
    q = <lbar, pi>                                 how good the play is, whatever the bin's own losses
    W(x) = sum_t w_t x_t,  w_t = t^{-1/2} - mean_s s^{-1/2}

$\bar\ell$ is over the whole episode where losses are known. Where they are estimated, the smallest of noisy sums is
biased, and a bin's own estimate depends on its play: then $\bar\ell$ is over the bins of the other of two halves, drawn
once, so that no bin is judged by itself.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Bins(NamedTuple):
    """`n` episodes of `m` bins each, over `d` actions; a bin is a sum over `length` rounds.

    Attributes:
        suffered: loss of what was played.
        played: sum of policies, or counts of actions.
        losses: of every action.
        length: rounds per bin.
        estimated: whether losses are estimates from bandit feedback.
    """

    suffered: Float[np.ndarray, "n m"]
    played: Float[np.ndarray, "n m d"]
    losses: Float[np.ndarray, "n m d"]
    length: int
    estimated: bool = False

    def part(self, at: slice) -> "Bins":
        """Some of the episodes."""
        return self._make([*(part[at] for part in self[:3]), *self[3:]])

    def average(self) -> Float[np.ndarray, "n m d"]:
        """The average losses that each bin is judged by."""
        if not self.estimated or self.losses.shape[1] < 2:
            return np.broadcast_to(self.losses.mean(1, keepdims=True), self.losses.shape)
        half = _half(self.losses.shape[1])
        first, second = (self.losses[:, part].mean(1)[:, None] for part in (half, ~half))
        return np.where(half[None, :, None], second, first)

    def series(self) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, "n m"]]:
        """`r` and `q` of every bin."""
        average = self.average()
        best = np.take_along_axis(self.losses, average.argmin(2)[..., None], 2)[..., 0]
        return self.suffered - best, np.einsum("nmd,nmd->nm", self.played, average) / self.length

    def rates(self) -> Float[np.ndarray, "n k d"]:
        """Regret per round against every action in the bins of the later half."""
        late = slice(self.losses.shape[1] // 2, None)
        return (self.suffered[:, late, None] - self.losses[:, late]) / self.length

    def leaders(self) -> Int[np.ndarray, "n"]:
        """The action that was best in the earlier half of each episode: a comparator chosen on other rounds."""
        return self.losses[:, : self.losses.shape[1] // 2].sum(1).argmin(1)

    def curve(self, order: np.ndarray | None = None) -> Float[np.ndarray, "m"]:
        """Mean external regret after every bin, the bins taken in the given order."""
        suffered, losses = self.suffered, self.losses
        if order is not None:
            suffered = np.take_along_axis(suffered, order, 1)
            losses = np.take_along_axis(losses, order[..., None], 1)
        return (np.cumsum(suffered, 1) - np.cumsum(losses, 1).min(2)).mean(0)


class Scores(NamedTuple):
    """What each of `n` episodes says; `part` sums the two series over its episodes, so that `k` is 1 there.

    Attributes:
        regret: $W(r)$.
        quality: $W(q)$.
        low: late regret per round against every action, and against the early leader.
        high: late regret per round against the action that is best then.
        regrets: $r$ of every bin.
        qualities: $q$ of every bin.
    """

    regret: Float[np.ndarray, "n"]
    quality: Float[np.ndarray, "n"]
    low: Float[np.ndarray, "n d+1"]
    high: Float[np.ndarray, "n"]
    regrets: Float[np.ndarray, "k m"]
    qualities: Float[np.ndarray, "k m"]

    def part(self, at: slice) -> "Scores":
        """Some of the episodes."""
        sums = (series[at].sum(0)[None] for series in self[4:])
        return Scores(*(part[at] for part in self[:4]), *sums)


def score(bins: Bins) -> Scores:
    """The statistics of every episode."""
    r, q = bins.series()
    w, late = weights(r.shape[1]), bins.rates().mean(1)
    leading = np.take_along_axis(late, bins.leaders()[:, None], 1)
    low = np.hstack([late, leading])
    return Scores(_statistic(r, w), _statistic(q, w), low, late.max(1), r, q)


def weights(m: int) -> Float[np.ndarray, "m"]:
    r"""$w_t = t^{-1/2}$ less its mean, to unit length."""
    w = np.arange(1, m + 1) ** -0.5
    w -= w.mean()
    return w / max(np.linalg.norm(w), 1e-300)  # of one round alone the weight is 0


def _statistic(series: Float[np.ndarray, "n m"], w: Float[np.ndarray, "m"]) -> np.ndarray:
    """`W` of every episode; what is only rounding of a constant series is 0."""
    sums = series @ w
    return np.where(np.abs(sums) > 1e-9 * np.abs(series).max(1), sums, 0.0)


@cache
def _half(m: int) -> Bool[np.ndarray, "m"]:
    """Half of the bins, drawn: what returns every few rounds falls into both halves."""
    return np.random.default_rng(m).permutation(m) < m // 2
