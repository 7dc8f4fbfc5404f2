r"""The best step for each round separately: how much a schedule gains over the best constant step.

The loss adds up over rounds, $L = T\,E[m^2] + \sum_t f(k_t\sqrt{T}, (t-1)/T)$ with $f = A - 2B$
(`regrax.theory._integrals`), so each $k_t$ minimises its own term. In round 1 every step plays uniformly; it is given
the limit from later rounds, $k_1\sqrt{T} = \frac{d}{d-1} E[-m]$, where the two sides of
$f = \mathrm{const} + \tau\,(K^2 (d-1)/d^2 - 2K\,E[-m]/d) + O(\tau^2)$ balance. In the last rounds $k_t$ grows like one
over the root of the rounds that remain.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax import _checks as checks
from regrax.theory._integrals import round_loss, round_nodes
from regrax.theory._loss import check_size, loss, minimum_moment, node_count, optimal_loss
from regrax.theory._step_size import secant, step_size


class StepSchedule(NamedTuple):
    """The steps of rounds 1..T, what they attain, and where that lies between the best constant step and the limit.

    Attributes:
        steps: of rounds 1 to $T$.
        loss: that they attain.
        constant_loss: of the best constant step.
        optimal_loss: of the best possible policy.
    """

    steps: Float[ndarray, "T"]
    loss: float
    constant_loss: float
    optimal_loss: float

    @property
    def closed(self) -> float:
        """The fraction of the distance from the best constant step to the best possible policy that it closes."""
        return (self.constant_loss - self.loss) / (self.constant_loss - self.optimal_loss)


def step_schedule(actions: int, horizon: int) -> StepSchedule:
    r"""$k_t = \arg\min_k E\bigl[\|\pi_t\|^2 - 2\pi_{t,J^*}\bigr]$ for Hedge with step $k$, $t = 1..T$.

    Play it with `Hedge(PerRound(schedule.steps))`.

    >>> schedule = step_schedule(3, 20)
    >>> schedule.loss, schedule.closed
    (14.6305, 0.9824)
    >>> schedule.steps[[0, 10, 19]].tolist()
    [0.2839, 0.3964, 1.2272]
    """
    check_size(actions, horizon)
    checks.at_least("horizon", horizon, 2)  # a schedule lists its rounds: finitely many
    nodes = node_count(actions, np.inf, 1.3)
    at_nodes, weight = round_nodes(horizon, nodes)
    rounds = np.arcsin(np.sqrt(np.arange(horizon) / horizon))
    # every round of a short horizon, a few dozen nodes for a long one
    theta = round_nodes(horizon if horizon <= nodes else np.inf, nodes)[0]
    best = _best_steps(theta, actions)
    at_node_steps = _interpolate(theta, best, at_nodes)
    pairs = zip(at_node_steps, np.sin(at_nodes) ** 2, strict=True)
    terms = [round_loss(K, tau, actions).value for K, tau in pairs]
    return StepSchedule(
        _interpolate(theta, best, rounds) / np.sqrt(horizon),
        horizon * (minimum_moment(actions, 2) + float(weight @ terms)),
        loss(step_size(actions, horizon), actions, horizon),
        optimal_loss(actions, horizon),
    )


def _best_steps(theta: Float[ndarray, "n"], d: int) -> Float[ndarray, "n"]:
    r"""The best scaled step at each angle; $K\cos\theta$ varies slowly, so each search starts from the one before."""
    first = best = -d / (d - 1) * minimum_moment(d, 1)
    found, before = [], 0.0
    for angle in theta:
        best *= np.cos(before) / np.cos(angle)
        best = first if angle == 0 else _best_step(best, np.sin(angle) ** 2, d)
        found.append(best)
        before = angle
    return np.array(found)


def _best_step(guess: float, tau: float, d: int) -> float:
    return secant(lambda K: round_loss(K, tau, d).slope, guess, 1.01 * guess, tolerance=1e-11)[0]


def _interpolate(
    theta: Float[ndarray, "n"], steps: Float[ndarray, "n"], points: Float[ndarray, "m"]
) -> Float[ndarray, "m"]:
    r"""The polynomial for $K\cos\theta$ through the nodes, at the points, divided by $\cos\theta$; exact at nodes."""
    above, below = np.zeros_like(points), np.zeros_like(points)
    for node, step, weight in zip(theta, steps, _barycentric(theta), strict=True):
        share = weight / np.where(points == node, 1.0, points - node)
        above, below = above + share * step * np.cos(node), below + share
    result = above / below / np.cos(points)
    for node, step in zip(theta, steps, strict=True):
        result[points == node] = step
    return result


def _barycentric(theta: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    r"""$\prod_{j \ne i} 1/(\theta_i - \theta_j)$, up to a common factor that keeps it in range."""
    apart = theta[:, None] - theta + np.eye(theta.size)
    size = np.log(np.abs(apart)).sum(1)
    return np.prod(np.sign(apart), 1) * np.exp(size.min() - size)
