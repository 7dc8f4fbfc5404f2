r"""The curvature at $k^*(d, T)$ for one $d$ and many horizons at once.

The moments of a round depend on $d$, the scaled step $K = k\sqrt{T}$ and the angle $\theta$ with
$\sin^2\theta = (t-1)/T$ only, and are smooth in both: a table at Chebyshev points of $K$ between $k^*(d,2)\sqrt{2}$ and
$c^*(d)$ and of $\theta$ in $(0, \pi/2)$, interpolated, serves every horizon. The stationary step comes from the same
table, as the root of the sum of slopes.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax.theory._curvature import Curvature, assembled
from regrax.theory._curvature_blocks import blocks_from_moments
from regrax.theory._curvature_moments import Moments, round_moments
from regrax.theory._integrals import round_nodes
from regrax.theory._loss import check_size, scale
from regrax.theory._step_size import secant, step_size

STEP_NODES, ANGLE_NODES = 10, 44
EVERY_ATOM = 10**9  # more nodes than the measure of rounds ever has atoms
ERROR = 2e-8
"""What interpolation may cost, as a share of an eigenvalue; checked against single horizons in the tests."""


def curvatures(actions: int, horizons: Sequence[int | float]) -> list[Curvature]:
    r"""`curvature(actions, T)` for every $T$ of a sequence, to eight digits, at the cost of a handful of them.

    >>> [found.smallest for found in curvatures(3, [20, 100])]
    [7.4202745, 56.815072]
    """
    for horizon in horizons:
        check_size(actions, horizon)
    low, high = step_size(actions, 2) * math.sqrt(2), step_size(actions, math.inf)
    steps = _chebyshev(0.995 * low, 1.005 * high, STEP_NODES)
    angles = _chebyshev(0, math.pi / 2, ANGLE_NODES)
    squares = np.sin(angles) ** 2
    table = np.array([[round_moments(K, tau, actions) for tau in squares] for K in steps])

    def at(horizon: int | float) -> Curvature:
        theta, weight = round_nodes(horizon, EVERY_ATOM)
        theta, weight = theta[theta > 0], weight[theta > 0]  # round 1 moves nothing
        of_angle = np.tensordot(_interpolation(angles, theta), table, (1, 1))
        slopes = (np.sin(theta) * weight) @ of_angle[:, :, Moments._fields.index("slope")]

        def slope(K: float) -> float:
            return float((_interpolation(steps, np.array([K])) @ slopes)[0])

        K = secant(slope, float(steps.min()), float(steps.max()), tolerance=1e-14)[0]
        of = np.tensordot(_interpolation(steps, np.array([K]))[0], of_angle, (0, 1))
        tau = np.sin(theta) ** 2
        blocks = blocks_from_moments(Moments(*of.T), K, tau, weight, actions, horizon)
        return assembled(blocks, actions, horizon, K / scale(horizon), ERROR)

    return [at(horizon) for horizon in horizons]


def _chebyshev(low: float, high: float, count: int) -> Float[ndarray, "n"]:
    turn = (np.arange(count) + 0.5) * math.pi / count
    return low + (high - low) * (1 - np.cos(turn)) / 2


def _interpolation(nodes: Float[ndarray, "n"], at: Float[ndarray, "m"]) -> Float[ndarray, "m n"]:
    """The matrix from values at Chebyshev points to values of their polynomial: barycentric, stable."""
    count = len(nodes)
    weight = (-1.0) ** np.arange(count) * np.sin((np.arange(count) + 0.5) * math.pi / count)
    apart = at[:, None] - nodes
    exact = apart == 0
    share = weight / np.where(exact, 1.0, apart)
    share = np.where(exact.any(1, keepdims=True), exact, share)
    return share / share.sum(1, keepdims=True)
