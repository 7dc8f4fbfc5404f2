r"""Exploration measures for sampled actions, from the literature on language agents.

For an episode with actions $a_1, \dots, a_T$, losses $\ell_1, \dots, \ell_T$ and best action $j^*$, the action with the
smallest total loss,

    suffix failure at t     a_s != j* for all s >= t         the best action is never played again
    minimum fraction        d min_j |{t : a_t = j}| / T      1 if all actions are played equally often
    greedy fraction         |{t : a_t has the smallest mean of the losses seen so far}| / T

averaged over episodes. Frequent suffix failures at $T/2$ indicate a failure to explore; a high minimum fraction
indicates nearly uniform play. Reference: Krishnamurthy, Harris, Foster, Zhang, Slivkins (2024), Can large language
models explore in-context?
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks

Array = np.ndarray


class Exploration(NamedTuple):
    """Exploration measures, averaged over episodes."""

    suffix_failure: float  # at half the rounds
    minimum_fraction: float
    greedy_fraction: float


def exploration(
    actions: Int[Array, "n T"], losses: Float[Array, "n T d"], *, bandit: bool = False
) -> Exploration:
    r"""Compute the three exploration measures over `n` episodes.

    Args:
        actions: the sampled actions.
        losses: the loss of every action in every round.
        bandit: True if the agent saw only the loss of its own action. An action's mean loss is then taken over the
            rounds in which it was played, and an action that has not been played yet is not greedy.

    >>> losses = np.tile([0.0, 1.0], (1, 4, 1))
    >>> exploration(np.array([[0, 1, 1, 1]]), losses)
    Exploration(suffix_failure=1.0, minimum_fraction=0.5, greedy_fraction=0.0)
    """
    actions = np.asarray(actions)
    losses = np.asarray(losses, float)
    fits = losses.ndim == 3 and actions.shape == losses.shape[:2] and min(losses.shape) >= 1
    checks.shape("actions", actions, f"{losses.shape[:2]} to match losses (n, T, d)", fits)
    measures = measure_episodes(actions, losses, losses.sum(1).argmin(1), bandit=bandit)
    return Exploration(*measures.mean(0).tolist())


def measure_episodes(
    actions: Int[Array, "n T"],
    losses: Float[Array, "n T d"],
    best: Int[Array, "n"],
    *,
    bandit: bool,
) -> Float[Array, "n 3"]:
    """Compute the exploration measures of each episode, given its best action; see `exploration`."""
    n, rounds, d = losses.shape
    drawn = np.eye(d)[actions]
    shown = drawn if bandit else np.ones_like(losses)
    seen = shown * losses
    counts = shown.cumsum(1) - shown
    sums = seen.cumsum(1) - seen
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
    own = np.take_along_axis(means, actions[..., None], -1)[..., 0]
    # ties count as greedy, but an action whose loss has not been seen does not
    greedy = np.isfinite(own) & (own <= means.min(-1) + 1e-12)
    failed = drawn[np.arange(n), rounds // 2 :, best].sum(1) == 0
    minimum = d * drawn.sum(1).min(1) / rounds
    return np.stack([failed, minimum, greedy.mean(1)], 1)
