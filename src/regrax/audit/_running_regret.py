r"""Regret from sums: what the regrets of an episode need of it, in memory that does not grow with its rounds.

With $M = \sum_t \pi_t \ell_t^\top$, $S = \sum_t \ell_t$ and $c_t = \langle \ell_t, \pi_t \rangle$,

    external  sum_t c_t - min_j S_j          internal  max_ij (M_ii - M_ij)
    swap      sum_i (M_ii - min_j M_ij)      dynamic   sum_t c_t - sum_t min_j l_tj

as in `regrax.regret`; dynamic regret compares with the best action of every round. Arrays carry `n` episodes of equal
length side by side.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

KINDS = ("external", "internal", "swap", "dynamic")


class Sums:
    """Running sums of `n` episodes over `d` actions.

    >>> sums = Sums(1, 2)
    >>> sums.add(np.eye(2)[None], np.array([[[3.0, 2.0], [0.0, 5.0]]]))
    >>> sums.regrets().tolist()
    [[5.0, 5.0, 6.0, 6.0]]
    """

    def __init__(self, n: int, d: int) -> None:
        self.rounds = 0
        self.suffered = np.zeros(n)
        self.totals = np.zeros((n, d))
        self.matrix = np.zeros((n, d, d))
        self.least = np.zeros(n)
        self.most = np.zeros(n)

    def add(self, played: Float[np.ndarray, "n t d"], losses: Float[np.ndarray, "n t d"]) -> None:
        """Add `t` rounds."""
        self.rounds += played.shape[1]
        self.suffered += np.einsum("ntd,ntd->n", played, losses)
        self.totals += losses.sum(1)
        self.matrix += played.swapaxes(1, 2) @ losses
        self.least += losses.min(2).sum(1)
        self.most += losses.max(2).sum(1)

    def gains(self) -> Float[np.ndarray, "n d d"]:
        """`M_ii - M_ij`: what playing `j` wherever `i` was played would have saved."""
        return np.diagonal(self.matrix, axis1=1, axis2=2)[:, :, None] - self.matrix

    def regrets(self) -> Float[np.ndarray, "n 4"]:
        """The regrets so far, in the order of `KINDS`."""
        gains = self.gains()
        external = self.suffered - self.totals.min(1)
        swap = gains.max(2).sum(1)
        return np.stack([external, gains.max((1, 2)), swap, self.suffered - self.least], 1)


def walk(
    pieces: Iterable[tuple[Float[np.ndarray, "n t d"], Float[np.ndarray, "n t d"]]],
    stops: Sequence[int],
    sums: Sums,
) -> Float[np.ndarray, "stops n 4"]:
    """Add all rounds to `sums`, and give the regrets after each of the rounds `stops`, which rise."""
    found, waiting = [], list(stops)
    for played, losses in pieces:
        done, end = 0, played.shape[1]
        start = sums.rounds
        for stop in [s - start for s in waiting if s - start <= end]:
            sums.add(played[:, done:stop], losses[:, done:stop])
            found.append(sums.regrets())
            done = stop
        waiting = waiting[len(found) - (len(stops) - len(waiting)) :]
        if done < end:
            sums.add(played[:, done:], losses[:, done:])
    return np.array(found).reshape(len(stops), *sums.regrets().shape)


def checkpoints(rounds: int, count: int = 48) -> list[int]:
    """Rounds at which curves are drawn: all of a short episode, denser at the start of a long one.

    >>> checkpoints(3), len(checkpoints(10**6)), checkpoints(10**6)[-1]
    ([1, 2, 3], 46, 1000000)
    """
    if rounds <= count:
        return list(range(1, rounds + 1))
    return sorted({round(x) for x in np.geomspace(1, rounds, count)})
