"""PyOL: entropic FTRL in its bilinear game."""

from collections.abc import Callable

import numpy as np
from games import COMPARED, payoffs
from pyol.learning_rates import LearningRateConstant
from pyol.oco import EntropyOptimisticFTRL
from pyol.saddle_point import BilinearSaddlePoint
from worker import serve


def hedge(actions: int, rounds: int, step: float, bits: int = 32) -> Callable[[], list]:
    """Play Hedge, always in double precision; the row player minimises."""
    losses = -payoffs(actions)[0]

    def run() -> list:
        seats = [
            EntropyOptimisticFTRL(actions, lr_handler=LearningRateConstant(step)) for _ in range(2)
        ]
        game = BilinearSaddlePoint(losses, *seats)
        kept = [game.update() for _ in range(rounds)]
        return np.asarray(kept[COMPARED][0]).tolist() if rounds > COMPARED else []

    return run


if __name__ == "__main__":
    serve({"hedge": hedge})
