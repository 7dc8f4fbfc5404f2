"""Training against PyTorch's eager mode: `python -m benchmarks.training [--repeats N] [--limit SECONDS]`.

Both sides draw fresh Gaussian losses in every step, compute the plain squared regret and its gradient, and move by
Adam, on one thread, turn about; a ratio is the median of torch's CPU time over ours in neighbouring measurements. Time
to quality runs from random parameters to policies within 0.4 % (total variation) of FTRL at the exact step (ours must
find the step within 0.5 % as well): torch with its default rate, and with the best of those tried; ours with the plain
loss, and with the conditional mean, whose target is the known optimum. Compiling is apart, in the last column.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import jax
import numpy as np

from benchmarks.peer import Peer
from regrax.attention import LinearAttention, Model, Transformer
from regrax.theory import step_size
from regrax.training import HindsightObjective, Objective, RegretObjective, fit, fit_step_size
from regrax.training.recipes import adam

ACTIONS, HORIZON = 3, 20
QUALITY = 0.004  # total variation
USUAL = 0.001  # torch's default rate
KEY = jax.random.key(0)


def trainer(model: Model, objective: Objective, steps: int, **more: Any) -> Callable[[], Any]:
    """A training of this many steps, to be called again and again."""
    optimizer = adam(more.pop("rate", 0.003), steps)

    def run() -> Any:
        fitted = fit(
            model, objective, key=KEY, steps=steps, every=steps, optimizer=optimizer, **more
        )
        return jax.block_until_ready(fitted.model)

    return run


def cpu(run: Callable[[], Any]) -> float:
    """The CPU seconds of one call."""
    began = time.process_time()
    run()
    return time.process_time() - began


def compare(name: str, ours: Callable[[], Any], theirs: Callable[[], float], repeats: int) -> None:
    """Print one line: first call, medians, ratio."""
    first = cpu(ours)
    pairs = [(theirs(), cpu(ours)) for _ in range(repeats)]
    ratio = median(slow / fast for slow, fast in pairs)
    slow, fast = (median(side) for side in zip(*pairs, strict=True))
    print(f"{name:44} {1e3 * slow:9.1f} {1e3 * fast:9.1f} {ratio:7.1f}x {first:8.1f}", flush=True)


def steps(peer: Peer, repeats: int) -> None:
    """One step of each kind of model."""
    linear, deep = LinearAttention(ACTIONS, key=KEY), Transformer(ACTIONS, key=KEY)
    objective = RegretObjective(ACTIONS, HORIZON)
    for kind, model, batch, count in (("linear", linear, 3072, 50), ("deep", deep, 256, 10)):

        def theirs(kind: str = kind, batch: int = batch, count: int = count) -> float:
            return peer.ask("steps", kind=kind, count=count, batch=batch)["cpu"]

        theirs()
        name = f"{count} steps, {kind}, {batch} sequences (ms)"
        compare(name, trainer(model, objective, count, batch=batch), theirs, repeats)


def to_quality(peer: Peer, limit: float) -> None:
    """From random parameters to the quality asked for."""
    exact = step_size(ACTIONS, HORIZON)
    slow = {}
    for rate in (USUAL, 0.003, 0.01):
        found = peer.ask("to_quality", step=exact, rate=rate, batch=3072, steps=0, limit=limit)
        reached = found["total_variation"] <= QUALITY
        if reached or rate == USUAL:
            slow[rate] = found["cpu"]  # a lower bound where time was up
        note = "" if reached else f", stopped at {100 * found['total_variation']:.1f} %"
        print(
            f"  torch, Adam({rate}): {found['steps']} steps, {found['cpu']:.1f} s{note}", flush=True
        )
    best = min(slow.values())
    mean = HindsightObjective(ACTIONS, HORIZON, conditional=True)
    for label, objective, count, settings in (
        ("plain regret", RegretObjective(ACTIONS, HORIZON), 150, {"batch": 3072, "rate": 0.1}),
        ("conditional mean", mean, 150, {"batch": 64, "rate": 0.06, "tail": 0.3}),
    ):
        run = trainer(LinearAttention(ACTIONS, key=KEY), objective, count, **settings)
        first, again = cpu(run), median(cpu(run) for _ in range(5))
        found = fit_step_size(run(), HORIZON, key=jax.random.key(1))
        assert found.total_variation <= QUALITY, found
        assert abs(found.step / exact - 1) <= 0.005, found
        print(
            f"  regrax, {label}: {count} steps, {again:.3f} s ({first:.1f} s with compiling), "
            f"{slow[USUAL] / again:.0f}x torch's default rate, {best / again:.0f}x its best"
        )


def growth(repeats: int) -> None:
    """How the cost of a step grows: the slope in log-log coordinates, 1 being linear."""
    sizes: dict[str, Sequence[int]] = {
        "rounds T": (20, 40, 80, 160),
        "sequences": (1024, 2048, 4096, 8192),
        "seeds": (1, 2, 4, 8),
    }
    for name, values in sizes.items():
        costs = [min(cpu(_sized(name, value)) for _ in range(repeats)) for value in values]
        slope = np.polyfit(np.log(values), np.log(costs), 1)[0]
        shown = "  ".join(f"{v}: {1e3 * c / 20:.2f}" for v, c in zip(values, costs, strict=True))
        print(f"  ms a step by {name:10} {shown}   slope {slope:.2f}", flush=True)


def _sized(name: str, value: int) -> Callable[[], Any]:
    horizon = value if name == "rounds T" else HORIZON
    batch = value if name == "sequences" else 1024
    seeds = value if name == "seeds" else 1
    models = jax.vmap(lambda key: LinearAttention(ACTIONS, key=key))(jax.random.split(KEY, seeds))
    keys, optimizer = jax.random.split(KEY, seeds), adam(0.01, 20)

    def run() -> Any:
        objective = RegretObjective(ACTIONS, horizon)
        return jax.block_until_ready(
            fit(models, objective, key=keys, steps=20, every=20, batch=batch, optimizer=optimizer)
        )

    run()
    return run


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds torch may take")
    options = parser.parse_args()
    print(f"{'':44} {'torch':>9} {'regrax':>9} {'ratio':>8} {'first, s':>8}")
    with Peer("torch_training") as peer:
        steps(peer, options.repeats)
        print("time to quality, linear layer")
        to_quality(peer, options.limit)
    print("growth of the cost of a linear step")
    growth(options.repeats)


if __name__ == "__main__":
    main()
