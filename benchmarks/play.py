"""Self-play by `regrax.play` against numpy: `python -m benchmarks.play [--repeats N] [--json FILE] [ROW ...]`.

Both sides play the same random zero-sum games (where play keeps moving: in most others it soon settles on a pure
equilibrium, and fixed points become trivial), on one thread, turn about, and keep every policy and loss. A ratio is the
median over repeats of numpy's time over regrax's in neighbouring measurements, of CPU time, which does not count
what others do on the machine, and of wall time beside it. Before anything is timed both sides must have played the same
policies, and Blum-Mansour must have met its residual in every round.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import regrax as rx
from benchmarks import numpy_play

COMPARED = 100
"""How many first rounds must agree; later on rounding grows apart, as the dynamics do not forget it."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    learner: str
    actions: int
    rounds: int
    games: int = 1
    bits: int = 32
    needed: float | None = None  # the ratio asked for

    @property
    def step(self) -> float:
        """The classical step of this horizon; times the number of heads, as they share the losses."""
        heads = self.actions if self.learner == "blum_mansour" else 1
        return heads * math.sqrt(2 * math.log(self.actions) / self.rounds)

    @property
    def residual(self) -> float:
        """Where Blum-Mansour may stop."""
        return 1e-6 if self.bits == 32 else 1e-10


ROWS = (
    Row("hedge 10x10", "hedge", 10, 10_000, needed=15),
    Row("hedge 100x100", "hedge", 100, 5_000, needed=2),
    Row("blum-mansour 10x10", "blum_mansour", 10, 5_000, needed=20),
    Row("blum-mansour 100x100", "blum_mansour", 100, 1_000, needed=6),
    Row("blum-mansour 10x10 float64", "blum_mansour", 10, 5_000, bits=64),
    Row("blum-mansour 100x100 float64", "blum_mansour", 100, 1_000, bits=64),
    Row("hedge 10x10, 64 games", "hedge", 10, 1_000, games=64, needed=4),
    Row("blum-mansour 10x10, 64 games", "blum_mansour", 10, 250, games=64),
)


class Seconds(NamedTuple):
    """One measurement."""

    cpu: float
    wall: float


@dataclass(frozen=True)
class Result:
    """What a row measured. Microseconds are CPU time a round (of all games)."""

    row: str
    first_call: float  # CPU seconds of tracing, compiling and playing once
    numpy_median: float
    numpy_min: float
    regrax_median: float
    regrax_min: float
    ratio: float
    ratio_of_min: float
    wall_ratio: float
    needed: float | None
    difference: float  # the largest between the policies of both sides, over the first rounds
    residual: float | None  # the largest ||P pi - pi||_1 of all rounds, for Blum-Mansour


