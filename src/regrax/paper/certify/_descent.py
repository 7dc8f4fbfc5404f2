r"""What the exact curvature says of training, measured: rate and speed of gradient descent, preconditioned steps.

Gradient descent on a loss with Hessian eigenvalues $\lambda_{\min} \dots \lambda_{\max}$ converges for rates below
$2/\lambda_{\max}$, fastest at $2/(\lambda_{\min} + \lambda_{\max})$, by $(\kappa - 1)/(\kappa + 1)$ per step. A step
preconditioned by the inverse of the Hessian at $k^*$ needs no such rate. Both are run here on the hindsight form of the
loss, $\sum_t \|\pi_t - \pi^*_t\|^2$, averaged over a fixed set of sequences, so that nothing is left to noise but how
far the Hessian of the set is from the expected one.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.paper.certify._monte_carlo import best_forecast
from regrax.paper.certify._sampled_curvature import as_direction, hessian_matrix
from regrax.theory import Curvature, Direction

POLISH = 12
"""Preconditioned steps from k* after which the minimum of the set is known to rounding."""

HALVINGS = 20


class Descent(NamedTuple):
    """Predictions from the exact curvature beside what descent on sampled sequences does.

    Attributes:
        curvature: exact, with the rates it predicts.
        contraction: measured per step of gradient descent at the best rate.
        below: growth per step of the gradient at 0.95 of the largest rate, after a while.
        above: the same at 1.05 of it.
        gradient_steps: from uniform play to a loss within the tolerance of the least; None if not reached.
        preconditioned_steps: the same, halving a step while the loss does not fall.
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
        actions: $d$.
        horizon: $T$.
        key: of the sequences.
        sequences: how many are averaged over.
        tolerance: the excess loss at which training counts as done.
        steps: after how many it is given up.

    >>> import jax
    >>> found = descent(2, 4, key=jax.random.key(0), sequences=1000, steps=10)
    >>> found.below < 1 < found.above, found.nearby_steps <= 6
    (True, True)
    """
    checks.at_least("sequences", sequences, 100)
    exact = theory.curvature(actions, horizon)
    with jax.enable_x64(True):
        value_and_grad = _sampled_loss(actions, horizon, sequences, key)
        walk, newton = partial(_walk, value_and_grad), partial(_newton, exact, value_and_grad)
        eye, zeros = jnp.eye(actions), jnp.zeros(actions)
        uniform, half, start = (
            Direction(-share * exact.step * eye, zeros, zeros) for share in (0, 0.5, 1)
        )
        best = walk(start, POLISH, newton)[0]
        least = float(value_and_grad(best)[0])
        away = _moved(best, _one_of_each(exact), 1e-4)
        limit = 2 / exact.largest

        def growth(rate: float, steps: int) -> float:
            """The factor per step of the gradient's norm over the last quarter."""
            norms = walk(away, steps, _down(rate))[2]
            return float((norms[-1] / norms[-1 - steps // 4]) ** (4 / steps))

        def first(start: Direction, steps: int, move: Callable) -> int | None:
            """The first step before which the loss is within the tolerance of the least."""
            reached = np.flatnonzero(walk(start, steps, move)[1] - least <= tolerance)
            return int(reached[0]) if reached.size else None

        return Descent(
            exact,
            growth(exact.rate, 200),
            growth(0.95 * limit, 60),
            growth(1.05 * limit, 60),
            first(uniform, steps, _down(exact.rate)),
            first(uniform, 60, partial(newton, halvings=HALVINGS)),
            first(half, 60, newton),
        )


def _moved(p: Direction, move: Direction, size: float) -> Direction:
    return jax.tree.map(lambda x, change: x + size * change, p, move)


def _sampled_loss(actions: int, horizon: int, sequences: int, key: PRNGKeyArray) -> Callable:
    """Value and gradient of the mean loss in (V, v_c, a); forecasts are computed once."""
    losses = jax.random.normal(key, (horizon, actions, sequences))
    target = best_forecast(losses)

    def loss(p: Direction) -> Float[Array, ""]:
        V, v, a = p
        moved = jnp.einsum("ij,tjn->tin", V, losses) + v[None, :, None]
        moved = moved * (1 + jnp.einsum("j,tjn->tn", a, losses))[:, None]
        z = jnp.cumsum(moved, 0) - moved
        return jnp.sum((jax.nn.softmax(z, axis=1) - target) ** 2) / sequences

    return jax.jit(jax.value_and_grad(loss))


def _walk(value_and_grad: Callable, p: Direction, steps: int, move: Callable) -> tuple:
    """The last parameters, and the losses and norms of gradients on the way."""
    seen = []
    for _ in range(steps):
        value, slope = value_and_grad(p)
        seen.append((float(value), float(jnp.linalg.norm(ravel_pytree(slope)[0]))))
        p = move(p, value, slope)
    return p, *np.array(seen).T


def _down(rate: float) -> Callable:
    return lambda p, value, slope: _moved(p, slope, -rate)


def _newton(
    exact: Curvature,
    value_and_grad: Callable,
    p: Direction,
    value: Array,
    slope: Direction,
    halvings: int = 0,
) -> Direction:
    """A preconditioned step, halved while the loss does not fall."""
    move, size = theory.newton_direction(exact, slope), 1.0
    for _ in range(halvings):
        if value_and_grad(_moved(p, move, -size))[0] < value:
            break
        size /= 2
    return _moved(p, move, -size)


def _one_of_each(exact: Curvature) -> Direction:
    """A direction with a part in the eigenspace of every eigenvalue."""
    vectors = np.linalg.eigh(hessian_matrix(exact))[1][:, exact.flat :]
    return as_direction(vectors.sum(1), exact.actions)
