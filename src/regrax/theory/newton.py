r"""The exact Hessian as an operator: its product with a direction, and Newton steps.

A direction $(V, v_c, a)$ is split into the kinds listed in `hessian`, each part is multiplied by its eigenvalue or
block, and the parts are summed. This takes $O(d^2)$ work and no matrix over all $d^2 + 2d$ parameters. Both numpy and
jax arrays work.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from regrax import _checks as checks
from regrax.theory.hessian import Curvature


class Direction(NamedTuple):
    r"""A change in the parameters: $V$ of shape (d, d), $v_c$ and $a$ of shape (d,)."""

    values: Any
    bias: Any
    scores: Any


def hessian_product(curvature: Curvature, direction: Direction) -> Direction:
    r"""Multiply the Hessian at $V = -kI$, $v_c = a = 0$ by a direction $(V, v_c, a)$.

    >>> from regrax.theory import curvature
    >>> step = Direction(np.eye(3), np.zeros(3), np.zeros(3))
    >>> float(np.sum(step.values * hessian_product(curvature(3, 20), step).values))  # L''(k)
    14.8405
    """
    return _apply(direction, _eigenvalues(curvature), curvature.mixed)


def newton_direction(curvature: Curvature, gradient: Direction) -> Direction:
    r"""Compute $(\nabla^2 L)^+ \nabla L$, the amount that a Newton step with the curvature at $k^*$ subtracts.

    Flat directions are left unchanged.

    >>> from regrax.theory import curvature
    >>> hessian = curvature(3, 20)
    >>> step = Direction(np.eye(3) - 1 / 3, np.zeros(3), np.zeros(3))
    >>> newton_direction(hessian, hessian_product(hessian, step)).values[0].tolist()
    [0.66667, -0.33333, -0.33333]
    """
    inverse = {kind: 1 / value for kind, value in _eigenvalues(curvature).items()}
    return _apply(gradient, inverse, np.linalg.inv(curvature.mixed))


def _eigenvalues(curvature: Curvature) -> dict[str, float]:
    checks.instance("curvature", curvature, Curvature, "a result of theory.curvature")
    if curvature.flat != curvature.actions + 1 or math.isinf(curvature.horizon):
        raise ValueError("curvature must come from a single softmax layer with a finite horizon")
    return {e.direction: e.value for e in curvature.eigenvalues if e.direction != "mixed"}


def _apply(direction: Direction, eigenvalues: dict[str, float], mixed: np.ndarray) -> Direction:
    V, v, a = direction
    d = len(v)
    rows = V - V.mean(0, keepdims=True)  # without 1 c^T
    common = rows.mean(1)  # rows = common 1^T + square
    square = rows - common[:, None]
    step = square.trace() / (d - 1) * (np.eye(d) - 1 / d)
    values = eigenvalues["step"] * step + eigenvalues["common loss"] * common[:, None] + 0 * V
    parts = [v - v.mean(), a - a.mean()]
    if d > 2:
        unit = math.sqrt(d / (d - 2))
        parts = [unit * (square.diagonal() - square.trace() / d), *parts]

        def N(c: Any) -> Any:
            return unit * (np.eye(d) * c[None] - (c[:, None] + c[None]) / d)

        symmetric = (square + square.T) / 2 - step - N(parts[0])
        values = values + N(sum(m * part for m, part in zip(mixed[0], parts, strict=True)))
        values = values + eigenvalues["skew"] * (square - square.T) / 2
        values = values + eigenvalues.get("symmetric", 0.0) * symmetric
    bias = sum(m * part for m, part in zip(mixed[-2], parts, strict=True))
    scores = sum(m * part for m, part in zip(mixed[-1], parts, strict=True))
    return Direction(values, bias, scores + eigenvalues["common score"] * a.mean())
