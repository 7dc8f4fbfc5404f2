r"""Monte Carlo estimates of the stationary step $k^\star(d, T)$: the paper's method, less noisy estimators, and
estimates for losses that are not Gaussian.

Losses have shape (T, d, n), with sequences last; round $t$ plays $\pi_t = \mathrm{softmax}(-k S_{t-1})$. A run draws n
sequences once and minimises a mean over them in the step $k$. For the swap architecture a sequence is $d$ independent
Gaussian blocks. All estimators minimise the same expectation up to a constant:

    paper        R(k)^2, where R sums the regrets of all heads
    hindsight    sum_t ||pi_t - e_J*||^2, J* the action that turned out best (the derivative identity integrated)
    conditional  sum_t ||pi_t - pi*_t||^2, pi*_t the probability of J* given the past: the optimal policy
    antithetic   hindsight, on pairs of sequences l and -l
    quasi        hindsight, on scrambled Sobol points instead of random points

**Other losses.** For i.i.d. losses with a common mean $E[R]$ does not depend on the step, so $E[(R - c)^2]$ has the
same minimiser for every constant $c$; $c$ near $E[R]$ removes most of the noise. The interval is the usual one for a
minimiser: $\hat k \pm 1.96\,\mathrm{se}(\psi) / E[\psi']$, $\psi = \frac{d}{dk} (R - c)^2$.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.sharding import Devices, local, mesh_of, replicate, split
from regrax.training import Distribution, RandomHorizon
from regrax.training.objectives import best_policy

Architecture = Literal["single", "swap"]
Estimator = Literal["paper", "hindsight", "conditional", "antithetic", "quasi"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
Losses = Float[Array, "T d n"]
Step = Float[Array, ""]


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
    r"""Find the step that minimises the estimator's mean over `samples` sequences, once per run.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: random key; the same key draws the same sequences.
        architecture: `"single"` layer, or `"swap"`.
        estimator: estimator of $L(k)$, one of `ESTIMATORS`.
        samples: sequences per run.
        runs: number of minimisers to return.
        devices: devices that share the sequences of a run; by default one.

    >>> import jax
    >>> steps = monte_carlo_steps(3, 20, key=jax.random.key(0), runs=4)
    >>> bool((abs(steps - 0.448) < 0.1).all())
    True
    """
    checks.at_least("actions", actions, 2)
    checks.at_least("horizon", horizon, 2)
    checks.at_least("samples", samples, 2)
    checks.at_least("runs", runs, 1)
    checks.one_of("architecture", architecture, ("single", "swap"))
    checks.one_of("estimator", estimator, ESTIMATORS)
    heads = actions if architecture == "swap" else 1
    mesh = mesh_of(devices, pieces=1)
    steps = []
    for run in range(runs):
        shape = (horizon, actions, heads * samples)
        losses = _draw(jax.random.fold_in(key, run), shape, estimator)
        steps.append(_minimise(replicate(losses, mesh), heads, estimator, mesh))
    return jnp.stack(local(steps, mesh))


def _draw(key: PRNGKeyArray, shape: tuple[int, int, int], estimator: Estimator) -> Losses:
    horizon, actions, count = shape
    if estimator == "quasi":
        from scipy.stats import qmc

        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        normal = qmc.MultivariateNormalQMC(np.zeros(horizon * actions), rng=rng)
        points = normal.random(2 ** math.ceil(math.log2(count)))[:count]
        return jnp.asarray(points.T.reshape(shape), float)
    if estimator == "antithetic":
        half = jax.random.normal(key, (horizon, actions, -(-count // 2)))
        return jnp.concatenate([half, -half], axis=2)[..., :count]
    return jax.random.normal(key, shape)


@eqx.filter_jit
def _minimise(losses: Losses, heads: int, estimator: Estimator, mesh: Mesh | None) -> Step:
    """Minimise on a wide grid of steps, then on ever finer grids around the minimum.

    Noise can move a run's minimum far from the true one, or create several minima, so descent is not reliable.
    """
    losses = split(losses, mesh)
    total = losses.sum(0)
    best = jax.nn.one_hot(total.argmin(0), len(total), axis=0, dtype=losses.dtype)
    target = jnp.broadcast_to(best, losses.shape)
    if estimator == "conditional":
        target = best_policy(losses)

    def objective(step: Step) -> Float[Array, ""]:
        if estimator == "paper":
            regret = suffered(step, losses) - total.min(0)
            return jnp.mean(regret.reshape(heads, -1).sum(0) ** 2)
        return jnp.mean(sum_over_rounds(step, losses, target, lambda _, pi, aim: (pi - aim) ** 2))

    def refine(centre: Step, width: Step) -> tuple[Step, None]:
        steps = centre + width * jnp.linspace(-1, 1, 9)
        return steps[jnp.argmin(lax.map(objective, jnp.exp(steps)))], None

    start = jnp.log(jnp.asarray(2 / len(losses) ** 0.5))
    # from a factor of 16 down to 0.1 %
    widths = jnp.asarray(math.log(16) / 4.0 ** np.arange(6), start.dtype)
    return replicate(jnp.exp(lax.scan(refine, start, widths)[0]), mesh)


def suffered(step: Step, losses: Losses) -> Float[Array, "n"]:
    """Compute the total loss of smoothed fictitious play on every sequence."""
    return sum_over_rounds(step, losses, losses, lambda _, policy, loss: policy * loss)


def sum_over_rounds(step: Step, losses: Losses, others: Losses, terms: Callable) -> Any:
    """Sum terms of the past losses, the policy and `others` over rounds and actions, for smoothed fictitious play."""

    def added(past: Float[Array, "d n"], other: Float[Array, "d n"]) -> Any:
        policy = jax.nn.softmax(-step * past, axis=0)
        return jnp.sum(terms(past, policy, other), -2)

    def play_round(carry: tuple, round_: tuple) -> tuple[tuple, None]:
        past, sums = carry
        loss, other = round_
        return (past + loss, sums + added(past, other)), None

    first = added(jnp.zeros_like(losses[0]), others[0])
    return lax.scan(play_round, (losses[0], first), (losses[1:], others[1:]))[0][1]


class StepInterval(NamedTuple):
    """A step with its 95 % interval, and the excess loss of the Gaussian step on the same losses.

    Attributes:
        step: estimate.
        low: lower end of its 95 % interval.
        high: upper end of the interval.
        gaussian: exact step for Gaussian losses with the same (mean) horizon.
        excess: relative excess loss of the Gaussian step over the best step.
    """

    step: float
    low: float
    high: float
    gaussian: float
    excess: float


def numerical_step(
    distribution: Distribution,
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    sequences: int = 100_000,
    devices: Devices | None = None,
) -> StepInterval:
    r"""Find the step that minimises $E[R(k)^2]$ for any i.i.d. losses with a common mean.

    Args:
        distribution: distribution of the losses, with a common mean for all actions.
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$; for `RandomHorizon` the mean number, with sequences of $2T - 1$ rounds.
        key: random key; the same key draws the same sequences.
        sequences: number of sequences, at least 100.
        devices: devices that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> from regrax.training import Gaussian
    >>> interval = numerical_step(Gaussian(), 3, 20, key=jax.random.key(0), sequences=2000)
    >>> interval.low < 0.4479 < interval.high
    True
    """
    checks.at_least("sequences", sequences, 100)
    if distribution.mean is None:
        raise ValueError(f"losses must have a common mean for all actions, got {distribution}")
    rounds = horizon
    if isinstance(distribution, RandomHorizon):
        rounds = 2 * horizon - 1
    gaussian = theory.step_size(actions, horizon)
    mesh = mesh_of(devices, pieces=1)
    placed = replicate((distribution, jnp.asarray(gaussian, float), key), mesh)
    step, half, excess = map(float, _newton(*placed, (rounds, actions, sequences), mesh))
    return StepInterval(step, step - half, step + half, gaussian, excess)


@eqx.filter_jit
def _newton(
    distribution: Distribution,
    guess: Step,
    key: PRNGKeyArray,
    shape: tuple[int, int, int],
    mesh: Mesh | None,
) -> tuple[Step, Step, Step]:
    """Minimise by Newton steps from a guess; return the step, half its interval, and the guess's excess loss."""
    losses = split(distribution.draw(*shape, key=key), mesh)
    best = losses.sum(0).min(0)
    centre = (suffered(guess, losses) - best).mean()

    def square(step: Step) -> Float[Array, "n"]:
        return (suffered(step, losses) - best - centre) ** 2

    slope = jax.jacfwd(square)
    curvature = jax.jacfwd(lambda step: slope(step).mean())

    def improve(step: Step, _: None) -> tuple[Step, None]:
        step = step - slope(step).mean() / jnp.abs(curvature(step))
        return jnp.clip(step, guess / 4, guess * 4), None

    step, _ = lax.scan(improve, guess, None, 12)
    slopes = slope(step)
    half = 1.96 * slopes.std() / slopes.size**0.5 / curvature(step)
    # the mean squared regret is the mean square about the centre plus the square of the centre
    excess = (square(guess).mean() + centre**2) / (square(step).mean() + centre**2) - 1
    return replicate((step, half, excess), mesh)
