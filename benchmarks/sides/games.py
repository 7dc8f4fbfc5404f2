"""The games that every side plays, and where each is compared: random zero-sum, in which play keeps moving."""

import numpy as np
from numpy.typing import NDArray

COMPARED = 50  # the round whose policies must agree; later on rounding grows apart, as the dynamics do not forget it


def weighted_rps(dtype: type = float) -> NDArray:
    """The paper's game."""
    table = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]], dtype) / dtype(3)
    return np.stack([table, -table])


def payoffs(actions: int, players: int = 2, seed: int = 0) -> NDArray[np.float64]:
    """Payoffs of all players, `(players, actions, ...)`: zero-sum for two, independent for more."""
    rng = np.random.default_rng(seed)
    if players > 2:
        return rng.uniform(0, 1, (players, *[actions] * players))
    table = rng.uniform(-1, 1, (actions, actions))
    return np.stack([table, -table])
