r"""Episodes in bins, and what each says of learning: statistics of the episode's own regret.

With $c$ what a bin suffered, $\ell$ its losses, $\pi$ its play, $h$ the bins of the earlier half of $m$ and $\bar\ell$
the average losses of the episode,

    r_t = c_t - l_{t,j*},  j* = argmin_j lbar_j                      regret against the episode's own best action
    W = sum_t w_t r_t,     w_t = t^{-1/2} - mean_s s^{-1/2}          how it falls
    Y = 1/h sum_{t <= h} <mean_{s < t} l_s, pi_t - mean_{u > h} pi_u>    how play improves
    x_t = c_t - l_{t,j(t)},  j(t) = argmin_j sum_{s < t} l_{s,j}         what following the leader saves

A player that never moves draws its actions from one distribution, so every term of $Y$ has mean 0 given the rounds
before $t$, whatever its opponent makes of them: only losses that were there before both draws are used. $j(t)$ is known
before round $t$ too, so that $x_t$ is what a player without foresight could have saved.

Where losses are estimated, the smallest of noisy sums is biased, and a bin's own estimate depends on its play: then
$\bar\ell$ is over the bins of the other of two halves, drawn once, so that no bin is judged by itself.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float


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

    def regrets(self) -> Float[np.ndarray, "n m"]:
        """Regret `r` of every bin."""
        best = self.average().argmin(2)[..., None]
        return self.suffered - np.take_along_axis(self.losses, best, 2)[..., 0]

    def qualities(self) -> Float[np.ndarray, "n m"]:
        """What the play of every bin loses per round on the average losses."""
        return np.einsum("nmd,nmd->nm", self.played, self.average()) / self.length

    def contrasts(self, power: float = 0.0) -> Float[np.ndarray, "n m d"]:
        """Vectors `g` of every bin with `Y = sum_t <g_t, pi_t>`; the earlier half is weighted by `t**power`."""
        m, length = self.losses.shape[1], self.length
        half = m // 2
        places = np.arange(half)
        shares = (places + 1.0) ** power
        shares /= max(shares.sum(), 1.0)
        before = (self.losses.cumsum(1) - self.losses)[:, :half]
        means = before / np.maximum(places, 1)[:, None] / length
        early = shares[:, None] * means / length
        late = np.repeat(-early.sum(1, keepdims=True) / (m - half), m - half, 1)
        return np.concatenate([early, late], 1)

    def savings(self) -> Float[np.ndarray, "n k 2"]:
        """Saved per round in the bins of the later half: by following the leader, and by playing at random."""
        half = self.losses.shape[1] // 2
        leaders = (self.losses.cumsum(1) - self.losses)[:, half:].argmin(2)
        late = self.losses[:, half:]
        led = np.take_along_axis(late, leaders[..., None], 2)[..., 0]
        others = np.stack([led, late.mean(2)], 2)
        return (self.suffered[:, half:, None] - others) / self.length

    def curve(self, order: np.ndarray | None = None) -> Float[np.ndarray, "m"]:
        """Mean external regret after every bin, the bins taken in the given order."""
        suffered, losses = self.suffered, self.losses
        if order is not None:
            suffered = np.take_along_axis(suffered, order, 1)
            losses = np.take_along_axis(losses, order[..., None], 1)
        return (np.cumsum(suffered, 1) - np.cumsum(losses, 1).min(2)).mean(0)


class Scores(NamedTuple):
    """Statistics of `n` episodes, regrets per round.

    Attributes:
        falls: $W$.
        improves: $Y$.
        early: regret in the earlier half against the episode's own best action.
        late: in the later half.
        early_against: regret in the earlier half against every action.
        late_against: in the later half.
        savings: in the later half, by following the leader and by playing at random.
    """

    falls: Float[np.ndarray, "n"]
    improves: Float[np.ndarray, "n"]
    early: Float[np.ndarray, "n"]
    late: Float[np.ndarray, "n"]
    early_against: Float[np.ndarray, "n d"]
    late_against: Float[np.ndarray, "n d"]
    savings: Float[np.ndarray, "n 2"]

    def part(self, at: slice) -> "Scores":
        """Some of the episodes."""
        return Scores(*(part[at] for part in self))


def score(bins: Bins) -> Scores:
    """The statistics of every episode."""
    regrets, half = bins.regrets(), bins.losses.shape[1] // 2
    first = slice(0, half or 1)  # of one bin alone both halves are that bin
    against = (bins.suffered[..., None] - bins.losses) / bins.length
    improves = np.einsum("nmd,nmd->n", bins.contrasts(), bins.played)
    return Scores(
        falls=_clear(regrets @ weights(regrets.shape[1]), regrets),
        improves=_clear(improves, bins.losses[:, first]),
        early=regrets[:, first].mean(1) / bins.length,
        late=regrets[:, half:].mean(1) / bins.length,
        early_against=against[:, first].mean(1),
        late_against=against[:, half:].mean(1),
        savings=bins.savings().mean(1),
    )


def weights(m: int) -> Float[np.ndarray, "m"]:
    r"""$w_t = t^{-1/2}$ less its mean, to unit length."""
    w = np.arange(1, m + 1) ** -0.5
    w -= w.mean()
    return w / max(np.linalg.norm(w), 1e-300)  # of one round alone the weight is 0


def _clear(sums: Float[np.ndarray, "n"], terms: np.ndarray) -> Float[np.ndarray, "n"]:
    """The sums; what is only rounding of its terms is 0."""
    scale = np.abs(terms).reshape(len(terms), -1).max(1, initial=0.0)
    return np.where(np.abs(sums) > 1e-9 * scale, sums, 0.0)


@cache
def _half(m: int) -> Bool[np.ndarray, "m"]:
    """Half of the bins, drawn: what returns every few rounds falls into both halves."""
    return np.random.default_rng(m).permutation(m) < m // 2
