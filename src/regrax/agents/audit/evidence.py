r"""Evidence of learning: statistics of binned episodes, and published tests for regret curves.

**Statistics of an episode's own regret.** Let $c$ be the player's loss in a bin, $\ell$ the losses of all actions,
$\pi$ the play, $h$ half the number $m$ of bins, and $\bar\ell$ the episode's average losses:

    r_t = c_t - l_{t,j*},  j* = argmin_j lbar_j                      regret against the episode's own best action
    W = sum_t w_t r_t,     w_t = t^{-1/2} - mean_s s^{-1/2}          how much it falls
    Y = 1/h sum_{t <= h} <mean_{s < t} l_s, pi_t - mean_{u > h} pi_u>    how much play improves
    x_t = c_t - l_{t,j(t)},  j(t) = argmin_j sum_{s < t} l_{s,j}         savings from following the leader

A player whose play never changes draws its actions from one distribution. Every term of $Y$ then has mean 0 given the
rounds before $t$, whatever the opponent does, because the losses in that term precede both draws. Since $j(t)$ is also
known before round $t$, $x_t$ is what a player without foresight could have saved.

If losses are estimated, the minimum of noisy sums is biased, and a bin's own estimate depends on its play. The bins are
therefore split once, at random, into two halves, and $\bar\ell$ for a bin is the average over the other half, so that
no bin is judged by its own estimate.

**Published tests.** For a curve $R_1, \dots, R_T$ with $s$ decreases of $R_t / t$ among its $T - 1$ steps,

    trend check    p = 2^-(T-1) sum_{i >= s} C(T-1, i)                   decreases against coin flips
    regression     log R_t = b0 log t + b1 where R_t > 0, one-sided t-test of b0 < 1
    Mann-Kendall   S = sum_{i<j} sign(R_j/j - R_i/i), normal with variance T(T-1)(2T+5)/18 less that of ties

All three assume independent steps or rounds, but those of a cumulative sum are not, so `regrax.agents.audit.verdict`
reports the false-alarm rate of each. References: Park, Liu, Ozdaglar, Zhang (2024), Do LLM agents have regret?; Mann
(1945), Kendall (1975).
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import bdtrc, ndtr, stdtr

Array = np.ndarray


class Bins(NamedTuple):
    """`n` episodes of `m` bins over `d` actions, where each bin sums `length` rounds.

    Attributes:
        suffered: the player's loss.
        played: the sum of the policies, or action counts.
        losses: the losses of every action.
        length: rounds per bin.
        estimated: True if losses are estimates from bandit feedback.
    """

    suffered: Float[Array, "n m"]
    played: Float[Array, "n m d"]
    losses: Float[Array, "n m d"]
    length: int
    estimated: bool = False

    def part(self, at: slice) -> "Bins":
        """Return a slice of the episodes."""
        return Bins(
            self.suffered[at], self.played[at], self.losses[at], self.length, self.estimated
        )

    def average(self) -> Float[Array, "n m d"]:
        """Return the average losses against which each bin is judged."""
        m = self.losses.shape[1]
        if not self.estimated or m < 2:
            return np.broadcast_to(self.losses.mean(1, keepdims=True), self.losses.shape)
        half = _random_half(m)
        first = self.losses[:, half].mean(1)[:, None]
        second = self.losses[:, ~half].mean(1)[:, None]
        return np.where(half[None, :, None], second, first)

    def regrets(self) -> Float[Array, "n m"]:
        """Return the regret `r` of every bin."""
        best = self.average().argmin(2)[..., None]
        return self.suffered - np.take_along_axis(self.losses, best, 2)[..., 0]

    def qualities(self) -> Float[Array, "n m"]:
        """Return the loss per round of each bin's play on the average losses."""
        return np.einsum("nmd,nmd->nm", self.played, self.average()) / self.length

    def contrasts(self, power: float = 0.0) -> Float[Array, "n m d"]:
        """Return vectors `g` with `Y = sum_t <g_t, pi_t>`, the first half weighted by `t**power`."""
        m = self.losses.shape[1]
        half = m // 2
        places = np.arange(half)
        shares = (places + 1.0) ** power
        shares /= max(shares.sum(), 1.0)
        before = (self.losses.cumsum(1) - self.losses)[:, :half]
        means = before / np.maximum(places, 1)[:, None] / self.length
        early = shares[:, None] * means / self.length
        late = np.repeat(-early.sum(1, keepdims=True) / (m - half), m - half, 1)
        return np.concatenate([early, late], 1)

    def savings(self) -> Float[Array, "n k 2"]:
        """Return the savings per round in the second half from following the leader and from random play."""
        half = self.losses.shape[1] // 2
        leaders = (self.losses.cumsum(1) - self.losses)[:, half:].argmin(2)
        late = self.losses[:, half:]
        led = np.take_along_axis(late, leaders[..., None], 2)[..., 0]
        others = np.stack([led, late.mean(2)], 2)
        return (self.suffered[:, half:, None] - others) / self.length

    def curve(self, order: Array | None = None) -> Float[Array, "m"]:
        """Return the mean external regret after every bin, with the bins in the given order."""
        suffered = self.suffered
        losses = self.losses
        if order is not None:
            suffered = np.take_along_axis(suffered, order, 1)
            losses = np.take_along_axis(losses, order[..., None], 1)
        return (np.cumsum(suffered, 1) - np.cumsum(losses, 1).min(2)).mean(0)


