"""Time the exact step size and the curvature for growing sizes: `python -m benchmarks.theory` prints a table."""

import math
import time

from regrax import theory
from regrax.theory.quadrature import round_nodes
from regrax.theory.steps import _scaled_root

ACTIONS = (2, 3, 10, 100, 1000, 10**4, 10**6)
HORIZONS = (2, 20, 100, 1000, 10**6, math.inf)
CURVATURES = ((3, 20), (100, 1000), (1000, 10**6), (10**6, math.inf))
REPEATS = 3


def milliseconds(actions: int, horizon: int | float) -> float:
    """Return the milliseconds of the fastest of a few calls, without cached results."""
    return 1000 * min(_once(actions, horizon) for _ in range(REPEATS))


def _once(actions: int, horizon: int | float) -> float:
    _scaled_root.cache_clear()
    round_nodes.cache_clear()
    start = time.perf_counter()
    theory.step_size(actions, horizon)
    return time.perf_counter() - start


def main() -> None:
    """Print milliseconds by actions (rows) and rounds (columns)."""
    theory.step_size(3, 20)  # imports scipy
    for actions, horizon in CURVATURES:
        start = time.perf_counter()
        theory.curvature(actions, horizon)
        print(f"curvature({actions}, {horizon}): {time.perf_counter() - start:.2f} s", flush=True)
    print("step_size in ms; rows: actions, columns: rounds")
    print(" " * 9 + "".join(f"{horizon:>9}" for horizon in HORIZONS))
    for actions in ACTIONS:
        times = [milliseconds(actions, horizon) for horizon in HORIZONS]
        print(f"{actions:>9}" + "".join(f"{cost:9.1f}" for cost in times), flush=True)


if __name__ == "__main__":
    main()
