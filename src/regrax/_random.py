"""Normal numbers, those that jax draws of the same key, their bits made in a third of the time on a CPU.

Reference: Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

from regrax import _fast_paths as fast_paths

TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Bits by which the rounds of Threefry-2x32 turn a word, in groups of four."""
PARITY = np.uint32(0x1BD11BDA)
ONE = np.uint32(0x3F800000)
"""The bits of 1.0: with random bits behind them, a number of [1, 2)."""


def normal(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """`jax.random.normal(key, shape)`; where jax makes its bits by five loops, by one.

    >>> key = jax.random.key(0)
    >>> bool(jnp.allclose(normal(key, (3,)), jax.random.normal(key, (3,))))
    True
    """
    usual = jax.random.key_impl(key) == "threefry2x32" and jax.config.jax_threefry_partitionable  # pyright: ignore[reportAttributeAccessIssue]
    single = jnp.result_type(float) == np.float32 and 0 < math.prod(shape) < 2**32
    if fast_paths.ENABLED and usual and single:  # on any device: to ask which would start it
        return _normal(jax.random.key_data(key), shape)
    return jax.random.normal(key, shape)


@partial(jax.jit, static_argnames="shape")
def _normal(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> Float[Array, "..."]:
    size, low = math.prod(shape), np.nextafter(np.float32(-1), np.float32(0))
    half = -(-size // 2)

    def draw(first: UInt32[Array, ""]) -> Float[Array, "half"]:
        bits = _threefry(key, first + lax.iota(np.uint32, half)) >> np.uint32(9) | ONE
        unit = lax.bitcast_convert_type(bits, np.float32) - np.float32(1)  # of [0, 1)
        between = jnp.maximum(low, unit * (np.float32(1) - low) + low)
        return np.float32(2**0.5) * lax.erf_inv(between)

    # a loop, lest XLA draw again wherever a number is read
    halves = lax.map(draw, np.array([0, half], np.uint32))
    return halves.reshape(-1)[:size].reshape(shape)


def _threefry(key: UInt32[Array, "2"], counts: UInt32[Array, "n"]) -> UInt32[Array, "n"]:
    """A random word of each count."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ PARITY)
    x, y = keys[0], counts + keys[1]
    for group in range(5):
        for turn in TURNS[group % 2]:
            x = x + y
            y = (y << np.uint32(turn) | y >> np.uint32(32 - turn)) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x ^ y
