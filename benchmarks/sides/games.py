"""Games that every side plays, and the rounds compared; play in random zero-sum games keeps moving."""

import numpy as np
from numpy.typing import NDArray

COMPARED = 50  # the round whose policies must agree; later on rounding grows apart, as the dynamics do not forget it


def weighted_rps(dtype: type = float) -> NDArray:
    """Return the paper's game."""
    table = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]], dtype) / dtype(3)
    return np.stack([table, -table])


def payoffs(actions: int, players: int = 2, seed: int = 0) -> NDArray[np.float64]:
    """Draw payoffs of shape `(players, actions, ...)`: zero-sum for two players, independent for more."""
    rng = np.random.default_rng(seed)
    if players > 2:
        return rng.uniform(0, 1, (players, *[actions] * players))
    table = rng.uniform(-1, 1, (actions, actions))
    return np.stack([table, -table])
