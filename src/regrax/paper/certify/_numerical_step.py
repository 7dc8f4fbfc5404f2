r"""The stationary step when losses are not Gaussian, or the horizon is random: by Monte Carlo, with an interval.

For i.i.d. losses with a common mean $E[R]$ does not depend on the step, so $E[(R - c)^2]$ has the same minimiser for
every constant $c$; $c$ near $E[R]$ takes most of the noise away. The interval is the usual one for a minimiser:
$\hat k \pm 1.96\,\mathrm{se}(\psi) / E[\psi']$, $\psi = \frac{d}{dk} (R - c)^2$.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.paper.certify._monte_carlo import suffered
from regrax.sharding import Devices, mesh_of, replicate, split
from regrax.training import Distribution, RandomHorizon

NEWTON = 12


class StepInterval(NamedTuple):
    """A step with its 95 % interval, and what the Gaussian step would cost on these losses.

    Attributes:
        step: estimate.
        low: lower end of its 95 % interval.
        high: its upper end.
        gaussian: the exact step for Gaussian losses of the same (mean) horizon.
        excess: loss at the Gaussian step over the loss at the best one, minus 1.
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
    r"""The step that minimises $E[R(k)^2]$ on any i.i.d. losses with a common mean.

    Args:
        distribution: of the losses, i.i.d. with a common mean for all actions.
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$; with `RandomHorizon` their mean, and sequences are drawn twice as long, less one.
        key: of the random numbers; the same key gives the same sequences.
        sequences: how many, at least 100.
        devices: that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> from regrax.training import Gaussian
    >>> found = numerical_step(Gaussian(), 3, 20, key=jax.random.key(0), sequences=2000)
    >>> found.low < 0.4479 < found.high
    True
    """
    checks.at_least("sequences", sequences, 100)
    if distribution.mean is None:
        raise ValueError(
            f"losses must have a common mean for all actions, but {distribution} may not"
        )
    rounds = 2 * horizon - 1 if isinstance(distribution, RandomHorizon) else horizon
    gaussian = theory.step_size(actions, horizon)
    mesh, guess = mesh_of(devices, pieces=1), jnp.asarray(gaussian, float)
    placed = replicate((distribution, guess, key), mesh)
    found = _minimise(*placed, (rounds, actions, sequences), mesh)
    step, half, excess = (float(x) for x in found)
    return StepInterval(step, step - half, step + half, gaussian, excess)


@eqx.filter_jit
def _minimise(
    distribution: Distribution,
    guess: Float[Array, ""],
    key: PRNGKeyArray,
    shape: tuple[int, int, int],
    mesh: Mesh | None,
) -> tuple:
    losses = split(distribution.draw(*shape, key=key), mesh)
    best = losses.sum(0).min(0)
    centre = (suffered(guess, losses) - best).mean()

    def square(step: Float[Array, ""]) -> Float[Array, "n"]:
        return (suffered(step, losses) - best - centre) ** 2

    def slope(step: Float[Array, ""]) -> Float[Array, "n"]:
        return jax.jvp(square, (step,), (jnp.ones_like(step),))[1]

    def derivatives(step: Float[Array, ""]) -> tuple[Float[Array, "n"], Float[Array, ""]]:
        first, second = jax.jvp(slope, (step,), (jnp.ones_like(step),))
        return first, second.mean()

    def improve(step: Float[Array, ""], _: None) -> tuple[Float[Array, ""], None]:
        first, second = derivatives(step)
        return jnp.clip(step - first.mean() / jnp.abs(second), guess / 4, guess * 4), None

    step, _ = lax.scan(improve, guess, None, NEWTON)
    first, second = derivatives(step)
    half = 1.96 * first.std() / first.size**0.5 / second
    # the mean square of regret is the mean square about the centre plus the centre's
    level = square(step).mean() + centre**2
    return replicate((step, half, (square(guess).mean() + centre**2) / level - 1), mesh)
