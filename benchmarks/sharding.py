"""What sharing a step costs: `python -m benchmarks.sharding [--repeats N]`.

One worker process has one device, the other two (forced host devices); both may use the same cores and do the same
total work, turn about. A ratio is the median over neighbouring measurements of two devices' time over one's, in wall
time and in CPU time, beside one device's operations a CPU second. One device already uses all threads where that pays,
so a ratio above 1 is the overhead of sharing. Then two processes on loopback measure an all-reduce by its size.
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


def serve(devices: int) -> None:
    """Answer a line `case steps` with the wall and CPU seconds of that many steps."""
    import jax

    from regrax.training import fit

    shared = jax.devices()[:devices] if devices > 1 else None
    for line in sys.stdin:
        name, steps = line.split()
        model, objective = CASES[name].made()
        wall, cpu = time.perf_counter(), time.process_time()
        sizes = {"steps": int(steps), "every": int(steps), "batch": BATCH[name]}
        fitted = fit(model, objective, key=jax.random.key(0), devices=shared, **sizes)
        jax.block_until_ready(fitted.model)
        print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]), flush=True)


def reduce(address: str, own: int) -> None:
    """The seconds of one all-reduce between two processes, by size; the first one prints."""
    import jax
    import jax.numpy as jnp

    from regrax import processes
    from regrax.devices import everywhere, mesh_of, total

    processes.join(address, 2, own)
    mesh = mesh_of(jax.devices())
    for size in SIZES:
        data = everywhere(jnp.ones(size), mesh)
        add = jax.jit(lambda data: total(lambda data, i: data * i, data, 2, mesh))
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


def ask(process: subprocess.Popen, name: str, steps: int) -> tuple[float, float]:
    process.stdin.write(f"{name} {steps}\n")
    process.stdin.flush()
    wall, cpu = json.loads(process.stdout.readline())
    return wall, cpu


def overhead(repeats: int, names: list[str]) -> None:
    """Print a line a case."""
    one, two = (worker("--serve", devices, devices=devices) for devices in (1, 2))
    print(f"{'':14}{'one, ms':>10}{'two, ms':>10}{'wall':>8}{'CPU':>8}{'Mops/s':>8}")
    try:
        for name in names:
            steps = CASES[name].steps
            for process in (one, two):
                ask(process, name, steps)  # compiles
            pairs = [(ask(one, name, steps), ask(two, name, steps)) for _ in range(repeats)]
            wall, cpu = (median(b[i] / a[i] for a, b in pairs) for i in (0, 1))
            times = [1e3 * median(pair[i][0] for pair in pairs) / steps for i in (0, 1)]
            done = BATCH[name] * steps * (CASES[name].products + CASES[name].rest)
            speed = 1e-6 * done / median(a[1] for a, _ in pairs)
            verdict = "" if wall < OVERHEAD else "  above the target of 1.15"
            row = f"{times[0]:10.2f}{times[1]:10.2f}{wall:8.2f}{cpu:8.2f}{speed:8.0f}{verdict}"
            print(f"{name:14}{row}", flush=True)
    finally:
        for process in (one, two):
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
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--reduce", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    if options.reduce:
        return reduce(options.reduce[0], int(options.reduce[1]))
    overhead(options.repeats, options.only)
    loopback()
    return None


if __name__ == "__main__":
    main()
