r"""The loss along the family $V = -kI$, and its curvature in every direction at $k^\star$.

Along the family everything is exact. In all directions the Hessian is a mean over sequences; it is taken of the
hindsight form $\sum_t \|\pi_t - \pi^\star_t\|^2$, which differs from squared regret by a constant in expectation.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import theory
from regrax.attention import LinearAttention
from regrax.sharding import Devices, each, everywhere, mesh_of
from regrax.training import HindsightObjective

BATCHES = 10  # independent Hessians, for standard errors
FLAT = 1e-8  # an eigenvalue below this share of the largest is a flat direction


class Family(NamedTuple):
    r"""The derivative of the loss in the step, over a wide range of steps.

    Attributes:
        step: the stationary step $k^\star$.
        slopes: $L'$ at half, once and twice the step.
        curvature: $L''$ at the step, by differences.
        roots: sign changes of $L'$ that were found.
        scanned: from, to, and how many points.
    """

    step: float
    slopes: dict[str, float]
    curvature: float
    roots: int
    scanned: tuple[float, float, int]


class Curvature(NamedTuple):
    """Eigenvalues of the Hessian over all parameters, ascending, with standard errors.

    Attributes:
        eigenvalues: ascending.
        errors: their standard errors.
        flat: how many are zero.
        expected_flat: how many should be, $d + 1$.
    """

    eigenvalues: Float[np.ndarray, "n"]
    errors: Float[np.ndarray, "n"]
    flat: int
    expected_flat: int

    @property
    def is_minimum(self) -> bool:
        """Whether exactly the symmetric directions are flat and all others clearly go up."""
        curved = slice(self.flat, None)
        clear = self.eigenvalues[curved] > 3 * self.errors[curved]
        return self.flat == self.expected_flat and bool(clear.all())


def family(actions: int, horizon: int, points: int = 61) -> Family:
    r"""Signs of $L'(k)$ around $k^\star$, and how many roots it has on $[k^\star/1000, 300 k^\star]$.

    >>> found = family(2, 2, points=2)
    >>> found.slopes["half"] < 0 < found.slopes["twice"], found.roots
    (True, 1)
    """
    step = theory.step_size(actions, horizon)
    slope = partial(theory.loss_derivative, actions=actions, horizon=horizon)
    grid = step * np.logspace(-3, 2.5, points)
    signs = np.array([_sign(slope, k) for k in grid if k != step])
    bump = 1e-3 * step
    return Family(
        step,
        {"half": slope(step / 2), "once": slope(step), "twice": slope(2 * step)},
        (slope(step + bump) - slope(step - bump)) / (2 * bump),
        int((np.diff(signs[signs != 0]) != 0).sum()),
        (float(grid[0]), float(grid[-1]), points),
    )


def _sign(slope: Callable[..., float], step: float) -> float:
    """The sign of a slope: two coarse quadratures that agree decide it, or else the fine one, far slower."""
    coarse, finer = slope(step, fineness=0.5), slope(step, fineness=0.6)
    return float(np.sign(finer if abs(finer - coarse) < abs(finer) / 2 else slope(step)))


def curvature(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    sequences: int = 20_000,
    devices: Devices | None = None,
) -> Curvature:
    r"""The spectrum of the Hessian of the regret loss over $(V, a, v_c)$ at $k^\star$.

    $V \to V + 1c^\top$ and $v_c \to v_c + \alpha 1$ change no policy: $d + 1$ directions must be flat.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: of the random numbers; the same key gives the same sequences.
        sequences: how many, over ten independent batches.
        devices: that share the ten batches; by default one.

    >>> import jax
    >>> curvature(2, 5, key=jax.random.key(0), sequences=2000).is_minimum
    True
    """
    step = theory.step_size(actions, horizon)
    with jax.enable_x64(True):
        mesh = mesh_of(devices)
        placed = everywhere((LinearAttention.hedge(actions, step), key), mesh)
        every = np.asarray(_hessians(*placed, actions, horizon, sequences // BATCHES, mesh))
    mean = every.mean(0)
    values, vectors = np.linalg.eigh((mean + mean.T) / 2)
    along = np.einsum("in,bij,jn->bn", vectors, every, vectors)
    errors = along.std(0, ddof=1) / len(every) ** 0.5
    flat = int((np.abs(values) <= FLAT * values[-1]).sum())
    return Curvature(values, errors, flat, actions + 1)


@partial(jax.jit, static_argnames=("actions", "horizon", "count", "mesh"))
def _hessians(
    model: LinearAttention,
    key: PRNGKeyArray,
    actions: int,
    horizon: int,
    count: int,
    mesh: Mesh | None,
) -> Float[Array, "b n n"]:
    objective = HindsightObjective(actions, horizon, conditional=True)
    flat, rebuild = ravel_pytree(model)

    def hessian(shared: tuple, index: Array) -> Float[Array, "n n"]:
        flat, key = shared
        data = objective.draw(count, key=jax.random.fold_in(key, index))
        return jax.hessian(lambda p: objective.loss(rebuild(p), data))(flat)

    return each(hessian, (flat, key), BATCHES, mesh)
