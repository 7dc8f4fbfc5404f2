r"""Compare predictions of the exact curvature with Hessians of sampled sequences and with training.

Both use the hindsight form of the loss, $\sum_t \|\pi_t - \pi^\star_t\|^2$ averaged over a set of sequences, which
differs from squared regret by a constant in expectation. Parameters are in the order $V$ (by rows), $a$, $v_c$, as in
`LinearAttention`.

**Hessians** are compared eigenspace by eigenspace. The mean over an eigenspace, $\mathrm{tr}(U^\top \hat H U)/\dim U$,
does not depend on a basis, so it is not biased by eigenvalue repulsion in a noisy matrix.

**Training.** Gradient descent on a loss with Hessian eigenvalues $\lambda_{\min} \dots \lambda_{\max}$ converges for
rates below $2/\lambda_{\max}$, fastest at $2/(\lambda_{\min} + \lambda_{\max})$, by $(\kappa - 1)/(\kappa + 1)$ per
step. A step preconditioned by the inverse of the Hessian at $k^*$ needs no rate. On a fixed set of sequences the only
noise is the difference between the Hessian of the set and the expected Hessian.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

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
from regrax.theory import Curvature
from regrax.training import Gaussian
from regrax.training.objectives import best_policy

BATCHES = 10  # independent Hessians, for standard errors
Vector = Float[Array, "n"]


def hindsight_loss(
    rebuild: Callable[[Vector], Any], losses: Float[Array, "T d n"]
) -> Callable[[Vector], Float[Array, ""]]:
    """Return the hindsight form of the loss on these sequences, as a function of a layer's parameters."""
    target = best_policy(losses)

    def loss(parameters: Vector) -> Float[Array, ""]:
        return jnp.sum((rebuild(parameters).policies(losses) - target) ** 2) / losses.shape[2]

    return loss


def sampled_curvature(
    exact: Curvature,
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
    along = np.einsum("in,bij,jn->bn", vectors, hessians, vectors)[:, exact.flat :]
    counts = np.array([eigenvalue.multiplicity for eigenvalue in exact.eigenvalues])
    means = np.add.reduceat(along, np.cumsum(counts) - counts, 1) / counts
    expected = [eigenvalue.value for eigenvalue in exact.eigenvalues]
    return Comparison.of("eigenvalues", means, expected, BATCHES - 1)


@partial(jax.jit, static_argnames=("shape", "mesh"))
def _hessians(
    step: Float[Array, ""], key: PRNGKeyArray, shape: tuple[int, int, int], mesh: Mesh | None
) -> Float[Array, "b n n"]:
    """Compute one Hessian per batch, each averaged over its own sequences."""
    flat, rebuild = ravel_pytree(LinearAttention.hedge(shape[1], step))

    def hessian(shared: tuple, index: Array) -> Float[Array, "n n"]:
        flat, key = shared
        losses = Gaussian().draw(*shape, key=jax.random.fold_in(key, index))
        product = jax.linearize(jax.grad(hindsight_loss(rebuild, losses)), flat)[1]
        return lax.map(product, jnp.eye(flat.size))  # compiles in half the time of `jax.hessian`

    return each(hessian, (flat, key), BATCHES, mesh)


def hessian_matrix(exact: Curvature) -> Float[np.ndarray, "n n"]:
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


class Descent(NamedTuple):
    """Predictions of the exact curvature, and measurements of descent on sampled sequences.

    Attributes:
        curvature: exact curvature, with the rates it predicts.
        contraction: measured contraction factor per step of gradient descent at the best rate.
        below: growth of the gradient per step at 0.95 times the largest stable rate.
        above: growth of the gradient per step at 1.05 times the largest stable rate.
        gradient_steps: gradient descent steps from uniform play to a loss within the tolerance of the minimum; None if
            not reached.
        preconditioned_steps: preconditioned steps from uniform play, each halved until the loss falls.
        nearby_steps: full preconditioned steps from half the stationary step.
    """

    curvature: Curvature
    contraction: float
    below: float
    above: float
    gradient_steps: int | None
    preconditioned_steps: int | None
    nearby_steps: int | None


def descent(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    sequences: int = 20_000,
    tolerance: float = 1e-6,
    steps: int = 1000,
) -> Descent:
    r"""Train one linear layer by gradient descent at the predicted rate, and by preconditioned steps.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: random key of the sequences.
        sequences: number of sequences, at least 100.
        tolerance: excess loss at which training counts as converged.
        steps: maximum number of gradient descent steps.

    >>> import jax
    >>> measured = descent(2, 4, key=jax.random.key(0), sequences=1000, steps=10)
    >>> measured.below < 1 < measured.above, measured.nearby_steps <= 6
    (True, True)
    """
    checks.at_least("sequences", sequences, 100)
    exact = theory.curvature(actions, horizon)
    values, vectors = np.linalg.eigh(hessian_matrix(exact))
    curved = vectors[:, exact.flat :]  # without the flat directions
    inverse = curved / values[exact.flat :] @ curved.T
    with jax.enable_x64(True):
        stationary, rebuild = ravel_pytree(LinearAttention.hedge(actions, exact.step))
        losses = jax.random.normal(key, (horizon, actions, sequences))
        loss = jax.jit(jax.value_and_grad(hindsight_loss(rebuild, losses)))

        def gradient_move(rate: float) -> Callable:
            return lambda at, value, slope: rate * slope

        def newton_move(at: Vector, value: Any, slope: Vector) -> Any:
            return inverse @ slope

        def damped_move(at: Vector, value: Any, slope: Vector) -> Any:
            move = inverse @ slope
            for _ in range(20):
                if loss(at - move)[0] < value:
                    break
                move = move / 2
            return move

        def walk(at: Vector, count: int, move: Callable) -> tuple:
            """Return the last parameters, and the loss and gradient norm before each step."""
            history = []
            for _ in range(count):
                value, slope = loss(at)
                history.append((float(value), float(jnp.linalg.norm(slope))))
                at = at - move(at, value, slope)
            return at, *np.array(history).T

        best = walk(stationary, 12, newton_move)[0]  # to rounding
        minimum = float(loss(best)[0])
        away = best + 1e-4 * curved.sum(1)  # along every eigenvector

        def growth(rate: float, count: int) -> float:
            """Return the growth of the gradient norm per step, over the last quarter of the steps."""
            norms = walk(away, count, gradient_move(rate))[2]
            return float((norms[-1] / norms[-1 - count // 4]) ** (4 / count))

        def steps_to_minimum(start: Vector, count: int, move: Callable) -> int | None:
            reached = np.flatnonzero(walk(start, count, move)[1] - minimum <= tolerance)
            return int(reached[0]) if reached.size else None

        uniform = jnp.zeros_like(stationary)
        limit = 2 / exact.largest
        return Descent(
            exact,
            growth(exact.rate, 200),
            growth(0.95 * limit, 60),
            growth(1.05 * limit, 60),
            steps_to_minimum(uniform, steps, gradient_move(exact.rate)),
            steps_to_minimum(uniform, 60, damped_move),
            steps_to_minimum(stationary / 2, 60, newton_move),
        )
