r"""What others would have done on the same losses: Hedge, Blum-Mansour, the best possible policy, uniform play.

They are told what a designer would know: the rounds $T$ of an episode and the range $[a, a + w]$ of its losses. Hedge
plays on $(\ell - a)/w$ with step $\sqrt{8 \ln d / T}$, Blum-Mansour's copies with $d \sqrt{2 \ln d / T}$; the best
possible policy (`regrax.theory.Optimal`) on $\ell / \sigma$, $\sigma^2$ the mean variance within a round.
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from regrax.learners import (
    BlumMansour,
    Hedge,
    Learner,
    Round,
    Seats,
    Uniform,
    given_losses,
    init_seats,
    scan_rounds,
)
from regrax.theory import Optimal

Pieces = Callable[[], Iterator[Float[np.ndarray, "n t d"]]]
NAMES = ("hedge", "blum_mansour", "best possible", "uniform")


def baselines(actions: int, rounds: int) -> dict[str, Learner]:
    """The learners, tuned to losses of unit range (of unit variance for the best possible policy).

    >>> str(baselines(3, 20)["hedge"])
    'hedge(0.6629...)'
    """
    root = max(np.log(actions), 1e-9) / rounds
    return {
        "hedge": Hedge(float((8 * root) ** 0.5)),
        "blum_mansour": BlumMansour(Hedge(float(actions * (2 * root) ** 0.5)), tolerance=1e-6),
        "best possible": Optimal(float(rounds)),
        "uniform": Uniform(),
    }


def scales(pieces: Pieces) -> dict[str, tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]]:
    """For every baseline the shift and the factor that bring each episode's losses to the scale it expects."""
    low, high, variance, rounds = np.inf, -np.inf, 0.0, 0
    for losses in pieces():
        low = np.minimum(low, losses.min((1, 2)))
        high = np.maximum(high, losses.max((1, 2)))
        ddof = min(1, losses.shape[2] - 1)
        variance = variance + losses.var(2, ddof=ddof).sum(1)
        rounds += losses.shape[1]
    low, width = np.asarray(low), np.asarray(high - low)
    deviation = np.sqrt(variance / rounds)
    ranged = low, np.where(width > 0, width, 1.0)
    spread = low, np.where(deviation > 0, deviation, 1.0)
    return {name: spread if name == "best possible" else ranged for name in NAMES}


def policies(
    learner: Learner,
    pieces: Pieces,
    scale: tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]],
) -> Iterator[tuple[Float[np.ndarray, "n t d"], Float[np.ndarray, "n t d"]]]:
    """Play `learner` on the episodes, and give for each piece its policies and the losses as they were."""
    state: PyTree = None
    for losses in pieces():
        n, t, d = losses.shape
        few = n <= 64 and t <= 1024
        size = _padded(max(n, 8) if few else n), _padded(max(t, 64) if few else t), d
        shown = (losses - scale[0][:, None, None]) / scale[1][:, None, None]
        padded = np.zeros(size)
        padded[:n, :t] = shown
        if state is None:
            state = _start(learner, size[0], d)
        state, played = _advance(learner, state, jnp.asarray(padded, float))
        yield np.asarray(played, float)[:n, :t], losses


def _start(learner: Learner, n: int, d: int) -> PyTree:
    return jax.vmap(lambda _: init_seats((learner,), (d,), None, None))(jnp.zeros(n))


@jax.jit
def _advance(
    learner: Learner, seats: Seats, losses: Float[Array, "n t d"]
) -> tuple[Seats, Float[Array, "n t d"]]:
    """Play `t` rounds of `n` episodes."""

    def one(seats: Seats, losses: Float[Array, "t d"]) -> tuple[Seats, Round]:
        return scan_rounds((learner,), given_losses, seats, len(losses), losses)

    seats, rows = jax.vmap(one)(seats, losses)
    return seats, rows.policies[0]


def _padded(count: int) -> int:
    """At most an eighth more, of few sizes: few compilations."""
    unit = 1 << max(0, count.bit_length() - 4)
    return -(-count // unit) * unit
