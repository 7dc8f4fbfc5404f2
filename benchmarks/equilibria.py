"""Time equilibria and gaps on one core: `python -m benchmarks.equilibria` prints a table.

Each row is the best of several runs, in wall time and in CPU time, which ignores other work on the machine.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from regrax import games
from regrax.games import CorrelatedProfile, play, pure_equilibria, solve
from regrax.specs import parse_learner

DYNAMICS = "regret_matching_plus()"
ROUNDS = 10_000


class Took(NamedTuple):
    """Seconds."""

    wall: float
    cpu: float


class Row(NamedTuple):
    """A line of the table."""

    what: str
    took: Took
    target: str = "-"


def best_of(repeats: int, call: Callable[[], Any]) -> Took:
    """Return the shortest of several timings."""
    took = [_timed(call)[0] for _ in range(repeats)]
    return Took(min(t.wall for t in took), min(t.cpu for t in took))


def _timed(call: Callable[[], Any]) -> tuple[Took, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = jax.block_until_ready(call())
    return Took(time.perf_counter() - wall, time.process_time() - cpu), result


def gaps() -> list[Row]:
    """Time each gap of 100 x 100 joint play, called as a user would."""
    game = games.random(100, 100)
    weights = np.random.default_rng(0).dirichlet(np.ones(10_000)).reshape(100, 100)
    joint = jnp.asarray(weights, float)
    rows = []
    for name in ("cce_gap", "ce_gap", "swap_gap", "nash_gap"):
        gap = getattr(games, name)
        gap(joint, game)
        took = best_of(200, lambda gap=gap: gap(joint, game))
        rows.append(Row(f"{name} of 100 x 100 play", took, "1 ms"))
    return rows


def programs() -> list[Row]:
    """Time exact equilibria of a 30 x 30 general-sum game without pure equilibria, which need no linear program."""
    game = next(
        g for g in (games.random(30, 30, seed=s) for s in range(99)) if not pure_equilibria(g)
    )
    rows = []
    for concept, objective, target in (
        ("ce", "any", "2 s"),
        ("ce", "welfare", "2 s"),
        ("ce", "minimum", "2 s"),
        ("cce", "welfare", "2 s"),
        ("ce", "entropy", "-"),
        ("cce", "entropy", "-"),
    ):
        took = best_of(3, lambda c=concept, o=objective: solve(game, c, o).joint)
        gap = solve(game, concept, objective).gap(concept)
        rows.append(Row(f"{concept}, {objective}, {game.name} (gap {gap:.0e})", took, target))
    took = best_of(3, lambda: solve(games.random(8, 8), "nash", "welfare").joint)
    return [*rows, Row("all Nash equilibria, random(8, 8)", took)]


def dynamics() -> list[Row]:
    """Time regret dynamics in a 1,000 x 1,000 zero-sum game, including compilation, and its gap in double precision."""
    game = games.random_zero_sum(1000, 1000)
    took, joint = _timed(lambda: play(game, parse_learner(DYNAMICS), ROUNDS).joint)
    gap = CorrelatedProfile(joint, game).gap("cce")
    what = f"{DYNAMICS}, {ROUNDS} rounds of {game.name} (CCE gap {gap:.1e})"
    return [Row(what, took, "60 s, gap 1e-03")]


def _text(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.01 else f"{1e3 * seconds:.3f} ms"


def main() -> None:
    """Measure and print."""
    print(f"{'':<80}{'wall':>9}{'cpu':>10}   target")
    for measure in (gaps, programs, dynamics):
        for what, took, target in measure():
            print(f"{what:<80}{_text(took.wall):>9}{_text(took.cpu):>10}   {target}", flush=True)


if __name__ == "__main__":
    main()
