r"""Does an agent explore, exploit, or neither? Measures of drawn actions from the literature on language agents.

For actions $a_1, \dots, a_T$ of one episode and losses $\ell_1, \dots, \ell_T$, with $j^*$ the action whose losses sum
to the least,

    suffix failure at t     a_s != j* for all s >= t         the best action is never played again
    minimum fraction        d min_j |{t : a_t = j}| / T      1 if all are played alike: it does not exploit
    greedy fraction         |{t : a_t has the least mean of the losses seen so far}| / T

averaged over episodes. A high frequency of suffix failures at $T/2$ is a failure to explore; a high minimum fraction
is uniform-like play. Reference: Krishnamurthy, Harris, Foster, Zhang, Slivkins (2024), Can large language models
explore in-context?
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks

__all__ = ["Exploration", "Seen", "exploration"]


class Exploration(NamedTuple):
    """Means over episodes."""

    suffix_failure: float  # at half of the rounds
    minimum_fraction: float
    greedy_fraction: float


def exploration(
    actions: Int[np.ndarray, "n T"], losses: Float[np.ndarray, "n T d"], *, bandit: bool = False
) -> Exploration:
    r"""The three measures of `n` episodes.

    The mean loss so far is of all rounds, or with `bandit` of those in which the action was played; an action that was
    never played is not greedy.

    >>> losses = np.tile([0.0, 1.0], (1, 4, 1))
    >>> exploration(np.array([[0, 1, 1, 1]]), losses)
    Exploration(suffix_failure=1.0, minimum_fraction=0.5, greedy_fraction=0.0)
    """
    actions, losses = np.asarray(actions), np.asarray(losses, float)
    fits = losses.ndim == 3 and actions.shape == losses.shape[:2] and min(losses.shape) >= 1
    checks.shape("actions", actions, f"{losses.shape[:2]}, that of losses (n, T, d)", fits)
    seen = Seen(losses.shape, bandit)
    seen.add(actions, np.take_along_axis(losses, actions[..., None], -1)[..., 0], losses)
    return Exploration(*seen.measures().mean(0).tolist())


class Seen:
    """What the measures follow from, added up piece by piece of the rounds; `shape` is that of all losses."""

    def __init__(self, shape: tuple[int, ...], bandit: bool) -> None:
        n, self.rounds, d = shape
        self.bandit, self.played, self.greedy = bandit, 0, np.zeros(n)
        self.totals, self.plays, self.late = np.zeros((3, n, d))
        self.counts, self.sums = np.zeros((2, n, 1, d))  # of what was shown

    def add(
        self,
        actions: Int[np.ndarray, "n t"],
        suffered: Float[np.ndarray, "n t"],
        losses: Float[np.ndarray, "n t d"],
    ) -> None:
        """The next rounds: the actions, their losses, and the losses of every action, or estimates of them."""
        drawn = np.eye(losses.shape[2])[actions]
        shown = drawn if self.bandit else np.ones_like(losses)
        terms = drawn * suffered[..., None] if self.bandit else losses
        pairs = ((self.counts, shown), (self.sums, terms))
        counts, sums = (np.concatenate(pair, 1).cumsum(1) for pair in pairs)
        before = counts[:, :-1]
        means = np.where(before > 0, sums[:, :-1] / np.maximum(before, 1), np.inf)
        own = np.take_along_axis(means, actions[..., None], -1)[..., 0]
        # ties count, and an action of which nothing was seen does not
        self.greedy += (np.isfinite(own) & (own <= means.min(-1) + 1e-12)).sum(1)
        self.counts, self.sums = counts[:, -1:], sums[:, -1:]
        self.totals, self.plays = self.totals + losses.sum(1), self.plays + drawn.sum(1)
        self.late += drawn[:, max(self.rounds // 2 - self.played, 0) :].sum(1)
        self.played += actions.shape[1]

    def measures(self) -> Float[np.ndarray, "n 3"]:
        """Of every episode: whether its suffix failed, its minimum fraction, its greedy fraction."""
        best = self.totals.argmin(-1)[:, None]
        failed = np.take_along_axis(self.late, best, 1)[:, 0] == 0
        least = self.plays.shape[1] * self.plays.min(1) / self.rounds
        return np.stack([failed, least, self.greedy / self.rounds], 1)
