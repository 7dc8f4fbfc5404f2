r"""Comparison of the exact curvature with Hessians of sampled sequences, eigenspace by eigenspace.

The mean over an eigenspace, $\mathrm{tr}(U^\top \hat H U)/\dim U$, does not depend on a basis, so it is not biased by
eigenvalue repulsion in a noisy matrix. The Hessian is that of the hindsight form
$\sum_t \|\pi_t - \pi^\star_t\|^2$, which differs from squared regret by a constant in expectation. Parameters are in
the order $V$ (by rows), $a$, $v_c$, as in `LinearAttention`.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.attention import LinearAttention
from regrax.paper.certify.samples import Comparison
from regrax.sharding import Devices, each, mesh_of, replicate
from regrax.training import Gaussian
from regrax.training.objectives import best_policy

BATCHES = 10  # independent Hessians, for standard errors


def sampled_curvature(
    exact: theory.Curvature,
    *,
    key: PRNGKeyArray,
    sequences: int = 20_000,
    devices: Devices | None = None,
) -> Comparison:
    r"""Compare the eigenvalues of an exact curvature with those of Hessians averaged over random sequences.

    Args:
        exact: `theory.curvature` of one softmax layer.
        key: random key of the sequences.
        sequences: number of sequences, split into ten batches.
        devices: devices that share the batches; by default one.

    >>> import jax
    >>> from regrax import theory
    >>> sampled_curvature(theory.curvature(2, 5), key=jax.random.key(0), sequences=2000).holds
    True
    """
    checks.at_least("sequences", sequences, BATCHES)
    with jax.enable_x64(True):
        mesh = mesh_of(devices)
        step, key = replicate((jnp.asarray(exact.step, float), key), mesh)
        shape = (int(exact.horizon), exact.actions, sequences // BATCHES)
        hessians = np.asarray(_hessians(step, key, shape, mesh))
    _, vectors = np.linalg.eigh(hessian_matrix(exact))
    # exact eigenvalues may be close together, so an eigenspace is identified by its position in the spectrum
    end = exact.flat
    traces = []
    for eigenvalue in exact.eigenvalues:
        space = vectors[:, end : end + eigenvalue.multiplicity]
        end += eigenvalue.multiplicity
        trace = np.einsum("in,bij,jn->b", space, hessians, space)
        traces.append(trace / eigenvalue.multiplicity)
    error = np.std(traces, axis=1, ddof=1) / BATCHES**0.5
    expected = np.array([eigenvalue.value for eigenvalue in exact.eigenvalues])
    return Comparison("eigenvalues", np.mean(traces, 1), error, expected, BATCHES - 1)


@partial(jax.jit, static_argnames=("shape", "mesh"))
def _hessians(
    step: Float[Array, ""], key: PRNGKeyArray, shape: tuple[int, int, int], mesh: Mesh | None
) -> Float[Array, "b n n"]:
    """Compute one Hessian per batch, each averaged over its own sequences."""
    flat, rebuild = ravel_pytree(LinearAttention.hedge(shape[1], step))

    def hessian(shared: tuple, index: Array) -> Float[Array, "n n"]:
        flat, key = shared
        losses = Gaussian().draw(*shape, key=jax.random.fold_in(key, index))
        best = best_policy(losses)

        def excess(parameters: Float[Array, "n"]) -> Float[Array, ""]:
            return jnp.sum((rebuild(parameters).policies(losses) - best) ** 2) / shape[2]

        product = jax.linearize(jax.grad(excess), flat)[1]
        return lax.map(product, jnp.eye(flat.size))  # compiles in half the time of `jax.hessian`

    return each(hessian, (flat, key), BATCHES, mesh)


def hessian_matrix(exact: theory.Curvature) -> Float[np.ndarray, "n n"]:
    r"""Build the exact Hessian over all $d^2 + 2d$ parameters.

    >>> from regrax import theory
    >>> hessian_matrix(theory.curvature(2, 5)).shape
    (8, 8)
    """
    d = exact.actions
    rows = []
    for unit in np.eye(d * d + 2 * d):
        V, a, v = np.split(unit, [d * d, d * d + d])
        moved = theory.hessian_product(exact, theory.Direction(V.reshape(d, d), v, a))
        rows.append(np.concatenate([moved.values.ravel(), moved.scores, moved.bias]))
    return np.array(rows)
