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

__all__ = ["Exploration", "exploration"]


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
    rounds, d = losses.shape[1:]
    best = losses.sum(1).argmin(-1)
    counts = np.stack([(actions == j).mean(1) for j in range(d)])
    missed = (actions[:, rounds // 2 :] != best[:, None]).all(1)
    greedy = _greedy(actions, losses, bandit)
    return Exploration(float(missed.mean()), float(d * counts.min(0).mean()), float(greedy.mean()))


def _greedy(
    actions: Int[np.ndarray, "n T"], losses: Float[np.ndarray, "n T d"], bandit: bool
) -> Float[np.ndarray, "n"]:
    """The fraction of rounds, from the second on, in which the action of least mean loss was played; ties count."""
    shown = np.eye(losses.shape[2])[actions] if bandit else np.ones_like(losses)
    counts = shown.cumsum(1)[:, :-1]
    sums = (shown * losses).cumsum(1)[:, :-1]
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    played = np.take_along_axis(means, actions[:, 1:, None], -1)[..., 0]
    return (played <= means.min(-1) + 1e-12).sum(1) / actions.shape[1]
