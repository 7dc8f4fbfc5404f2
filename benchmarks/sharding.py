"""Measure the cost of sharing a step between devices: `python -m benchmarks.sharding [--repeats N]`.

A process with two forced host devices does the same total work on one of them and on both, in turns with a process
that has one device. Ratios are medians over neighbouring measurements of wall time: both devices divided by one of them
is the cost of sharing; both divided by the process with one device adds the cost of splitting a CPU into two devices.
A single device may use all threads as well. The last column is one device's number of operations per CPU second. Then
two processes on loopback measure the time of an all-reduce for several sizes.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from statistics import median

from benchmarks.scaling import BATCH, CASES

OVERHEAD = 1.15  # the ratio that must not be passed
SIZES = (1, 100, 16_740, 1_000_000, 10_000_000)  # numbers in an all-reduce


def serve() -> None:
    """Answer each line `case steps devices` with the wall and CPU seconds of these steps."""
    import jax

    from regrax.training import fit

    for line in sys.stdin:
        name, steps, count = line.split()
        model, objective = CASES[name].made()
        shared = jax.devices()[:2] if count == "2" else None
        wall, cpu = time.perf_counter(), time.process_time()
        sizes = {"steps": int(steps), "every": int(steps), "batch": BATCH[name]}
        fitted = fit(model, objective, key=jax.random.key(0), devices=shared, **sizes)
        jax.block_until_ready(fitted.model)
        print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]), flush=True)


def reduce(address: str, own: int) -> None:
    """Time an all-reduce between two processes for several sizes; the first process prints."""
    import jax
    import jax.numpy as jnp

    from regrax import distributed
    from regrax.sharding import mesh_of, replicate, total

    distributed.join(address, 2, own)
    mesh = mesh_of(jax.devices())
    for size in SIZES:
        data = replicate(jnp.ones(size), mesh)
        add = jax.jit(
            lambda data: total(lambda data, i: data * i, data, 2, jnp.zeros_like(data), mesh)
        )
        times = []
        for _ in range(12):
            began = time.perf_counter()
            jax.block_until_ready(add(data))
            times.append(time.perf_counter() - began)
        if own == 0:
            print(f"  {4 * size:>11,} bytes  {1e6 * median(times[2:]):10.0f} us", flush=True)


def worker(*arguments: object, devices: int = 1) -> subprocess.Popen:
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=1"
    command = [sys.executable, "-m", "benchmarks.sharding", *map(str, arguments)]
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


def ask(process: subprocess.Popen, name: str, count: int) -> tuple[float, float]:
    process.stdin.write(f"{name} {CASES[name].steps} {count}\n")
    process.stdin.flush()
    wall, cpu = json.loads(process.stdout.readline())
    return wall / CASES[name].steps, cpu / CASES[name].steps


def overhead(repeats: int, names: list[str]) -> None:
    """Print a line for each case."""
    single, forced = (worker("--serve", devices=devices) for devices in (1, 2))
    ways = ((single, 1), (forced, 1), (forced, 2))
    print(
        f"{'ms per step':14}{'alone':>9}{'1 of 2':>9}{'both':>9}{'sharing':>9}{'+ forcing':>10}{'Mops/s':>8}"
    )
    try:
        for name in names:
            for process, count in ways:
                ask(process, name, count)  # compiles
            rounds = [[ask(process, name, n) for process, n in ways] for _ in range(repeats)]
            alone, one, both = (1e3 * median(r[i][0] for r in rounds) for i in range(3))
            sharing, forcing = (median(r[2][0] / r[i][0] for r in rounds) for i in (1, 0))
            done = BATCH[name] * (CASES[name].products + CASES[name].rest)
            speed = 1e-6 * done / median(r[0][1] for r in rounds)
            verdict = "" if sharing < OVERHEAD else "  above the target of 1.15"
            times = f"{alone:9.2f}{one:9.2f}{both:9.2f}{sharing:9.2f}{forcing:10.2f}{speed:8.0f}"
            print(f"{name:14}{times}{verdict}", flush=True)
    finally:
        for process in (single, forced):
            process.stdin.close()
            process.wait(30)


def loopback() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    first, second = (worker("--reduce", address, own) for own in (0, 1))
    print("all-reduce between two processes on loopback")
    print(first.communicate(timeout=300)[0], end="")
    second.communicate(timeout=30)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--reduce", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve()
    if options.reduce:
        return reduce(options.reduce[0], int(options.reduce[1]))
    overhead(options.repeats, options.only)
    loopback()
    return None


if __name__ == "__main__":
    main()
