"""Measure how the cost of exact worst cases grows: `python -m benchmarks.worst_case` prints seconds and slopes."""

import time
from collections.abc import Callable

import numpy as np

import regrax as rx
from regrax import theory

ROUNDS = {
    2: (625, 1250, 2500, 5000, 10_000),
    3: (25, 50, 100, 200),
    4: (10, 20, 40),
    5: (5, 10, 20),
}


def seconds(compute: Callable[[], object]) -> float:
    """Return the processor seconds of a second call, which compiles nothing."""
    compute()
    start = time.process_time()
    compute()
    return time.process_time() - start


def main() -> None:
    """Print a row per size, and the slope over each number of actions in log-log coordinates."""
    print(f"{'actions':>7} {'rounds':>7} {'minimax':>9} {'Hedge':>9} {'Optimal':>9}")
    for actions, sizes in ROUNDS.items():
        table = []
        for rounds in sizes:
            hedge = rx.Hedge(np.sqrt(8 * np.log(actions) / rounds))
            optimal = rx.Optimal(rounds, 0.68)
            costs = [
                seconds(lambda a=actions, t=rounds: theory.minimax(a, t)),
                seconds(lambda a=actions, t=rounds, who=hedge: theory.worst_case(who, a, t)),
                seconds(lambda a=actions, t=rounds, who=optimal: theory.worst_case(who, a, t)),
            ]
            table.append(costs)
            print(
                f"{actions:7} {rounds:7} " + " ".join(f"{cost:9.2f}" for cost in costs), flush=True
            )
        slopes = np.polyfit(np.log(sizes[-2:]), np.log(table[-2:]), 1)[0]
        print(f"{'':8}{'slope':>7} " + " ".join(f"{slope:9.2f}" for slope in slopes), flush=True)


if __name__ == "__main__":
    main()