class Scores(NamedTuple):
    """Statistics of `n` episodes, with regrets per round.

    Attributes:
        falls: $W$.
        improves: $Y$.
        early: regret in the first half against the episode's own best action.
        late: regret in the second half against the episode's own best action.
        early_against: regret in the first half against every action.
        late_against: regret in the second half against every action.
        savings: savings in the second half from following the leader and from random play.
    """

    falls: Float[Array, "n"]
    improves: Float[Array, "n"]
    early: Float[Array, "n"]
    late: Float[Array, "n"]
    early_against: Float[Array, "n d"]
    late_against: Float[Array, "n d"]
    savings: Float[Array, "n 2"]


def score(bins: Bins) -> Scores:
    """Compute the statistics of every episode."""
    regrets = bins.regrets()
    half = bins.losses.shape[1] // 2
    first = slice(0, half or 1)  # a single bin serves as both halves
    against = (bins.suffered[..., None] - bins.losses) / bins.length
    improves = np.einsum("nmd,nmd->n", bins.contrasts(), bins.played)
    return Scores(
        falls=_without_rounding(regrets @ weights(regrets.shape[1]), regrets),
        improves=_without_rounding(improves, bins.losses[:, first]),
        early=regrets[:, first].mean(1) / bins.length,
        late=regrets[:, half:].mean(1) / bins.length,
        early_against=against[:, first].mean(1),
        late_against=against[:, half:].mean(1),
        savings=bins.savings().mean(1),
    )


def weights(m: int) -> Float[Array, "m"]:
    r"""Compute $w_t = t^{-1/2}$ minus its mean, scaled to unit length."""
    w = np.arange(1, m + 1) ** -0.5
    w -= w.mean()
    return w / max(np.linalg.norm(w), 1e-300)  # a single round has weight 0


def published_tests(
    curves: Float[Array, "k m"], rounds: Float[Array, "m"]
) -> dict[str, Float[Array, "k"]]:
    """Compute the p-values of the published tests for each curve; 1 where a test does not apply.

    >>> t = np.arange(1.0, 101.0)
    >>> {name: float(p[0]) < 0.001 for name, p in published_tests(np.sqrt(t)[None], t).items()}
    {'trend': True, 'regression': True, 'mann_kendall': True}
    """
    average = curves / rounds
    falls = (np.diff(average, axis=1) < 0).sum(1)
    return {
        "trend": bdtrc(falls - 1, average.shape[1] - 1, 0.5),
        "regression": regression(curves, rounds)[1],
        "mann_kendall": _mann_kendall(average),
    }


def regression(
    curves: Float[Array, "k m"], rounds: Float[Array, "m"]
) -> tuple[Float[Array, "k"], Float[Array, "k"], Int[Array, "k"]]:
    """Compute the exponent `b0`, its p-value against 1, and the number of rounds without positive regret.

    >>> t = np.arange(1.0, 101.0)
    >>> b0, _, left_out = regression(np.sqrt(t)[None], t)
    >>> float(b0[0]), int(left_out[0])
    (0.5, 0)
    """
    used = curves > 0
    count = used.sum(1)
    enough = count >= 3
    divisor = np.maximum(count, 1)[:, None]
    x = np.where(used, np.log(rounds), 0.0)
    y = np.log(np.where(used, curves, 1.0))
    dx = np.where(used, x - x.sum(1, keepdims=True) / divisor, 0.0)
    dy = np.where(used, y - y.sum(1, keepdims=True) / divisor, 0.0)
    spread = np.where(enough, (dx**2).sum(1), 1.0)
    slope = np.where(enough, (dx * dy).sum(1) / spread, 1.0)
    freedom = np.maximum(count - 2, 1)
    residual = ((dy - slope[:, None] * dx) ** 2).sum(1) / freedom
    error = np.sqrt(np.maximum(residual / spread, 1e-30))
    p = np.where(enough, stdtr(freedom, (slope - 1) / error), 1.0)
    return slope, p, curves.shape[1] - count


def _mann_kendall(average: Float[Array, "k m"]) -> Float[Array, "k"]:
    k, m = average.shape
    signs = np.zeros(k)
    for lag in range(1, m):
        signs += np.sign(average[:, lag:] - average[:, :-lag]).sum(1)
    ties = np.zeros(k)
    for place, row in enumerate(average):
        counts = np.unique(row, return_counts=True)[1].astype(float)
        ties[place] = (counts * (counts - 1) * (2 * counts + 5)).sum()
    variance = (m * (m - 1) * (2 * m + 5) - ties) / 18
    corrected = signs - np.sign(signs)  # continuity correction
    z = np.divide(corrected, np.sqrt(variance), out=np.zeros(k), where=variance > 0)
    return ndtr(z)


def _without_rounding(sums: Float[Array, "n"], terms: Array) -> Float[Array, "n"]:
    """Replace sums that are pure rounding error with 0."""
    scale = np.abs(terms).reshape(len(terms), -1).max(1, initial=0.0)
    return np.where(np.abs(sums) > 1e-9 * scale, sums, 0.0)


@cache
def _random_half(m: int) -> Bool[Array, "m"]:
    """Choose half of the bins at random, so that anything periodic is spread over both halves."""
    return np.random.default_rng(m).permutation(m) < m // 2
