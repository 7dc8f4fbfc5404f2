r"""The curvature of the regret loss at smoothed fictitious play, in all parameters, for any $d$ and $T$.

`regrax.theory._curvature_blocks` says how symmetry splits the Hessian; `docs/theory.md` has the proof. There are at
most eight distinct eigenvalues that are not zero; where all are positive, $k^*$ is a strict local minimum up to
symmetry.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax.theory._curvature_blocks import Blocks, ball_blocks, softmax_blocks
from regrax.theory._loss import check_operator, check_size, check_step, scale
from regrax.theory._step_size import REFINED, step_size

ROUNDING = 1e-12
"""No error is estimated below this share of the value: moments of late rounds lose two or three digits."""


class Eigenvalue(NamedTuple):
    """One eigenvalue of the Hessian.

    Attributes:
        value: itself.
        error: estimate of its absolute error.
        multiplicity: dimension of its space.
        direction: which space that is.
    """

    value: float
    error: float
    multiplicity: int
    direction: str


class Curvature(NamedTuple):
    r"""The Hessian of $E[R^2]$ at $V = -kI$, $v_c = a = 0$; of $L/T$ in scaled parameters when $T = \infty$.

    Attributes:
        actions: $d$.
        horizon: $T$.
        step: $k$.
        eigenvalues: ascending, without those of flat directions.
        flat: dimension of the space of directions that change no policy.
        mixed: the block over $(N_c, v_c, a)$; of $(N, u, a)$ when $T$ is infinite.
    """

    actions: int
    horizon: int | float
    step: float
    eigenvalues: tuple[Eigenvalue, ...]
    flat: int
    mixed: Float[ndarray, "m m"]

    @property
    def smallest(self) -> float:
        """The least eigenvalue that does not belong to a flat direction."""
        return self.eigenvalues[0].value

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return self.eigenvalues[-1].value

    @property
    def condition(self) -> float:
        """Largest over smallest: gradient descent needs a number of steps proportional to it."""
        return self.largest / self.smallest

    @property
    def is_minimum(self) -> bool:
        """Whether every eigenvalue is above zero by more than its error: a strict minimum up to symmetry."""
        return all(e.value > e.error for e in self.eigenvalues)

    @property
    def rate(self) -> float:
        r"""$2/(\lambda_{\min} + \lambda_{\max})$, the rate at which gradient descent contracts fastest."""
        return 2 / (self.smallest + self.largest)

    @property
    def contraction(self) -> float:
        r"""$(\kappa - 1)/(\kappa + 1)$: the factor per step of gradient descent at that rate."""
        return (self.condition - 1) / (self.condition + 1)

    def spectrum(self) -> Float[ndarray, "n"]:
        """All eigenvalues with their multiplicities, ascending, flat directions first: for small models."""
        values = [[0.0] * self.flat, *([e.value] * e.multiplicity for e in self.eigenvalues)]
        return np.concatenate(values)


def curvature(
    actions: int,
    horizon: int | float,
    step: int | float | None = None,
    *,
    operator: str = "softmax",
    radius: int | float = 1.0,
    architecture: Literal["single", "swap"] = "single",
) -> Curvature:
    r"""The Hessian of $L = E[R^2]$ over all of $(V, v_c, a)$ at $V = -kI$, $v_c = a = 0$: at most eight eigenvalues.

    With `math.inf` it is the limit in scaled parameters: of $L/T$ in $V\sqrt{T}$, $(v_c - ka)T$ and $a$.

    Args:
        actions: the number of actions $d$, up to a million.
        horizon: the number of rounds $T$, or `math.inf`.
        step: $k$, by default the stationary $k^*$; for `math.inf` the scaled $k\sqrt{T}$.
        operator: `"softmax"`, or `"ball"` for $\pi_t = z_t$ on the L2 ball, where there is a closed form.
        radius: the radius of the ball.
        architecture: `"swap"` for the $d$ heads of the swap architecture on Gaussian blocks: the same eigenvalues,
            because to a head the blocks of the others are what the common component of its own is, one that neither
            policy nor regret depends on; only multiplicities change.

    >>> found = curvature(3, 20)
    >>> [(e.value, e.multiplicity) for e in found.eigenvalues][:3]
    [(7.4202745501, 1), (9.2195945741, 2), (10.051789908, 1)]
    >>> found.is_minimum, found.flat, found.condition
    (True, 4, 56.93)
    """
    check_size(actions, horizon)
    _check_architecture(architecture, check_operator(operator, radius))
    if step is None:
        step = step_size(actions, horizon, operator=operator, radius=radius)
    K = check_step(step, horizon)
    if operator == "ball":
        blocks = ball_blocks(K, actions, horizon, float(radius))
        return assembled(blocks, actions, horizon, step, ROUNDING)
    coarse, fine = (softmax_blocks(K, actions, horizon, f) for f in (1.0, REFINED))
    found = assembled(coarse, actions, horizon, step, ROUNDING, fine)
    return _with_heads(found) if architecture == "swap" else found


def assembled(
    blocks: Blocks,
    actions: int,
    horizon: int | float,
    step: float,
    error: float,
    refined: Blocks | None = None,
) -> Curvature:
    r"""The curvature of one layer from its blocks.

    Args:
        blocks: in scaled parameters.
        actions: $d$.
        horizon: $T$.
        step: $k$.
        error: the least error of an eigenvalue, as a share of it.
        refined: blocks on a finer grid, whose distance is the error where it is larger.
    """
    change = change_of_parameters(len(blocks.mixed), step, horizon)
    both = (_values(of, change, horizon) for of in (blocks, refined or blocks))
    found = [
        Eigenvalue(value, max(abs(value - other), error * abs(value)), blocks.counts[kind], kind)
        for (kind, value), (_, other) in zip(*both, strict=True)
    ]
    mixed = change.T @ blocks.mixed @ change
    return Curvature(actions, horizon, float(step), tuple(sorted(found)), blocks.flat, mixed)


def change_of_parameters(size: int, step: float, horizon: int | float) -> Float[ndarray, "m m"]:
    r"""From $(N_c, v_c, a)$ to the scaled $(\hat N, \hat u, a)\sqrt{T}$ of the blocks, $u = v_c - ka$."""
    if math.isinf(horizon):
        return np.eye(size)
    shear = np.array([[1.0, 0, 0], [0, 1, -step], [0, 0, 1]])
    return (np.diag([horizon, horizon**1.5, horizon**0.5]) @ shear)[-size:, -size:]


def _values(
    blocks: Blocks, change: Float[ndarray, "m m"], horizon: int | float
) -> list[tuple[str, float]]:
    """Every eigenvalue with its kind, in the parameters themselves."""
    T = scale(horizon) ** 2
    units = {kind: T if kind == "common score" else T**2 for kind in blocks.values}
    mixed = [("mixed", value) for value in graded_eigenvalues(blocks.mixed, change)]
    return [*mixed, *((kind, units[kind] * value) for kind, value in blocks.values.items())]


def graded_eigenvalues(block: Float[ndarray, "m m"], change: Float[ndarray, "m m"]) -> list[float]:
    r"""Eigenvalues of $A^\top B A$, $B$ of size 2 or 3 and rows of $A$ of very different scales, each to its digits.

    The eigenvalue largest in size comes from the matrix, the smallest from its inverse, a third from the determinant.

    >>> graded_eigenvalues(np.eye(3), np.diag([1e9, 1.0, 1e3]))
    [1.0, 1000000.0, 1e+18]
    """
    back = np.linalg.inv(change)
    large = _extreme(change.T @ block @ change)
    small = 1 / _extreme(back @ np.linalg.inv(block) @ back.T)
    if len(block) == 2:
        return sorted([small, large])
    determinant = float(np.linalg.det(block) * np.prod(np.diag(change)) ** 2)
    return sorted([small, determinant / (small * large), large])


def _extreme(block: Float[ndarray, "m m"]) -> float:
    return float(max(np.linalg.eigvalsh(block), key=abs))


def _with_heads(single: Curvature) -> Curvature:
    """The same eigenvalues with the multiplicities of d heads, each on d blocks of features."""
    d = single.actions
    # its own common component, and the features of the other heads' blocks
    common = 1 + d * (d - 1)
    kept = [
        e._replace(multiplicity=d * e.multiplicity * (common if "common" in e.direction else 1))
        for e in single.eigenvalues
    ]
    return single._replace(eigenvalues=tuple(kept), flat=d * (d**2 + 1))


def _check_architecture(architecture: str, operator: str) -> None:
    if architecture not in ("single", "swap"):
        raise ValueError(f'architecture must be "single" or "swap", got {architecture!r}')
    if architecture == "swap" and operator == "ball":
        raise ValueError('architecture "swap" has softmax heads, got operator "ball"')
