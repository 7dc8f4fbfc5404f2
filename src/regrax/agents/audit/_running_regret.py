r"""Regret from sums: what the regrets of an episode need of it, in memory that does not grow with its rounds.

External, internal and swap regret follow from $M = \sum_t \pi_t \ell_t^\top$ (`regrax.regret`); dynamic regret
$\sum_t \langle \ell_t, \pi_t \rangle - \sum_t \min_j \ell_{t,j}$ compares with the best action of every round. Arrays
carry `n` episodes of equal length side by side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax.regret import external_of, gains_of, internal_of, swap_of

KINDS = ("external", "internal", "swap", "dynamic")
Piece = tuple[Float[np.ndarray, "n t d"], Float[np.ndarray, "n t d"]]


@dataclass
class Sums:
    """Running sums of episodes; `least` and `most` are of the smallest and the largest loss of every round.

    >>> sums = Sums()
    >>> sums.add(np.eye(2)[None], np.array([[[3.0, 2.0], [0.0, 5.0]]]))
    >>> sums.regrets().tolist()
    [[5.0, 5.0, 6.0, 6.0]]
    """

    rounds: int = 0
    matrix: Any = 0.0  # (n, d, d)
    least: Any = 0.0  # (n,)
    most: Any = 0.0

    def add(self, played: Float[np.ndarray, "n t d"], losses: Float[np.ndarray, "n t d"]) -> None:
        """Add `t` rounds."""
        self.rounds += played.shape[1]
        self.matrix += played.swapaxes(1, 2) @ losses
        self.least += losses.min(2).sum(1)
        self.most += losses.max(2).sum(1)

    @property
    def suffered(self) -> Float[np.ndarray, "n"]:
        """What the play of every episode lost."""
        return np.trace(self.matrix, axis1=1, axis2=2)

    def regrets(self) -> Float[np.ndarray, "n 4"]:
        """The regrets so far, in the order of `KINDS`."""
        gains = gains_of(self.matrix)
        dynamic = self.suffered - self.least
        return np.stack([external_of(gains), internal_of(gains), swap_of(gains), dynamic], 1)


def walk(pieces: Iterable[Piece], stops: Sequence[int]) -> tuple[Float[np.ndarray, "n s 4"], Sums]:
    """The regrets after each of the rounds `stops` that there are, which rise, and the sums over all rounds."""
    found, sums = [], Sums()
    for played, losses in pieces:
        start, done, end = sums.rounds, 0, played.shape[1]
        for stop in [s - start for s in stops[len(found) :] if s - start <= end]:
            sums.add(played[:, done:stop], losses[:, done:stop])
            found.append(sums.regrets())
            done = stop
        if done < end:
            sums.add(played[:, done:], losses[:, done:])
    return np.stack(found, 1), sums


@cache
def checkpoints(rounds: int, count: int = 48) -> list[int]:
    """Rounds at which curves are drawn: all of a short episode, denser at the start of a long one.

    >>> checkpoints(3), len(checkpoints(10**6)), checkpoints(10**6)[-1]
    ([1, 2, 3], 46, 1000000)
    """
    if rounds <= count:
        return list(range(1, rounds + 1))
    return sorted({round(x) for x in np.geomspace(1, rounds, count)})
