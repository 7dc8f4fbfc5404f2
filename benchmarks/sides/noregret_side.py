"""noregret: its own regret minimisers and games, which have two players."""

from collections.abc import Callable
from typing import Any

import numpy as np
from games import COMPARED, payoffs
from noregret.games import TwoPlayerZeroSumNormalFormGame
from noregret.regret_minimizers import BlumMansour, MultiplicativeWeightsUpdate
from worker import serve


def self_play(seat: Callable[[int], Any], actions: int, rounds: int) -> Callable[[], list]:
    """Play rounds in which both players observe their utilities against the other's strategy."""
    names = [range(actions), range(actions)]
    game = TwoPlayerZeroSumNormalFormGame(names, payoffs(actions)[0])

    def run() -> list:
        seats = [seat(actions), seat(actions)]
        for _ in range(rounds):
            now = [minimiser.next_strategy() for minimiser in seats]
            for n, minimiser in enumerate(seats):
                minimiser.observe_utility(game.utility(n, now[1 - n]))
        kept = seats[0].strategies
        return np.asarray(kept[COMPARED]).tolist() if rounds > COMPARED else []

    return run


def hedge(actions: int, rounds: int, step: float, bits: int = 32) -> Callable[[], list]:
    """Play in double precision, which is the only option."""
    return self_play(lambda d: MultiplicativeWeightsUpdate(d, step), actions, rounds)


def blum_mansour(actions: int, rounds: int, step: float, bits: int = 32) -> Callable[[], list]:
    """Play in double precision, which is the only option."""
    return self_play(
        lambda d: BlumMansour(d, lambda d: MultiplicativeWeightsUpdate(d, step)), actions, rounds
    )


if __name__ == "__main__":
    serve({"hedge": hedge, "blum_mansour": blum_mansour})
