r"""The probability simplex: fixed points of column-stochastic matrices, and Euclidean projections.

A matrix $P$ is column-stochastic when column $i$ is the distribution that action $i$ is sent to; its stationary
distribution solves $\pi = P\pi$. See `docs/reference/conventions.md`.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int

from regrax import _checks as checks

Vector = Float[Array, "d"]
Matrix = Float[Array, "d d"]
Number = Float[Array, ""]
Integer = Int[Array, ""]

MAX_UNROLLED_STATES = 16
"""Largest number of states for which elimination is unrolled; beyond it, compiling takes too long."""

__all__ = ["PowerIteration", "power_iteration", "project_ball", "project_simplex", "stationary"]


class PowerIteration(NamedTuple):
    """Result of `power_iteration`."""

    distribution: Vector
    residual: Number  # ||P pi - pi||_1 at the last step
    iterations: Integer


def stationary(
    matrix: Float[Any, "d d"],
    start: Float[Any, "d"] | None = None,
    *,
    tolerance: float | None = None,
    max_iterations: int | None = None,
) -> Vector:
    r"""Compute the stationary distribution $\pi = P\pi$ of a column-stochastic matrix.

    Without `start` the result is exact: Grassmann-Taksar-Heyman elimination uses no subtraction, so every component
    keeps its relative accuracy even if the chain nearly splits in two. With `start` (a policy known to be close) it
    takes power steps until $\|P\pi - \pi\|_1 \le$ `tolerance`, and falls back to elimination after `max_iterations`.

    Differentiation is implicit in both cases: $(I - P + \pi 1^\top)\, d\pi = (dP - \mathrm{diag}(1^\top dP))\,\pi$.
    A chain with several closed classes has several stationary distributions, of which one is returned.

    Args:
        matrix: column-stochastic $P$, of shape `(d, d)`; its diagonal is implied by the rest.
        start: a policy known to be close; without it the result is exact.
        tolerance: limit on $\|P\pi - \pi\|_1$ with `start`; by default 1e-6 in float32, 1e-10 in float64.
        max_iterations: power steps before falling back to elimination; by default $4d$ but at least 64, which costs
            about as much as elimination.

    >>> import jax.numpy as jnp
    >>> stationary(jnp.array([[0.5, 0.2], [0.5, 0.8]])).tolist()
    [0.2857, 0.7143]

    Reference: Grassmann, Taksar, Heyman (1985), Regenerative analysis and steady state distributions.
    """
    matrix = _square(matrix)
    checks.finite("matrix", matrix)
    if tolerance is None:
        tolerance = 1e-10 if matrix.dtype == jnp.float64 else 1e-6
    if max_iterations is None:
        max_iterations = max(64, 4 * len(matrix))
    return _jitted_solve(matrix, lax.stop_gradient(start), tolerance, max_iterations)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _solve(
    matrix: Matrix,
    start: Vector | None,
    tolerance: float,
    max_iterations: int,
) -> Vector:
    if start is None:
        return _eliminate(matrix)
    near = partial(_near, tolerance=tolerance, max_iterations=max_iterations)
    mapped = custom_vmap(near)

    @mapped.def_vmap
    def many(count: int, axes: list[bool], matrix: Array, start: Array) -> tuple[Array, bool]:
        # power steps run until the slowest chain converges, which takes 2.5 times as long for 64 chains of 10 states
        if axes[0] and matrix.shape[-1] <= MAX_UNROLLED_STATES:
            return jax.vmap(_eliminate_unrolled)(matrix), True
        in_axes = [0 if is_mapped else None for is_mapped in axes]
        return jax.vmap(near, in_axes, axis_size=count)(matrix, start), True

    return mapped(matrix, start)


def _near(matrix: Matrix, start: Vector, tolerance: float, max_iterations: int) -> Vector:
    """Take power steps, and fall back to elimination if they do not converge."""
    found = _powers(matrix, start, tolerance, max_iterations)

    def eliminate(carry: tuple) -> tuple:
        # the barrier stops XLA from moving the elimination, which does not depend on the carry, out of the loop
        residual, tied = lax.optimization_barrier((carry[1], matrix))
        return _eliminate_by_scan(tied), jnp.zeros_like(residual)  # rarely run, quick to compile

    # This `while_loop` runs at most once. Under `vmap` it is skipped if every chain has converged, whereas `cond` would
    # become a select and always eliminate.
    powers = found.distribution, found.residual
    return lax.while_loop(lambda carry: carry[1] > tolerance, eliminate, powers)[0]


# without `jit`, its loops would be recompiled on every call
_jitted_solve = jax.jit(_solve, static_argnums=(2, 3))


@_solve.defjvp
def _solve_jvp(tolerance: float, max_iterations: int, primals: tuple, tangents: tuple) -> tuple:
    """Differentiate implicitly, whichever method computed the distribution."""
    matrix, start = primals
    tangent, _ = tangents
    pi = _solve(matrix, start, tolerance, max_iterations)
    system = jnp.eye(pi.size, dtype=pi.dtype) - matrix + jnp.outer(pi, jnp.ones_like(pi))
    return pi, jnp.linalg.solve(system, tangent @ pi - tangent.sum(0) * pi)


def _eliminate(matrix: Matrix) -> Vector:
    """Censor the chain to fewer and fewer states, then rebuild the distribution one state at a time."""
    if len(matrix) <= MAX_UNROLLED_STATES:
        return _eliminate_unrolled(matrix)
    return _eliminate_by_scan(matrix)


def _eliminate_unrolled(matrix: Matrix) -> Vector:
    censored = []
    for last in range(len(matrix) - 1, 0, -1):
        out = matrix[:last, last]
        into = matrix[last, :last]
        leaving = out.sum()
        censored.append((into, leaving))
        matrix = matrix[:last, :last] + jnp.outer(out / jnp.where(leaving > 0, leaving, 1), into)
    pi = jnp.ones(1, matrix.dtype)
    for into, leaving in reversed(censored):
        # an absorbing state gets all the weight
        arriving = jnp.where(leaving > 0, (into * pi).sum(), 1)
        pi = jnp.append(leaving * pi, arriving) / (leaving + arriving)
    return pi


@jax.jit  # traced only once, however often it is mapped
def _eliminate_by_scan(matrix: Matrix) -> Vector:
    states = jnp.arange(len(matrix))

    def censor(rates: Matrix, last: Integer) -> tuple:
        out = jnp.where(states < last, rates[:, last], 0)
        into = jnp.where(states < last, rates[last, :], 0)
        leaving = out.sum()
        share = jnp.where(leaving > 0, leaving, 1)
        return rates + jnp.outer(out / share, into), (into / share, leaving > 0)

    def grow(pi: Vector, censored: tuple) -> tuple:
        state, arrivals, leaves = censored
        here = states == state
        grown = jnp.where(here, (arrivals * pi).sum(), pi)
        pi = jnp.where(leaves, grown, here.astype(pi.dtype))
        return pi / pi.sum(), None

    _, censored = lax.scan(censor, matrix, states[1:], reverse=True)
    start = (states == 0).astype(matrix.dtype)
    return lax.scan(grow, start, (states[1:], *censored))[0]


@partial(jax.jit, static_argnames=("tolerance", "max_iterations"))
def power_iteration(
    matrix: Matrix,
    start: Vector | None = None,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> PowerIteration:
    r"""Repeat $\pi \leftarrow P\pi$ until $\|P\pi - \pi\|_1 \le$ `tolerance` or `max_iterations` steps are taken.

    A chain that mixes slowly stops at `max_iterations` with a residual above the tolerance. Forward-mode derivatives
    differentiate the steps; prefer `stationary`, whose derivative is implicit.

    Args:
        matrix: column-stochastic $P$, of shape `(d, d)`.
        start: the first $\pi$; by default uniform.
        tolerance: limit on the residual $\|P\pi - \pi\|_1$.
        max_iterations: largest number of steps.

    >>> import jax.numpy as jnp
    >>> power_iteration(jnp.array([[0.5, 0.2], [0.5, 0.8]])).distribution.tolist()
    [0.2857, 0.7143]
    """
    matrix = _square(matrix)
    d = len(matrix)
    start = jnp.full(d, 1 / d, matrix.dtype) if start is None else start
    return _powers(matrix, start, tolerance, max_iterations)


def _powers(matrix: Matrix, start: Vector, tolerance: float, max_iterations: int) -> PowerIteration:
    def step(carry: PowerIteration) -> PowerIteration:
        # Blum-Mansour stores columns as rows, so `matrix @ pi` would make XLA copy them in every round
        moved = carry.distribution @ matrix.T
        residual = jnp.abs(moved - carry.distribution).sum()
        return PowerIteration(moved, residual, carry.iterations + 1)

    near = lax.while_loop(
        lambda carry: (carry.residual > tolerance) & (carry.iterations < max_iterations),
        step,
        PowerIteration(start, jnp.asarray(jnp.inf, matrix.dtype), jnp.zeros((), int)),
    )
    return near._replace(distribution=near.distribution / near.distribution.sum())


def _square(matrix: Any) -> Matrix:
    """Return the matrix as an array; raise unless it is square."""
    matrix = jnp.asarray(matrix)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    checks.shape("matrix", matrix, "(d, d)", square)
    return matrix


def project_simplex(point: Float[Any, "d"]) -> Vector:
    r"""Project a point onto the simplex: $\arg\min_{x \in \Delta} \|x - y\|_2 = \max(y - \theta, 0)$.

    >>> import jax.numpy as jnp
    >>> project_simplex(jnp.array([0.9, 0.5, -1.0])).tolist()
    [0.7, 0.3, 0.0]

    Reference: Held, Wolfe, Crowder (1974), Validation of subgradient optimization.
    """
    point = jnp.asarray(point)
    checks.shape("point", point, "(d,)", point.ndim == 1 and point.size > 0)
    checks.finite("point", point)
    return _project_simplex(point)


@jax.jit
def _project_simplex(point: Vector) -> Vector:
    descending = jnp.sort(point)[::-1]
    counts = jnp.arange(1, point.size + 1, dtype=point.dtype)
    thresholds = (jnp.cumsum(descending) - 1) / counts
    support = (descending > thresholds).sum()
    return jnp.maximum(point - thresholds[support - 1], 0)


def project_ball(point: Vector, radius: float | Number = 1.0) -> Vector:
    r"""Project a point onto the L2 ball: $\arg\min_{\|x\| \le R} \|x - y\|_2 = y \min(1, R/\|y\|)$.

    >>> import jax.numpy as jnp
    >>> project_ball(jnp.array([3.0, 4.0])).tolist()
    [0.6, 0.8]
    """
    checks.finite("point", point)
    # rescale, so that squares of large numbers stay finite
    largest = lax.stop_gradient(jnp.maximum(jnp.abs(point).max(), 1))
    square = jnp.sum((point / largest) ** 2)
    outside = square > (radius / largest) ** 2
    # the double `where` keeps the gradient at the origin finite
    norm = jnp.sqrt(jnp.where(outside, square, 1))
    return jnp.where(outside, point / largest * (radius / norm), point)
