r"""Compute the limit of a row: operations over this core's rate, or bytes over bandwidth, whichever is slower.

Rates are measured by `limit.c` in the same run, compiled with the machine's C compiler at its best. Operations are
those of the mathematics: a multiply-add counts 2, an exponential 10, a normal number 30. Bytes are those that every
round must read: tables of payoffs and heads, at the bandwidth of a buffer of their size. For whole computations (time
to quality, k*), the operations of the program are counted.
"""

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import jax
import numpy as np

from regrax import HindsightObjective, LinearAttention
from regrax.experiments.sweep import operations
from regrax.theory import power_sums, step_size
from regrax.theory.steps import _scaled_root

EXP, NORMAL = 10, 30
FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")


@cache
def _library() -> ctypes.CDLL:
    file = Path(tempfile.mkdtemp()) / "limit.so"
    subprocess.run(["cc", *FLAGS, str(Path(__file__).with_name("limit.c")), "-o", file], check=True)
    library = ctypes.CDLL(str(file))
    library.products.restype = library.chains.restype = ctypes.c_double
    return library


@cache
def operations_a_second() -> float:
    """Measure multiply-adds in registers, each counted as two operations."""
    out, count = ctypes.c_float(), 2_000_000
    took = [_library().chains(count, ctypes.byref(out)) for _ in range(5)]
    return 128 * count / median(took)


@cache
def bytes_a_second(size: int) -> float:
    """Measure the bandwidth of reading a buffer of this size repeatedly."""
    n = max(128, size // 8) // 64 * 64
    one, two = (np.ones(n, np.float32) for _ in range(2))
    repeats = max(3, 200_000_000 // (8 * n))
    floats, out = ctypes.POINTER(ctypes.c_float), ctypes.c_float()
    arguments = (one.ctypes.data_as(floats), two.ctypes.data_as(floats), ctypes.c_size_t(n))
    took = [_library().products(*arguments, repeats, ctypes.byref(out)) for _ in range(5)]
    return 8 * n * repeats / median(took)


def seconds(operations: float, read: int) -> float:
    """Return the least time for these operations on `read` bytes."""
    return max(operations / operations_a_second(), read / bytes_a_second(read) if read else 0.0)


def hedge(actions: int, players: int = 2, games: int = 1, bits: int = 32) -> float:
    """Limit of a round: every player's losses from its table, and a softmax."""
    table = actions**players
    outer = 0 if players == 2 else actions ** (players - 1)
    operations = games * players * (2 * table + outer + (EXP + 4) * actions)
    return seconds(operations * bits / 32, games * players * table * bits // 8)


def blum_mansour(actions: int, games: int = 1, bits: int = 32) -> float:
    """Limit of a round: losses, d softmaxes, one matrix product (enough with a warm start), d^2 updates."""
    square = actions**2
    operations = games * 2 * (2 * square + (EXP + 4) * square + 2 * square + 2 * square)
    return seconds(operations * bits / 32, games * 2 * 3 * square * bits // 8)


def gaps(actions: int) -> float:
    """Limit of two products of d x d matrices."""
    return seconds(2 * 2 * actions**3, 0)


def training(kind: str, batch: int, actions: int = 3, rounds: int = 20, width: int = 32) -> float:
    """Limit of a step: draws, a forward pass, and twice that for the gradient."""
    d = actions
    numbers = rounds * d * (d if kind == "swap" else 1)
    linear = 2 * d * d + 2 * d + (EXP + 8) * d
    # maps and MLP, scores, softmax
    layer = 2 * 8 * width**2 + 2 * 2 * rounds * width + 4 * rounds * EXP
    forward = {"linear": linear, "swap": d * linear, "deep": 2 * layer + 4 * d * width}[kind]
    return seconds(batch * (NORMAL * numbers + 3 * rounds * forward), 0)


def to_quality(batch: int, count: int, actions: int = 3, rounds: int = 20) -> float:
    """Limit of all steps with the conditional mean: draws, and the operations of loss and gradient."""
    objective = HindsightObjective(actions, rounds, conditional=True)
    model = LinearAttention(actions, key=jax.random.key(0))
    data = objective.draw(batch, key=jax.random.key(1))
    asked = operations(jax.value_and_grad(objective.loss), model, data)
    assert asked is not None
    return seconds(count * (NORMAL * batch * rounds * actions + asked), 0)


def exact_step(actions: int, horizon: int) -> float:
    """Limit of products and exponentials of the quadrature, counted as it runs, in double precision."""
    counts = []
    exp, rest = power_sums._exp, power_sums._rest

    def counted_exp(power: Any) -> Any:
        counts.append(2 * EXP * power.size)  # q, and exp(-q)
        return exp(power)

    def counted_rest(leave: Any, weight: Any, d: int) -> Any:
        if leave.ndim == 2:  # two products of the last q with a matrix
            counts.append(2 * 2 * counts[-1] / (2 * EXP) * leave.shape[1])
        return rest(leave, weight, d)

    _scaled_root.cache_clear()
    with (
        patch.object(power_sums, "_exp", counted_exp),
        patch.object(power_sums, "_rest", counted_rest),
    ):
        step_size(actions, horizon)
    return seconds(2 * sum(counts), 0)
