r"""What the exact curvature says of training, measured: rate and speed of gradient descent, preconditioned steps.

Gradient descent on a loss with Hessian eigenvalues $\lambda_{\min} \dots \lambda_{\max}$ converges for rates below
$2/\lambda_{\max}$, fastest at $2/(\lambda_{\min} + \lambda_{\max})$, by $(\kappa - 1)/(\kappa + 1)$ per step. A step
preconditioned by the inverse of the Hessian at $k^*$ needs no such rate. Both are run here on the hindsight form of the
loss, $\sum_t \|\pi_t - \pi^*_t\|^2$, averaged over a fixed set of sequences, so that nothing is left to noise but how
far the Hessian of the set is from the expected one.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks, theory

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

    curvature: theory.Curvature
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
        run = _Runner(exact, value_and_grad)
        start = run.parameters(exact.step)
        best = run.preconditioned(start, POLISH)[0]
        least = float(value_and_grad(best)[0])
        away = best + 1e-4 * jnp.asarray(_one_of_each(exact))
        uniform, half = run.parameters(0.0), run.parameters(exact.step / 2)
        limit = 2 / exact.largest
        return Descent(
            exact,
            run.growth(away, exact.rate, 200),
            run.growth(away, 0.95 * limit, 60),
            run.growth(away, 1.05 * limit, 60),
            _first(run.gradient(uniform, exact.rate, steps)[1] - least, tolerance),
            _first(run.preconditioned(uniform, 60, HALVINGS)[1] - least, tolerance),
            _first(run.preconditioned(half, 60)[1] - least, tolerance),
        )


def _first(excess: Float[np.ndarray, "n"], tolerance: float) -> int | None:
    reached = np.flatnonzero(excess <= tolerance)
    return int(reached[0]) if reached.size else None


def _sampled_loss(actions: int, horizon: int, sequences: int, key: PRNGKeyArray) -> Callable:
    """Value and gradient of the mean loss in the vector (V, v_c, a); forecasts are computed once."""
    losses = jax.random.normal(key, (horizon, actions, sequences))
    past = jnp.cumsum(losses, 0) - losses
    left = jnp.arange(horizon, 0, -1)[:, None]
    target = jnp.moveaxis(theory.optimal_policy(jnp.moveaxis(past, 1, -1), left), -1, 1)
    d = actions

    def loss(p: Float[Array, "n"]) -> Float[Array, ""]:
        V, v, a = p[: d * d].reshape(d, d), p[d * d : -d], p[-d:]
        moved = jnp.einsum("ij,tjn->tin", V, losses) + v[None, :, None]
        moved = moved * (1 + jnp.einsum("j,tjn->tn", a, losses))[:, None]
        z = jnp.cumsum(moved, 0) - moved
        return jnp.sum((jax.nn.softmax(z, axis=1) - target) ** 2) / sequences

    return jax.jit(jax.value_and_grad(loss))


class _Runner:
    """Ways to step on one loss, each returning the last parameters and the losses on the way."""

    def __init__(self, exact: theory.Curvature, value_and_grad: Callable) -> None:
        self.exact, self.value_and_grad = exact, value_and_grad

    def parameters(self, step: float) -> Float[Array, "n"]:
        d = self.exact.actions
        return jnp.concatenate([(-step * jnp.eye(d)).ravel(), jnp.zeros(2 * d)])

    def gradient(self, start: Float[Array, "n"], rate: float, steps: int) -> tuple:
        p, values, norms = start, [], []
        for _ in range(steps):
            value, slope = self.value_and_grad(p)
            values.append(float(value))
            norms.append(float(jnp.linalg.norm(slope)))
            p = p - rate * slope
        return p, np.array(values), np.array(norms)

    def growth(self, start: Float[Array, "n"], rate: float, steps: int) -> float:
        """The factor per step of the gradient's norm over the last quarter."""
        norms = self.gradient(start, rate, steps)[2]
        return float((norms[-1] / norms[-1 - steps // 4]) ** (4 / steps))

    def preconditioned(self, start: Float[Array, "n"], steps: int, halvings: int = 0) -> tuple:
        p, values = start, []
        for _ in range(steps):
            value, slope = self.value_and_grad(p)
            values.append(float(value))
            move, size = self._newton(slope), 1.0
            for _ in range(halvings):
                if float(self.value_and_grad(p - size * move)[0]) < value:
                    break
                size /= 2
            p = p - size * move
        return p, np.array(values)

    def _newton(self, slope: Float[Array, "n"]) -> Float[Array, "n"]:
        d = self.exact.actions
        gradient = theory.Direction(slope[: d * d].reshape(d, d), slope[d * d : -d], slope[-d:])
        move = theory.newton_direction(self.exact, gradient)
        return jnp.concatenate([jnp.ravel(move.values), move.bias, move.scores])


def _one_of_each(exact: theory.Curvature) -> Float[np.ndarray, "n"]:
    """A direction with a part in the eigenspace of every eigenvalue, in the order V, v_c, a."""
    from regrax.certify._sampled_curvature import hessian_matrix

    d = exact.actions
    vectors = np.linalg.eigh(hessian_matrix(exact))[1][:, exact.flat :].sum(1)
    V, a, v = np.split(vectors, [d * d, d * d + d])
    return np.concatenate([V, v, a])
