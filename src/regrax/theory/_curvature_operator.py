r"""The exact Hessian as an operator: its product with a direction, and with the inverse away from flat directions.

A direction $(V, v_c, a)$ is split into the kinds of `regrax.theory._curvature_blocks`, each is multiplied by its
eigenvalue or block, and the parts are put together again: $O(d^2)$ work, no matrix over all $d^2 + 2d$ parameters.
Arrays may be those of numpy or of jax.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from regrax import _checks as checks
from regrax.theory._curvature import Curvature


class Direction(NamedTuple):
    r"""A change of the parameters: $V$ of shape (d, d), $v_c$ and $a$ of shape (d,)."""

    values: Any
    bias: Any
    scores: Any


def hessian_product(curvature: Curvature, direction: Direction) -> Direction:
    r"""$\nabla^2 L \cdot (V, v_c, a)$ at $V = -kI$, $v_c = a = 0$.

    >>> from regrax.theory import curvature
    >>> step = Direction(np.eye(3), np.zeros(3), np.zeros(3))
    >>> float(np.sum(step.values * hessian_product(curvature(3, 20), step).values))  # L''(k)
    14.8405
    """
    return _act(direction, _eigenvalues(curvature), curvature.mixed)


def newton_direction(curvature: Curvature, gradient: Direction) -> Direction:
    r"""$(\nabla^2 L)^+ \nabla L$: subtract it from the parameters for a Newton step with the curvature at $k^*$.

    Flat directions are left alone.

    >>> from regrax.theory import curvature
    >>> found = curvature(3, 20)
    >>> step = Direction(np.eye(3) - 1 / 3, np.zeros(3), np.zeros(3))
    >>> newton_direction(found, hessian_product(found, step)).values[0].tolist()
    [0.66667, -0.33333, -0.33333]
    """
    inverse = {kind: 1 / value for kind, value in _eigenvalues(curvature).items()}
    return _act(gradient, inverse, np.linalg.inv(curvature.mixed))


def _eigenvalues(curvature: Curvature) -> dict[str, float]:
    checks.instance("curvature", curvature, Curvature, "what curvature returns")
    if curvature.flat != curvature.actions + 1 or math.isinf(curvature.horizon):
        raise ValueError("the curvature must be that of one softmax layer and a finite horizon")
    return {e.direction: e.value for e in curvature.eigenvalues if e.direction != "mixed"}


def _act(direction: Direction, eigenvalues: dict[str, float], mixed: np.ndarray) -> Direction:
    """Every part of the direction times its eigenvalue, the mixed parts through their block."""
    V, v, a = direction
    d = len(v)
    rows = V - V.mean(0, keepdims=True)  # without 1 c^T
    common = rows.mean(1)  # rows = common 1^T + square
    square = rows - common[:, None]
    step = square.trace() / (d - 1) * (np.eye(d) - 1 / d)
    unit = math.sqrt(d / (d - 2)) if d > 2 else 0.0
    diagonal = unit * (square.diagonal() - square.trace() / d)
    parts = [diagonal, v - v.mean(), a - a.mean()][-len(mixed) :]
    *first, bias, scores = (sum(m * p for m, p in zip(row, parts, strict=True)) for row in mixed)
    values = eigenvalues["step"] * step + eigenvalues["common loss"] * common[:, None] + 0 * V
    if d > 2:
        even = (square + square.T) / 2 - step - _spread(diagonal, unit)
        values = values + _spread(first[0], unit) + eigenvalues["skew"] * (square - square.T) / 2
        values = values + eigenvalues.get("symmetric", 0.0) * even
    return Direction(values, bias, scores + eigenvalues["common score"] * a.mean())


def _spread(c: Any, unit: float) -> Any:
    r"""$N_c = \sqrt{d/(d-2)}\,(\mathrm{diag}(c) - (c 1^\top + 1 c^\top)/d)$."""
    d = len(c)
    return unit * (np.eye(d) * c[None] - (c[:, None] + c[None]) / d)
