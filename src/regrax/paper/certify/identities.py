"""Identities from the proofs that hold in expectation, tested by sample means that should be zero."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import theory
from regrax.paper.certify.monte_carlo import sum_over_rounds
from regrax.paper.certify.samples import Comparison
from regrax.sharding import Devices, mesh_of, replicate, split

STATEMENTS = {
    "conditional expectation": "E[S_{t-1,J*}] = (t-1)/T E[min_j S_{T,j}], summed over t",
    "derivative identity": "dE[R^2]/dk = -2 Sigma_1 + 2 Sigma_2",
    "regret does not depend on the step": "d E[R(k)] / dk = 0",
    "softmax expectation": "E<J_0 X, pi> = -(a k / d) E[1 - ||pi||^2], X ~ N(0, a I)",
    "swap decomposition": "E[(sum_i R_i)^2] = d L(k) + d (d-1) E[R]^2",
    "hindsight identity": "E[R^2] = sum_t E||pi_t - e_J*||^2 + T E[m^2] - T",
}


def check_expectations(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    sequences: int = 100_000,
    devices: Devices | None = None,
) -> list[Comparison]:
    r"""Test every identity at half the stationary step, where neither side vanishes.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: random key; the same key draws the same sequences.
        sequences: number of sequences.
        devices: devices that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> [i.holds for i in check_expectations(3, 8, key=jax.random.key(0), sequences=20_000)]
    [True, True, True, True, True, True]
    """
    step = theory.step_size(actions, horizon) / 2
    shape = (horizon, actions, actions * (sequences // actions))
    with jax.enable_x64(True):
        mesh = mesh_of(devices, pieces=1)
        exact = (
            theory.loss(step, actions, horizon),
            theory.minimum_moment(actions, 1),
            theory.minimum_moment(actions, 2),
        )
        samples = _samples(replicate(key, mesh), step, exact, shape, mesh)
    return [Comparison.of(STATEMENTS[name], values, 0.0) for name, values in samples.items()]


@partial(jax.jit, static_argnames=("shape", "mesh"))
def _samples(
    key: PRNGKeyArray, step: Any, exact: tuple, shape: tuple[int, int, int], mesh: Mesh | None
) -> dict[str, Float[Array, "_"]]:
    T, d, _ = shape
    loss, mean_minimum, square_minimum = exact
    losses = split(jax.random.normal(key, shape), mesh)
    total = losses.sum(0)
    best = jax.nn.one_hot(total.argmin(0), d, axis=0, dtype=losses.dtype)

    def terms(past: Array, policy: Array, loss: Array) -> Array:
        mean = jnp.sum(policy * past, 0, keepdims=True)
        slope = policy * (mean - past)  # the policy's derivative in the step
        ahead = policy - best
        return jnp.stack([policy * loss, slope * loss, slope * ahead, ahead**2, past * best])

    sums = sum_over_rounds(step, losses, losses, terms)
    suffered, slope, response, forecast, hindsight = sums
    regret = suffered - total.min(0)
    last = total - losses[-1]
    policy = jax.nn.softmax(-step * last, axis=0)
    inner = jnp.sum((last - last.mean(0, keepdims=True)) * policy, 0) / d
    heads = regret.reshape(d, -1).sum(0)
    samples = {
        "conditional expectation": hindsight - (T - 1) / 2 * total.min(0),
        "derivative identity": 2 * (regret * slope - response),
        "regret does not depend on the step": slope,
        "softmax expectation": inner + (T - 1) * step / d * (1 - jnp.sum(policy**2, 0)),
        "swap decomposition": heads**2 - d * loss - d * (d - 1) * T * mean_minimum**2,
        "hindsight identity": regret**2 - forecast - T * (square_minimum - 1),
    }
    return replicate(samples, mesh)
