r"""Monte Carlo estimates of the stationary step $k^\star(d, T)$: as the paper makes them, and with less noise.

A run draws `samples` loss sequences once and minimises a mean over them in the step $k$ of
$\pi_t = \mathrm{softmax}(-k S_{t-1})$, the draws held fixed. For the swap architecture a sequence is $d$ independent
Gaussian blocks. All estimators minimise the same expectation up to a constant:

    paper        R(k)^2, of the summed regret of all heads
    hindsight    sum_t ||pi_t - e_J*||^2, J* the action that turned out best (the derivative identity integrated)
    conditional  sum_t ||pi_t - pi*_t||^2, pi*_t the probability of J* given the past: the best possible policy
    antithetic   hindsight, on pairs of sequences l and -l
    quasi        hindsight, on scrambled Sobol points in place of random ones
"""

import math
from collections.abc import Callable
from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.sharding import Devices, local, mesh_of, replicate, split
from regrax.theory import optimal_policy

Architecture = Literal["single", "swap"]
Estimator = Literal["paper", "hindsight", "conditional", "antithetic", "quasi"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
GRID_FACTOR = 16.0  # the first grid reaches this factor up and down from 2 / sqrt(T)
GRID_POINTS = 9
GRID_LEVELS = 6  # each grid is 4 times finer: the last is 0.1 % apart


def monte_carlo_steps(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    architecture: Architecture = "single",
    estimator: Estimator = "paper",
    samples: int = 800,
    runs: int = 50,
    devices: Devices | None = None,
) -> Float[Array, "runs"]:
    r"""The minimiser over $k$ of the estimator's mean over `samples` sequences, once for every run.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: of the random numbers; the same key gives the same sequences.
        architecture: `"single"` layer, or `"swap"`.
        estimator: of $L(k)$, one of `ESTIMATORS`.
        samples: sequences per run.
        runs: how many minimisers to return.
        devices: that share the sequences of a run; by default one.

    >>> import jax
    >>> steps = monte_carlo_steps(3, 20, key=jax.random.key(0), runs=4)
    >>> bool((abs(steps - 0.448) < 0.1).all())
    True
    """
    checks.at_least("actions", actions, 2)
    checks.at_least("horizon", horizon, 2)
    checks.at_least("samples", samples, 2)
    checks.at_least("runs", runs, 1)
    if architecture not in ("single", "swap"):
        raise ValueError(f'architecture must be "single" or "swap", got {architecture!r}')
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    heads = actions if architecture == "swap" else 1
    mesh, shape = mesh_of(devices, pieces=1), (horizon, actions, heads * samples)
    keys = [jax.random.fold_in(key, run) for run in range(runs)]
    if mesh is None or estimator == "quasi":  # Sobol points are made on the host
        draws = (_draw(key, shape, estimator) for key in keys)
        steps = [_step(replicate(losses, mesh), heads, estimator, mesh) for losses in draws]
    else:
        steps = [_spread(replicate(key, mesh), shape, heads, estimator, mesh) for key in keys]
    return jnp.stack(local(steps, mesh))


@eqx.filter_jit
def _spread(
    key: PRNGKeyArray, shape: tuple[int, int, int], heads: int, estimator: Estimator, mesh: Mesh
) -> Float[Array, ""]:
    """A run whose sequences are drawn where they are used."""
    return _step(split(_draw(key, shape, estimator), mesh), heads, estimator, mesh)


def _draw(
    key: PRNGKeyArray, shape: tuple[int, int, int], estimator: Estimator
) -> Float[Array, "T d n"]:
    """Losses; the sequence axis is last, where it is contiguous, a sequence's blocks side by side."""
    horizon, actions, count = shape
    if estimator == "quasi":
        return _sobol(key, shape)
    if estimator == "antithetic":
        half = _normal(key, (horizon, actions, -(-count // 2)))
        return jnp.concatenate([half, -half], axis=2)[..., :count]
    return _normal(key, shape)


@eqx.filter_jit
def _normal(key: PRNGKeyArray, shape: tuple[int, int, int]) -> Float[Array, "T d n"]:
    return jax.random.normal(key, shape)


def _sobol(key: PRNGKeyArray, shape: tuple[int, int, int]) -> Float[Array, "T d n"]:
    from scipy.special import ndtri
    from scipy.stats import qmc

    horizon, actions, count = shape
    seed = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    points = qmc.Sobol(horizon * actions, rng=seed).random_base2(math.ceil(math.log2(count)))
    inside = np.clip(points[:count], 1e-9, 1 - 1e-9)
    return jnp.asarray(ndtri(inside).T.reshape(shape), float)


@eqx.filter_jit
def _step(
    losses: Float[Array, "T d n"], heads: int, estimator: Estimator, mesh: Mesh | None
) -> Float[Array, ""]:
    """The least on a wide grid of steps, then on ever finer ones around it.

    The noise of a run can put its minimum far from the truth, or give the curve several: no descent is trusted.
    """
    objective = _objective(split(losses, mesh), heads, estimator)

    def refine(centre: Float[Array, ""], width: Float[Array, ""]) -> tuple[Float[Array, ""], None]:
        offsets = width * jnp.linspace(-1, 1, GRID_POINTS)
        return centre + offsets[jnp.argmin(lax.map(objective, jnp.exp(centre + offsets)))], None

    start = jnp.log(jnp.asarray(2 / len(losses) ** 0.5))
    widths = jnp.array(
        [math.log(GRID_FACTOR) * (2 / (GRID_POINTS - 1)) ** level for level in range(GRID_LEVELS)]
    )
    return replicate(jnp.exp(lax.scan(refine, start, widths)[0]), mesh)


def _objective(
    losses: Float[Array, "T d n"], heads: int, estimator: Estimator
) -> Callable[[Float[Array, ""]], Float[Array, ""]]:
    total = losses.sum(0)
    if estimator == "paper":
        return lambda k: jnp.mean(
            (suffered(k, losses) - total.min(0)).reshape(heads, -1).sum(0) ** 2
        )
    if estimator == "conditional":
        forecast = best_forecast(losses)
    else:
        best = jax.nn.one_hot(total.argmin(0), len(total), axis=0, dtype=losses.dtype)
        forecast = jnp.broadcast_to(best, losses.shape)
    return lambda k: jnp.mean(_along(k, losses, forecast, lambda pi, target: (pi - target) ** 2))


def best_forecast(losses: Float[Array, "T d n"]) -> Float[Array, "T d n"]:
    """The best possible policy of every round, given the losses before it."""
    before = jnp.moveaxis(jnp.cumsum(losses, 0) - losses, 1, -1)
    left = jnp.arange(len(losses), 0, -1)[:, None]
    return jnp.moveaxis(optimal_policy(before, left), -1, 1)


def suffered(step: Float[Array, ""], losses: Float[Array, "T d n"]) -> Float[Array, "n"]:
    """The loss of smoothed fictitious play on every sequence, one round after the other."""
    return _along(step, losses, losses, lambda policy, loss: policy * loss)


def _along(
    step: Float[Array, ""],
    losses: Float[Array, "T d n"],
    beside: Float[Array, "T d n"],
    term: Callable,
) -> Float[Array, "n"]:
    def play_round(carry: tuple, round_: tuple) -> tuple[tuple, None]:
        (total, summed), (loss, other) = carry, round_
        policy = jax.nn.softmax(-step * total, axis=0)
        return (total + loss, summed + jnp.sum(term(policy, other), 0)), None

    start = (jnp.zeros_like(losses[0]), jnp.zeros_like(losses[0, 0]))
    return lax.scan(play_round, start, (losses, beside))[0][1]
