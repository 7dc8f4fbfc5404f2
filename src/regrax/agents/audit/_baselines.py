r"""What others would have done on the same losses: Hedge, Blum-Mansour, the best possible policy, uniform play.

They are told what a designer would know: the rounds $T$ of an episode and the range $[a, a + w]$ of its losses. Hedge
plays on $(\ell - a)/w$ with step $\sqrt{8 \ln d / T}$, Blum-Mansour's copies with $d \sqrt{2 \ln d / T}$; the best
possible policy (`regrax.theory.Optimal`) on $\ell / \sigma$, $\sigma^2$ the mean variance within a round.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from regrax.learners import Learner

Pieces = Callable[[], Iterator[Float[np.ndarray, "n t d"]]]
NAMES = ("hedge", "blum_mansour", "best possible", "uniform")


def baselines(actions: int, rounds: int) -> "dict[str, Learner]":
    """The learners, tuned to losses of unit range (of unit variance for the best possible policy).

    >>> str(baselines(3, 20)["hedge"])
    'hedge(0.6629...)'
    """
    from regrax.learners import BlumMansour, Hedge, Uniform
    from regrax.theory import Optimal

    root = max(np.log(actions), 1e-9) / rounds
    return {
        "hedge": Hedge(float((8 * root) ** 0.5)),
        "blum_mansour": BlumMansour(Hedge(float(actions * (2 * root) ** 0.5)), tolerance=1e-6),
        "best possible": Optimal(float(rounds)),
        "uniform": Uniform(),
    }


def scales(pieces: Pieces) -> tuple[Float[np.ndarray, "n"], ...]:
    """The least loss of every episode, the range of its losses, and the mean deviation within a round."""
    parts = [(l.min(2), l.max(2), l.var(2, ddof=min(1, l.shape[2] - 1))) for l in pieces()]
    low, high, variance = (np.concatenate(part, 1) for part in zip(*parts, strict=True))
    return low.min(1), high.max(1) - low.min(1), variance.mean(1) ** 0.5


def policies(
    learner: "Learner", pieces: Pieces, low: Float[np.ndarray, "n"], scale: Float[np.ndarray, "n"]
) -> Iterator[tuple[Float[np.ndarray, "n t d"], Float[np.ndarray, "n t d"]]]:
    """Play `learner` on the episodes, and give for each piece its policies and the losses as they were."""
    from regrax.agents.audit import _replay as replay  # which imports jax

    state: Any = None
    factor = np.where(scale > 0, scale, 1.0)[:, None, None]
    for losses in pieces():
        n, t, d = losses.shape
        few = n <= 64 and t <= 1024
        size = _padded(max(n, 8) if few else n), _padded(max(t, 64) if few else t), d
        padded = np.zeros(size)
        padded[:n, :t] = (losses - low[:, None, None]) / factor
        state, played = replay.advance(learner, state, padded)
        yield played[:n, :t], losses


def _padded(count: int) -> int:
    """At most an eighth more, of few sizes: few compilations."""
    unit = 1 << max(0, count.bit_length() - 4)
    return -(-count // unit) * unit