def main() -> None:
    """Measure the rows asked for; print them, write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    results = []
    print(_header())
    for row in ROWS:
        if not arguments.rows or any(word in row.name for word in arguments.rows):
            with jax.enable_x64(row.bits == 64):
                results.append(measure(row, arguments.repeats))
            print(_line(results[-1]), flush=True)
    if arguments.json:
        versions = {"jax": jax.__version__, "numpy": np.__version__}
        rows = [asdict(result) for result in results]
        arguments.json.write_text(json.dumps(versions | {"rows": rows}, indent=2) + "\n")


def measure(row: Row, repeats: int) -> Result:
    """Check that both sides play alike, then time them turn about."""
    payoffs = np.stack([_payoffs(row.actions, seed) for seed in range(row.games)])
    ours, theirs = _ours(row, payoffs), _theirs(row, payoffs)
    first_call = _time(ours).cpu
    difference, residual = _check(row, ours(), theirs(COMPARED))
    pairs = [(_time(lambda: theirs(row.rounds)), _time(ours)) for _ in range(repeats)]
    slow, fast = ([s.cpu * 1e6 / row.rounds for s in side] for side in zip(*pairs, strict=True))
    return Result(
        row=row.name,
        first_call=first_call,
        numpy_median=median(slow),
        numpy_min=min(slow),
        regrax_median=median(fast),
        regrax_min=min(fast),
        ratio=median(a.cpu / b.cpu for a, b in pairs),
        ratio_of_min=min(slow) / min(fast),
        wall_ratio=median(a.wall / b.wall for a, b in pairs),
        needed=row.needed,
        difference=difference,
        residual=residual,
    )


def _payoffs(actions: int, seed: int) -> Any:
    return rx.games.random_zero_sum(actions, actions, seed=seed).payoffs


def _learner(row: Row) -> rx.Learner:
    return rx.Hedge(row.step) if row.learner == "hedge" else rx.BlumMansour(rx.Hedge(row.step))


def _ours(row: Row, payoffs: np.ndarray) -> Callable[[], rx.Trajectory]:
    learner = _learner(row)
    if row.games == 1:
        game = rx.Game(payoffs[0])
        return lambda: jax.block_until_ready(rx.play(game, learner, row.rounds))
    many = jax.jit(jax.vmap(lambda tables: rx.play(rx.Game(tables), learner, row.rounds)))
    tables = jnp.asarray(payoffs, float)
    return lambda: jax.block_until_ready(many(tables))


def _theirs(row: Row, payoffs: np.ndarray) -> Callable[[int], numpy_play.Played]:
    payoffs = payoffs.astype(np.float32 if row.bits == 32 else np.float64)
    first, second = -payoffs[:, 0], np.ascontiguousarray(-payoffs[:, 1].swapaxes(1, 2))
    if row.games == 1:
        play = getattr(numpy_play, row.learner)
        return lambda rounds: play(first[0], second[0], row.step, rounds)
    play_many = getattr(numpy_play, f"many_{row.learner}")
    return lambda rounds: play_many(first, second, row.step, rounds)


def _check(row: Row, ours: rx.Trajectory, theirs: numpy_play.Played) -> tuple[float, float | None]:
    """The largest difference between the sides and the largest residual; an error if one is too large."""
    rounds_axis = 0 if row.games == 1 else 1
    mine = [np.moveaxis(np.asarray(side), rounds_axis, 0)[:COMPARED] for side in ours.policies]
    difference = max(float(np.abs(a - b).max()) for a, b in zip(mine, theirs[:2], strict=True))
    if difference > (1e-4 if row.bits == 32 else 1e-8):
        raise RuntimeError(f"{row.name}: policies differ from numpy's by {difference:.1e}")
    residual = None if row.learner == "hedge" else _residual(row, ours)
    if residual is not None and residual > row.residual:
        raise RuntimeError(f"{row.name}: the residual is {residual:.1e}, above {row.residual}")
    return difference, residual


def _residual(row: Row, ours: rx.Trajectory) -> float:
    """Play the same losses again, and in every round hold the policy against the matrix of its heads."""
    learner = rx.BlumMansour(rx.Hedge(row.step))

    def residuals(losses: jax.Array) -> jax.Array:
        def step(state: Any, loss: jax.Array) -> tuple[Any, jax.Array]:
            columns = jax.vmap(learner.base.policy)(state.heads).T
            pi = learner.policy(state)
            return learner.update(state, loss), jnp.abs(columns @ pi - pi).sum()

        return jax.lax.scan(step, learner.init(row.actions, row.rounds), losses)[1]

    replay = jax.jit(residuals if row.games == 1 else jax.vmap(residuals))
    return max(float(replay(losses).max()) for losses in ours.losses)


def _time(run: Callable[[], Any]) -> Seconds:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def _header() -> str:
    columns = ("first call", "numpy (min)", "regrax (min)", "ratio (min)", "wall", "needed")
    return f"{'a round':<30}" + "".join(f"{column:>18}" for column in columns)


def _line(result: Result) -> str:
    columns = (
        f"{result.first_call:.2f} s",
        f"{result.numpy_median:.1f} ({result.numpy_min:.1f}) us",
        f"{result.regrax_median:.2f} ({result.regrax_min:.2f}) us",
        f"{result.ratio:.1f}x ({result.ratio_of_min:.1f}x)",
        f"{result.wall_ratio:.1f}x",
        "" if result.needed is None else f"{result.needed:g}x",
    )
    solved = "" if result.residual is None else f"   residual {result.residual:.0e}"
    return f"{result.row:<30}" + "".join(f"{column:>18}" for column in columns) + solved


if __name__ == "__main__":
    main()
