"""LiteEFG: Hedge as a graph for its C++ engine, with the matrix game written as a game tree."""

import os
import tempfile
from collections.abc import Callable

os.environ["HOME"] = tempfile.mkdtemp()  # where it keeps game trees

import LiteEFG as leg
import pyspiel
from games import COMPARED, payoffs
from worker import serve

leg.set_threads(1)


class Hedge(leg.Graph):
    """Play softmax(step U) at every information set, where U is the sum of utilities."""

    def __init__(self, step: float) -> None:
        super().__init__()
        with leg.backward(is_static=True):
            self.strategy = leg.const(self.action_set_size, 1.0 / self.action_set_size)
            self.total = leg.const(self.action_set_size, 0.0)
        with leg.backward():
            self.total.inplace(self.total + self.utility)
            weights = ((self.total - self.total.max()) * step).exp()
            self.strategy.inplace(weights / weights.sum())


def hedge(actions: int, rounds: int, step: float, bits: int = 32) -> Callable[[], list]:
    """Continue from the last round of the run before, at the same cost per round; always in double precision."""
    first, second = payoffs(actions)
    graph = Hedge(step)
    tree = leg.OpenSpielEnv(
        pyspiel.create_matrix_game(first.tolist(), second.tolist()), regenerate=True
    )
    tree.set_graph(graph)
    for _ in range(COMPARED):
        tree.update(graph.strategy)
    played = leg.FileEnv.get_strategy(tree, 1, graph.strategy)[0][1]

    def run() -> list:
        for _ in range(rounds):
            tree.update(graph.strategy)
        return played

    return run


if __name__ == "__main__":
    serve({"hedge": hedge})
