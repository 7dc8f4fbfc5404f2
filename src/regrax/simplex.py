r"""The probability simplex: fixed points of column-stochastic matrices, and Euclidean projections.

A matrix $P$ is column-stochastic when column $i$ is the distribution that action $i$ is sent to; its stationary
distribution solves $\pi = P\pi$. See `docs/conventions.md`.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int

from regrax import _checks as checks, _fast_paths as fast_paths

__all__ = ["PowerIteration", "power_iteration", "project_ball", "project_simplex", "stationary"]


class PowerIteration(NamedTuple):
    """What `power_iteration` found, and how well it did."""

    distribution: Float[Array, "d"]
    residual: Float[Array, ""]  # ||P pi - pi||_1 at the last step
    iterations: Int[Array, ""]


# Functions that loop are jitted: called outside of any `jit` they would otherwise compile anew each time.
@partial(jax.jit, static_argnames=("tolerance", "max_iterations"))
def stationary(
    matrix: Float[Array, "d d"],
    start: Float[Array, "d"] | None = None,
    *,
    tolerance: float | None = None,
    max_iterations: int | None = None,
) -> Float[Array, "d"]:
    r"""The stationary distribution $\pi = P\pi$ of a column-stochastic matrix.

    Without `start` it is exact: Grassmann-Taksar-Heyman elimination uses no subtraction, so every component keeps
    its relative accuracy even when the chain almost splits in two. With `start` (a policy known to be near) it
    takes power steps until $\|P\pi - \pi\|_1 \le$ `tolerance` and eliminates if `max_iterations` were not enough;
    a `vmap` over many small matrices eliminates at once, which is faster than steps until the last of them is done.

    Differentiation is implicit in both: $(I - P + \pi 1^\top)\, d\pi = (dP - \mathrm{diag}(1^\top dP))\,\pi$.
    A chain with several closed
    classes has several stationary distributions; one of them is returned.

    Args:
        matrix: column-stochastic $P$, of shape `(d, d)`; its diagonal is implied by the rest.
        start: a policy known to be near; without it the result is exact.
        tolerance: on $\|P\pi - \pi\|_1$ with `start`; by default 1e-6 in float32, 1e-10 in float64.
        max_iterations: power steps before elimination takes over; by default $4d$, at least 64: about its cost.

    >>> import jax.numpy as jnp
    >>> stationary(jnp.array([[0.5, 0.2], [0.5, 0.8]])).tolist()
    [0.2857, 0.7143]

    Reference: Grassmann, Taksar, Heyman (1985), Regenerative analysis and steady state distributions.
    """
    matrix = _square(matrix)
    if tolerance is None:
        tolerance = 1e-10 if matrix.dtype == jnp.float64 else 1e-6
    steps = max(64, 4 * len(matrix)) if max_iterations is None else max_iterations
    return _solve(matrix, lax.stop_gradient(start), tolerance, steps)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _solve(
    matrix: Float[Array, "d d"],
    start: Float[Array, "d"] | None,
    tolerance: float,
    max_iterations: int,
) -> Float[Array, "d"]:
    if start is None:
        return _eliminate(matrix)
    near = partial(_near, tolerance=tolerance, max_iterations=max_iterations)
    one = custom_vmap(near)

    @one.def_vmap
    def many(count: int, mapped: list[bool], matrix: Array, start: Array) -> tuple[Array, bool]:
        """Small chains side by side: on the last axis, where XLA works on whole vectors of them."""
        d = matrix.shape[-1]
        if not mapped[0] or d > fast_paths.MAX_BATCHED_STATES:
            axes = [0 if is_mapped else None for is_mapped in mapped]
            return jax.vmap(near, axes, axis_size=count)(matrix, start), True
        if d <= fast_paths.MAX_ELIMINATED_STATES or count >= fast_paths.MIN_ELIMINATED_CHAINS:
            # power steps would go on until the slowest chain is done
            return jax.vmap(_eliminate)(matrix), True
        starts = start if mapped[1] else jnp.broadcast_to(start, (count, *start.shape))
        return near(jnp.moveaxis(matrix, 0, 2), starts.T).T, True

    return one(matrix, start)


def _near(
    matrix: Float[Array, "d d *n"],
    start: Float[Array, "d *n"],
    tolerance: float,
    max_iterations: int,
) -> Float[Array, "d *n"]:
    """Power steps, and elimination of the chains that they leave above `tolerance`; several are on the last axis."""
    found = _powers(matrix, start, tolerance, max_iterations)
    # as Blum-Mansour has them: nothing is transposed unless it is needed
    rows = matrix.swapaxes(0, 1)
    # rarely run, so in the form that is quick to compile
    eliminate = _eliminate_one if matrix.ndim == 2 else jax.vmap(_eliminate_one, -1, -1)

    def mend(carry: tuple) -> tuple:
        # XLA would move work that does not change out of the loop, and so do it every time: tie it to the carry
        residual, tied = lax.optimization_barrier((carry[1], rows))
        mended = eliminate(tied.swapaxes(0, 1))
        return jnp.where(residual > tolerance, mended, carry[0]), jnp.zeros_like(residual)

    # A `while_loop` that runs at most once: under `vmap` it is skipped when every chain has converged,
    # where `cond` would turn into a select and eliminate every time.
    powers = found.distribution, found.residual
    return lax.while_loop(lambda carry: (carry[1] > tolerance).any(), mend, powers)[0]


@_solve.defjvp
def _solve_jvp(tolerance: float, max_iterations: int, primals: tuple, tangents: tuple) -> tuple:
    """The implicit derivative, whatever found the distribution."""
    pi, matrix, tangent = _solve(*primals, tolerance, max_iterations), primals[0], tangents[0]
    system = jnp.eye(pi.size, dtype=pi.dtype) - matrix + jnp.outer(pi, jnp.ones_like(pi))
    return pi, jnp.linalg.solve(system, tangent @ pi - tangent.sum(0) * pi)


@custom_vmap
def _eliminate(matrix: Float[Array, "d d"]) -> Float[Array, "d"]:
    """The stationary distribution by elimination; a `vmap` takes small chains side by side."""
    return _eliminate_one(matrix)


@_eliminate.def_vmap
def _eliminate_batch(
    count: int, mapped: list[bool], matrices: Float[Array, "n d d"]
) -> tuple[Float[Array, "n d"], bool]:
    if matrices.shape[1] <= fast_paths.MAX_BATCHED_STATES:
        return _eliminate_many(jnp.moveaxis(matrices, 0, 2)).T, True
    return jax.vmap(_eliminate_one)(matrices), True


@jax.jit  # traced once, wherever it is mapped
def _eliminate_one(matrix: Float[Array, "d d"]) -> Float[Array, "d"]:
    """Censor the chain to ever fewer states, then build the distribution back up, one state at a time."""
    states = jnp.arange(len(matrix))

    def censor(rates: Float[Array, "d d"], last: Int[Array, ""]) -> tuple:
        out = jnp.where(states < last, rates[:, last], 0)
        into = jnp.where(states < last, rates[last, :], 0)
        leaving = out.sum()
        share = jnp.where(leaving > 0, leaving, 1)
        return rates + jnp.outer(out / share, into), (into / share, leaving > 0)

    def grow(pi: Float[Array, "d"], censored: tuple) -> tuple:
        state, arrivals, leaves = censored
        here = states == state
        grown = jnp.where(here, (arrivals * pi).sum(), pi)
        pi = jnp.where(leaves, grown, here.astype(pi.dtype))
        return pi / pi.sum(), None

    _, censored = lax.scan(censor, matrix, states[1:], reverse=True)
    start = (states == 0).astype(matrix.dtype)
    return lax.scan(grow, start, (states[1:], *censored))[0]


def _eliminate_many(matrix: Float[Array, "d d n"]) -> Float[Array, "d n"]:
    """The same for chains on the last axis, where XLA works on whole vectors of them, in steps written out."""
    censored = []
    for last in range(len(matrix) - 1, 0, -1):
        out, into = matrix[:last, last], matrix[last, :last]
        leaving = _added(out)
        censored.append((into, leaving))
        share = out / jnp.where(leaving > 0, leaving, 1)
        matrix = matrix[:last, :last] + share[:, None] * into[None]
    pi = jnp.ones_like(matrix[0])
    for into, leaving in reversed(censored):
        arriving = _added(into * pi)
        # a state without ways to and from those before it stays empty
        closed = leaving + arriving == 0
        grown = jnp.concatenate([jnp.where(closed, 1, leaving) * pi, arriving])
        pi = grown / jnp.where(closed, 1, leaving + arriving)
    return pi


def _added(rows: Float[Array, "m n"]) -> Float[Array, "1 n"]:
    """Their sum written out, which XLA computes where it is used."""
    return jnp.asarray(sum(rows[j : j + 1] for j in range(len(rows))))


@partial(jax.jit, static_argnames=("tolerance", "max_iterations"))
def power_iteration(
    matrix: Float[Array, "d d"],
    start: Float[Array, "d"] | None = None,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> PowerIteration:
    r"""Repeat $\pi \leftarrow P\pi$ until $\|P\pi - \pi\|_1 \le$ `tolerance` or `max_iterations` steps are taken.

    The residual comes with the answer: a chain that mixes slowly stops at the cap with a residual above tolerance.
    Forward-mode derivatives go through the steps taken; prefer `stationary`, whose derivative is implicit.

    Args:
        matrix: column-stochastic $P$, of shape `(d, d)`.
        start: the first $\pi$; by default uniform.
        tolerance: on the residual $\|P\pi - \pi\|_1$.
        max_iterations: cap on the steps.

    >>> import jax.numpy as jnp
    >>> power_iteration(jnp.array([[0.5, 0.2], [0.5, 0.8]])).distribution.tolist()
    [0.2857, 0.7143]
    """
    matrix = _square(matrix)
    d = len(matrix)
    start = jnp.full(d, 1 / d, matrix.dtype) if start is None else start
    found = _powers(matrix, start, tolerance, max_iterations)
    return found._replace(residual=found.residual[0])


def _powers(
    matrix: Float[Array, "d d *n"],
    start: Float[Array, "d *n"],
    tolerance: float,
    max_iterations: int,
) -> PowerIteration:
    """Of one chain, or of several on the last axis, each of which rests once it has arrived."""
    # Blum-Mansour has the columns as rows: `matrix @ pi` would make XLA copy them into place at every round
    product = partial(jnp.matmul, b=matrix.T) if matrix.ndim == 2 else partial(products, matrix)

    def step(carry: PowerIteration) -> PowerIteration:
        moved = product(carry.distribution)
        residual = jnp.abs(moved - carry.distribution).sum(0, keepdims=True)
        going = carry.residual > tolerance if matrix.ndim > 2 else True
        return PowerIteration(
            jnp.where(going, moved, carry.distribution),
            jnp.where(going, residual, carry.residual),
            carry.iterations + 1,
        )

    residual = jnp.full((1, *start.shape[1:]), jnp.inf, matrix.dtype)
    found = lax.while_loop(
        lambda carry: (carry.residual > tolerance).any() & (carry.iterations < max_iterations),
        step,
        PowerIteration(start, residual, jnp.zeros((), int)),
    )
    pi = found.distribution
    return found._replace(distribution=pi / pi.sum(0, keepdims=True))


def products(matrices: Float[Array, "d m n"], vectors: Float[Array, "m #n"]) -> Float[Array, "d n"]:
    """Each matrix on the last axis times its vector, as a sum written out: six to ten times as fast as `einsum`."""
    return jnp.asarray(sum(matrices[:, j] * vectors[j : j + 1] for j in range(len(vectors))))


def _square(matrix: Any) -> Float[Array, "d d"]:
    """Return the matrix as an array; raise unless it is square."""
    matrix = jnp.asarray(matrix)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    checks.shape("matrix", matrix, "(d, d)", square)
    return matrix


@jax.jit
def project_simplex(point: Float[Array, "d"]) -> Float[Array, "d"]:
    r"""The nearest distribution $\arg\min_{x \in \Delta} \|x - y\|_2 = \max(y - \theta, 0)$, $\theta$ for sum 1.

    >>> import jax.numpy as jnp
    >>> project_simplex(jnp.array([0.9, 0.5, -1.0])).tolist()
    [0.7, 0.3, 0.0]

    Reference: Held, Wolfe, Crowder (1974), Validation of subgradient optimization.
    """
    point = jnp.asarray(point)
    checks.shape("point", point, "(d,)", point.ndim == 1 and point.size > 0)
    descending = jnp.sort(point)[::-1]
    counts = jnp.arange(1, point.size + 1, dtype=point.dtype)
    thresholds = (jnp.cumsum(descending) - 1) / counts
    support = (descending > thresholds).sum()
    return jnp.maximum(point - thresholds[support - 1], 0)


def project_ball(
    point: Float[Array, "d"], radius: float | Float[Array, ""] = 1.0
) -> Float[Array, "d"]:
    r"""The nearest point of the L2 ball: $\arg\min_{\|x\| \le R} \|x - y\|_2 = y \min(1, R/\|y\|)$.

    >>> import jax.numpy as jnp
    >>> project_ball(jnp.array([3.0, 4.0])).tolist()
    [0.6, 0.8]
    """
    square = jnp.sum(point**2)
    outside = square > radius**2
    # the double `where` keeps the gradient at the origin finite
    norm = jnp.sqrt(jnp.where(outside, square, 1))
    return jnp.where(outside, point * (radius / norm), point)
