r"""Monte Carlo estimates of the stationary step $k^\star(d, T)$, as the paper makes them.

A run draws `samples` loss sequences once and minimises the mean of $R(k)^2$ over the step $k$ of
$\pi_t = \mathrm{softmax}(-k S_{t-1})$ with these draws held fixed. For the swap architecture a sequence is $d$
independent Gaussian blocks and $R(k)$ the sum of the heads' regrets.
"""

import math
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import checks

Architecture = Literal["single", "swap"]
WIDEST = 16.0  # the first grid reaches this factor up and down from 2 / sqrt(T)
GRID = 9
LEVELS = 4  # each grid is 4 times finer: the last is 1 % wide


def monte_carlo_steps(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    architecture: Architecture = "single",
    samples: int = 800,
    runs: int = 50,
) -> Float[Array, "runs"]:
    r"""$\arg\min_k \frac1n \sum_m R_m(k)^2$ with common draws, once for every run.

    >>> import jax
    >>> steps = monte_carlo_steps(3, 20, key=jax.random.key(0), runs=4)
    >>> bool((abs(steps - 0.448) < 0.1).all())
    True
    """
    checks.at_least("actions", actions, 2)
    checks.at_least("horizon", horizon, 2)
    checks.at_least("samples", samples, 1)
    checks.at_least("runs", runs, 1)
    if architecture not in ("single", "swap"):
        raise ValueError(f'architecture must be "single" or "swap", but is {architecture!r}')
    heads = actions if architecture == "swap" else 1
    return _steps(key, actions, horizon, heads, samples, runs)


@partial(jax.jit, static_argnames=("actions", "horizon", "heads", "samples", "runs"))
def _steps(
    key: PRNGKeyArray, actions: int, horizon: int, heads: int, samples: int, runs: int
) -> Float[Array, "runs"]:
    def one_run(run: Int[Array, ""]) -> Float[Array, ""]:
        # the sequence axis comes last, where it is contiguous; a sequence's blocks lie side by side on it
        shape = (horizon, actions, heads * samples)
        losses = jax.random.normal(jax.random.fold_in(key, run), shape)
        return _minimiser(losses, heads)

    return lax.map(one_run, jnp.arange(runs))


def _minimiser(losses: Float[Array, "T d n"], heads: int) -> Float[Array, ""]:
    r"""The least of the mean squared regret on a wide grid, then thrice on a finer one around it.

    The noise of a run can make its minimum lie far from $k^\star$, or the curve have several: no descent is trusted.
    """
    best = losses.sum(0).min(0)

    def objective(log_step: Float[Array, ""]) -> Float[Array, ""]:
        regrets = (_suffered(jnp.exp(log_step), losses) - best).reshape(heads, -1).sum(0)
        return jnp.mean(regrets**2)

    def refine(centre: Float[Array, ""], width: Float[Array, ""]) -> tuple[Float[Array, ""], None]:
        offsets = width * jnp.linspace(-1, 1, GRID)
        return centre + offsets[jnp.argmin(lax.map(objective, centre + offsets))], None

    start = jnp.log(jnp.asarray(2 / losses.shape[0] ** 0.5))
    widths = jnp.array([math.log(WIDEST) * (2 / (GRID - 1)) ** level for level in range(LEVELS)])
    return jnp.exp(lax.scan(refine, start, widths)[0])


def _suffered(step: Float[Array, ""], losses: Float[Array, "T d n"]) -> Float[Array, "n"]:
    """The loss of smoothed fictitious play on every sequence, one round after the other."""

    def play_round(carry: tuple, loss: Float[Array, "d n"]) -> tuple[tuple, None]:
        total, suffered = carry
        policy = jax.nn.softmax(-step * total, axis=0)
        return (total + loss, suffered + jnp.sum(policy * loss, 0)), None

    start = (jnp.zeros_like(losses[0]), jnp.zeros_like(losses[0, 0]))
    return lax.scan(play_round, start, losses)[0][1]
