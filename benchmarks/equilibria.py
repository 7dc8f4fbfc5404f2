"""How long equilibria and gaps take: `python -m benchmarks.equilibria` prints a table, the best of several times."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from regrax import games
from regrax.games import Correlated, play, solve
from regrax.specs import parse_learner

DYNAMICS = "regret_matching_plus()"
ROUNDS = 10_000


def best_of(repeats: int, call: Callable[[], Any]) -> float:
    """The shortest of several timings, in seconds."""
    return min(_timed(call)[0] for _ in range(repeats))


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = jax.block_until_ready(call())
    return time.perf_counter() - start, result


def gaps() -> list[tuple[str, str, str]]:
    """Each gap of 100 x 100 joint play, called as a user calls it."""
    game = games.random(100, 100)
    weights = np.random.default_rng(0).dirichlet(np.ones(10_000)).reshape(100, 100)
    joint = jnp.asarray(weights, float)
    rows = []
    for name in ("cce_gap", "ce_gap", "swap_gap", "nash_gap"):
        gap = getattr(games, name)
        gap(joint, game)
        seconds = best_of(200, lambda gap=gap: gap(joint, game))
        rows.append((f"{name} of 100 x 100 play", f"{1e3 * seconds:.3f} ms", "1 ms"))
    return rows


def programs() -> list[tuple[str, str, str]]:
    """Exact equilibria of 30 x 30 general-sum games."""
    game = games.random(30, 30)
    rows = []
    for concept, objective in (
        ("ce", "any"),
        ("ce", "welfare"),
        ("ce", "minimum"),
        ("ce", "entropy"),
        ("cce", "welfare"),
        ("cce", "entropy"),
    ):
        seconds = best_of(3, lambda c=concept, o=objective: solve(game, c, o).joint)
        gap = solve(game, concept, objective).gap(concept)
        rows.append((f"{concept}, {objective}, 30 x 30 (gap {gap:.0e})", f"{seconds:.2f} s", "2 s"))
    seconds = best_of(3, lambda: solve(games.random(8, 8), "nash", "welfare").joint)
    rows.append(("all Nash equilibria, 8 x 8", f"{seconds:.2f} s", ""))
    return rows


def dynamics() -> list[tuple[str, str, str]]:
    """Regret dynamics on a 1,000 x 1,000 zero-sum game, compilation included, and the gap in double precision."""
    game = games.random_zero_sum(1000, 1000)
    seconds, joint = _timed(lambda: play(game, parse_learner(DYNAMICS), ROUNDS).joint)
    gap = Correlated(joint, game).gap("cce")
    what = f"{DYNAMICS}, {ROUNDS} rounds, 1,000 x 1,000 zero-sum (CCE gap {gap:.1e})"
    return [(what, f"{seconds:.1f} s", "60 s, gap 1e-03")]


def main() -> None:
    """Measure and print."""
    for what, took, target in (*gaps(), *programs(), *dynamics()):
        print(f"{what:<79} {took:>10}   target {target or '-'}", flush=True)


if __name__ == "__main__":
    main()
