r"""Identities of the proofs that hold in expectation, each tested by the mean of samples whose mean should be zero."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import theory
from regrax.learners import Scalar
from regrax.sharding import Devices, mesh_of, replicate, split

DOUBT = 4.0  # standard errors


class Identity(NamedTuple):
    """An identity of the paper, tested on drawn sequences.

    Attributes:
        name: short.
        statement: the formula.
        difference: mean of left side less right side.
        error: standard error of that mean.
    """

    name: str
    statement: str
    difference: float
    error: float

    @property
    def z(self) -> float:
        """Difference over standard error."""
        return self.difference / self.error

    @property
    def holds(self) -> bool:
        """Whether the difference is explained by noise."""
        return abs(self.z) <= DOUBT


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
) -> list[Identity]:
    r"""Test every identity at half the stationary step, where none of its sides vanishes.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: of the random numbers; the same key gives the same sequences.
        sequences: how many.
        devices: that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> [i.holds for i in check_expectations(3, 8, key=jax.random.key(0), sequences=20_000)]
    [True, True, True, True, True, True]
    """
    step = theory.step_size(actions, horizon) / 2
    exact = theory.loss(step, actions, horizon)
    least = theory.minimum_moment(actions, 1), theory.minimum_moment(actions, 2)
    count = actions * (sequences // actions)
    with jax.enable_x64(True):
        mesh = mesh_of(devices, pieces=1)
        shape = (horizon, actions, count)
        samples = _samples(replicate(key, mesh), step, exact, *least, shape=shape, mesh=mesh)
    return [
        Identity(
            name, STATEMENTS[name], float(np.mean(s)), float(np.std(s, ddof=1) / len(s) ** 0.5)
        )
        for name, s in jax.tree.map(np.asarray, samples).items()
    ]


@partial(jax.jit, static_argnames=("shape", "mesh"))
def _samples(
    key: PRNGKeyArray,
    step: Scalar,
    exact: Scalar,
    mean_least: Scalar,
    square_least: Scalar,
    shape: tuple[int, int, int],
    mesh: Mesh | None,
) -> dict[str, Float[Array, "_"]]:
    rounds, d, _ = shape
    losses = split(jax.random.normal(key, shape), mesh)
    total = losses.sum(0)
    best = jax.nn.one_hot(total.argmin(0), d, axis=0, dtype=losses.dtype)
    step = jnp.asarray(step, float)

    def play(past: Float[Array, "d n"]) -> tuple[Float[Array, "d n"], Float[Array, "d n"]]:
        """The policy after these losses, and its derivative in the step."""
        policy = jax.nn.softmax(-step * past, axis=0)
        return policy, policy * (jnp.sum(policy * past, 0, keepdims=True) - past)

    def add_round(carry: tuple, loss: Float[Array, "d n"]) -> tuple[tuple, None]:
        past, sums = carry
        policy, change = play(past)
        ahead = policy - best
        terms = (policy * loss, change * loss, change * ahead, ahead**2, past * best)
        return (past + loss, [x + term for x, term in zip(sums, terms, strict=True)]), None

    # actions are summed once, at the end: sums over so short an axis would take most of the time
    nothing = jnp.zeros_like(total)
    sums = lax.scan(add_round, (nothing, [nothing] * 5), losses)[0][1]
    suffered, slope, response, forecast, hindsight = (x.sum(0) for x in sums)
    least, last = total.min(0), total - losses[-1]
    regret, policy = suffered - least, play(last)[0]
    inner = jnp.sum((last - last.mean(0, keepdims=True)) * policy, 0) / d
    heads = regret.reshape(d, -1).sum(0)
    found = {
        "conditional expectation": hindsight - (rounds - 1) / 2 * least,
        "derivative identity": 2 * (regret * slope - response),
        "regret does not depend on the step": slope,
        "softmax expectation": inner + (rounds - 1) * step / d * (1 - jnp.sum(policy**2, 0)),
        "swap decomposition": heads**2 - d * exact - d * (d - 1) * rounds * mean_least**2,
        "hindsight identity": regret**2 - forecast - rounds * (square_least - 1),
    }
    return replicate(found, mesh)
