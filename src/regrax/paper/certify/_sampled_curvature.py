r"""The exact curvature against Hessians of sampled sequences, eigenspace by eigenspace.

The mean over an eigenspace, $\mathrm{tr}(U^\top \hat H U)/\dim U$, does not depend on a basis, so that it has no bias
from eigenvalues of a noisy matrix repelling each other. The Hessian is taken of the hindsight form
$\sum_t \|\pi_t - \pi^\star_t\|^2$, which differs from squared regret by a constant in expectation.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.attention import LinearAttention
from regrax.paper.certify._gradients import DOUBT, largest_of
from regrax.paper.certify._monte_carlo import best_forecast
from regrax.sharding import Devices, each, mesh_of, replicate
from regrax.training import Gaussian

BATCHES = 10  # independent Hessians, for standard errors


class SampledEigenvalue(NamedTuple):
    """An exact eigenvalue, what sampled Hessians make of it, and the standard error of that."""

    exact: theory.Eigenvalue
    mean: float
    error: float

    @property
    def score(self) -> float:
        """Difference over standard error: Student's t with one degree of freedom less than batches."""
        return (self.mean - self.exact.value) / self.error


class SampledCurvature(NamedTuple):
    """Every eigenvalue of one layer, exact and sampled."""

    eigenvalues: tuple[SampledEigenvalue, ...]

    @property
    def largest_score(self) -> float:
        """The largest score in size."""
        return max(abs(e.score) for e in self.eigenvalues)

    @property
    def p_value(self) -> float:
        """How often the largest of this many independent scores is as large as ours."""
        from scipy.special import stdtr  # scipy.stats takes as long to import as jax

        return largest_of(len(self.eigenvalues), 2 * stdtr(BATCHES - 1, -self.largest_score))

    @property
    def holds(self) -> bool:
        """Whether the exact spectrum survives."""
        return self.p_value > DOUBT


def sampled_curvature(
    exact: theory.Curvature,
    *,
    key: PRNGKeyArray,
    sequences: int = 20_000,
    devices: Devices | None = None,
) -> SampledCurvature:
    r"""The eigenvalues of an exact curvature beside those of Hessians averaged over random sequences.

    Args:
        exact: `theory.curvature` of one softmax layer.
        key: of the sequences.
        sequences: how many, shared by ten batches.
        devices: what shares the batches.

    >>> import jax
    >>> from regrax import theory
    >>> sampled_curvature(theory.curvature(2, 5), key=jax.random.key(0), sequences=2000).holds
    True
    """
    checks.at_least("sequences", sequences, BATCHES)
    d, T = exact.actions, int(exact.horizon)
    with jax.enable_x64(True):
        mesh = mesh_of(devices)
        placed = replicate((jnp.asarray(exact.step, float), key), mesh)
        every = np.asarray(_hessians(*placed, d, T, sequences // BATCHES, mesh))
    _, vectors = np.linalg.eigh(hessian_matrix(exact))
    # exact eigenvalues may come close to each other: a space is told by its place in the spectrum
    ends = exact.flat + np.cumsum([e.multiplicity for e in exact.eigenvalues])
    spaces = np.split(vectors, [exact.flat, *ends], axis=1)[1:-1]
    pairs = zip(exact.eigenvalues, spaces, strict=True)
    return SampledCurvature(tuple(_sampled(one, space, every) for one, space in pairs))


@partial(jax.jit, static_argnames=("actions", "horizon", "count", "mesh"))
def _hessians(
    step: Float[Array, ""],
    key: PRNGKeyArray,
    actions: int,
    horizon: int,
    count: int,
    mesh: Mesh | None,
) -> Float[Array, "b n n"]:
    flat, rebuild = ravel_pytree(LinearAttention.hedge(actions, step))

    def hessian(shared: tuple, index: Array) -> Float[Array, "n n"]:
        flat, key = shared
        losses = Gaussian().draw(horizon, actions, count, key=jax.random.fold_in(key, index))
        # in single precision: rounding is ten thousand times below the standard errors, and half of the time is here
        best = best_forecast(losses.astype(jnp.float32)).astype(losses.dtype)

        def excess(parameters: Float[Array, "n"]) -> Float[Array, ""]:
            return jnp.sum((rebuild(parameters).policies(losses) - best) ** 2) / count

        product = jax.linearize(jax.grad(excess), flat)[1]
        return lax.map(product, jnp.eye(flat.size))  # compiled in half of the time of `jax.hessian`

    return each(hessian, (flat, key), BATCHES, mesh)


def _sampled(
    exact: theory.Eigenvalue, space: Float[np.ndarray, "n m"], every: Float[np.ndarray, "b n n"]
) -> SampledEigenvalue:
    traces = np.einsum("in,bij,jn->b", space, every, space) / exact.multiplicity
    error = float(traces.std(ddof=1) / len(traces) ** 0.5)
    return SampledEigenvalue(exact, float(traces.mean()), error)


def hessian_matrix(exact: theory.Curvature) -> Float[np.ndarray, "n n"]:
    r"""The exact Hessian over all $d^2 + 2d$ parameters, in the order $V$ (by rows), $a$, $v_c$ of a `LinearAttention`.

    >>> from regrax import theory
    >>> hessian_matrix(theory.curvature(2, 5)).shape
    (8, 8)
    """
    d = exact.actions
    rows = []
    for unit in np.eye(d * d + 2 * d):
        moved = theory.hessian_product(exact, as_direction(unit, d))
        rows.append(np.concatenate([moved.values.ravel(), moved.scores, moved.bias]))
    return np.array(rows)


def as_direction(vector: Float[np.ndarray, "n"], d: int) -> theory.Direction:
    """A vector in the order of `hessian_matrix` as a direction."""
    V, a, v = np.split(vector, [d * d, d * d + d])
    return theory.Direction(V.reshape(d, d), v, a)
