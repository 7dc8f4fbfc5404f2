"""QuantEcon: fictitious play, since it has no Hedge."""

from collections.abc import Callable

import numpy as np
from games import payoffs
from quantecon.game_theory import FictitiousPlay, NormalFormGame, Player
from worker import serve


def fictitious_play(actions: int, rounds: int) -> Callable[[], list]:
    """Play from the first actions."""
    first, second = payoffs(actions)
    game = FictitiousPlay(NormalFormGame([Player(first), Player(np.ascontiguousarray(second.T))]))

    def run() -> list:
        game.time_series(rounds, init_actions=(0, 0))
        return []

    return run


if __name__ == "__main__":
    serve({"fictitious_play": fictitious_play})
