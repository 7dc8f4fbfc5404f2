"""Where the fast paths begin to pay: `python -m benchmarks.thresholds` prints how much faster each is, size by size.

Every case runs in two processes, one with `REGRAX_FAST_PATHS=0`, turn about; the ratio is plain over fast. A threshold
of `regrax/_fast_paths.py` is right if the ratio passes 1 there.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

SIZES = {
    "games": (8, 16, 48, 96),
    "actions": (4, 8, 12, 16),
    "heads": (8, 16, 32, 64),
    "large": (128, 256, 512),
}
REPEATS = 5


def games(count: int) -> Callable[[], object]:
    """Hedge in `count` games of 10 x 10 at once."""
    import jax
    import numpy as np

    import regrax as rx

    payoffs = np.random.default_rng(0).normal(size=(count, 2, 10, 10))
    many = jax.jit(jax.vmap(lambda table: rx.play(rx.Game(table), rx.Hedge(0.1), 300).policies))
    return lambda: jax.block_until_ready(many(payoffs))


def actions(size: int) -> Callable[[], object]:
    """One game of `size` actions each, in blocks of rounds or not."""
    import regrax as rx

    game = rx.games.random(size, size)
    return lambda: rx.play(game, rx.Hedge(0.1), 20_000)


def heads(size: int) -> Callable[[], object]:
    """The softmaxes of the copies of Blum-Mansour."""
    import regrax as rx

    game = rx.games.random(size, size)
    return lambda: rx.play(game, rx.BlumMansour(rx.Hedge(1.0)), 1000)


def large(size: int) -> Callable[[], object]:
    """One table of a zero-sum game instead of two, and joint play in single precision."""
    import numpy as np

    import regrax as rx

    game = rx.games.zero_sum(np.random.default_rng(0).normal(size=(size, size)))
    return lambda: rx.play(game, rx.Hedge(0.1), 240)


CASES = {"games": games, "actions": actions, "heads": heads, "large": large}


def seconds(case: str, size: int) -> float:
    """CPU seconds of the fastest of a few runs, after one that compiles."""
    run = CASES[case](size)
    run()
    times = []
    for _ in range(3):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def measured(case: str, size: int, fast: bool) -> float:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.thresholds", case, str(size)]
    here = {**os.environ, "REGRAX_FAST_PATHS": str(int(fast))}
    return json.loads(subprocess.run(command, env=here, capture_output=True, check=True).stdout)


def main() -> None:
    """Print the table."""
    for case, sizes in SIZES.items():
        for size in sizes:
            ratios = [
                measured(case, size, False) / measured(case, size, True) for _ in range(REPEATS)
            ]
            print(f"{case:8} {size:4} {median(ratios):6.2f}", flush=True)


if __name__ == "__main__":
    print(seconds(sys.argv[1], int(sys.argv[2]))) if len(sys.argv) > 2 else main()
