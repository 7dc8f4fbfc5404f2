"""OpenSpiel: regret matching, since it has no Hedge for matrix games."""

from collections.abc import Callable

from games import payoffs
from open_spiel.python.algorithms.regret_matching import regret_matching
from worker import serve


def matching(actions: int, rounds: int, players: int = 2) -> Callable[[], list]:
    """Play regret matching as every player."""
    tables = list(payoffs(actions, players))

    def run() -> list:
        regret_matching(tables, iterations=rounds)
        return []

    return run


if __name__ == "__main__":
    serve({"regret_matching": matching})
