r"""The Hessian of the regret loss at smoothed fictitious play, over all parameters, for any $d$ and $T$.

The parameters of a linear layer are $V$, $v_c$ and $a$; the Hessian is taken at $V = -kI$, $v_c = a = 0$. There are at
most eight distinct nonzero eigenvalues. If all of them are positive, $k^*$ is a strict local minimum up to symmetry
(proof in `docs/explanation/theory.md`).

**Symmetry.** A direction $(dV, dv, da)$ moves the logits of round $n + 1$ by $z' = dV S + n\,dv - k C da$ and
$z'' = 2(dV C da + dv\langle S, da\rangle)$, $C = \sum_{s \le n} l_s l_s^\top$. Two groups act. Relabelling the actions
splits $R^d = \langle 1\rangle \oplus s$. Reflecting the common component, $l \mapsto (I - 2\,11^\top/d)\,l$, preserves
all differences, hence policies and regret, and sends $V \mapsto V(I - 2\,11^\top/d)$,
$a \mapsto (I - 2\,11^\top/d)\,a$: components that change sign decouple. For unit $c \in s$ the remaining kinds of
direction are

- step: $V = (I - 11^\top/d)/\sqrt{d-1}$, multiplicity 1;
- common score: $a = 1/\sqrt{d}$, multiplicity 1;
- common loss: $V = c 1^\top/\sqrt{d}$, multiplicity $d - 1$;
- mixed: $N_c = \sqrt{d/(d-2)}\,(\mathrm{diag}(c) - (c1^\top + 1c^\top)/d)$, $v_c = c$, $a = c$: a $3 \times 3$ block,
  multiplicity $d - 1$ (with two actions there is no $N_c$);
- symmetric: $V = V^\top$ with zero diagonal and zero row sums, multiplicity $d(d-3)/2$;
- skew: $V = -V^\top$ with zero row sums, multiplicity $(d-1)(d-2)/2$.

$V = 1c^\top$ and $v_c = 1$ are flat. Traces of the Hessian over these spaces are `moments` summed over rounds.

**Scaling.** The blocks are for $L/T$ in terms of $K = k\sqrt{T}$, with $V = \hat V/\sqrt{T}$ and, in the mixed block,
$v_c = \hat u/T + k a$. Then $C \approx nI$ cancels between $v_c$ and $a$, and every entry has a limit as
$T \to \infty$.

**Many horizons.** The moments of a round depend only on $d$, $K$ and the angle $\theta$ with $\sin^2\theta = (t-1)/T$,
and are smooth in $K$ and $\theta$. `curvatures` interpolates one table at Chebyshev points, which also gives $k^*$ as
the root of the sum of slopes.

**As an operator.** A direction is split into its kinds, each part is multiplied by its eigenvalue or block, and the
parts are summed: $O(d^2)$ work and no matrix over all $d^2 + 2d$ parameters, on numpy and jax arrays.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.polynomial.chebyshev import chebpts1, chebvander

from regrax import _checks as checks
from regrax.theory.ball import ball_step
from regrax.theory.losses import check_sizes, rounds, scaled_step
from regrax.theory.moments import Moments, round_moments
from regrax.theory.quadrature import Nodes, node_count, round_nodes
from regrax.theory.steps import REFINED, secant, step_size

ROUNDING = 1e-12
"""Smallest relative error reported for an eigenvalue; moments of late rounds lose two or three digits."""

INTERPOLATION = 2e-8
"""Relative error allowed for the interpolation in `curvatures`; tests check it against `curvature`."""


STEPS = 10
ANGLES = 44
"""Numbers of Chebyshev points in steps and in angles of rounds, in `curvatures`."""

Blocks = tuple[dict[str, tuple[float, int]], Float[ndarray, "m m"], int]
r"""The Hessian of $L/T$ in scaled parameters: eigenvalues and multiplicities by kind of direction, the block over
$(N, u, a)$ or $(u, a)$, and its multiplicity. Kinds that do not exist for this $d$ are left out."""


class Eigenvalue(NamedTuple):
    """An eigenvalue of the Hessian.

    Attributes:
        value: the eigenvalue.
        error: estimated absolute error.
        multiplicity: dimension of its eigenspace.
        direction: kind of direction in the eigenspace.
    """

    value: float
    error: float
    multiplicity: int
    direction: str


class Curvature(NamedTuple):
    r"""The Hessian of $E[R^2]$ at $V = -kI$, $v_c = a = 0$, or of $L/T$ in scaled parameters if $T = \infty$.

    Attributes:
        actions: $d$.
        horizon: $T$.
        step: $k$.
        eigenvalues: in ascending order, without the zeros of flat directions.
        flat: dimension of the space of directions that leave the policy unchanged.
        mixed: block over $(N_c, v_c, a)$, or over $(N, u, a)$ if $T$ is infinite.
    """

    actions: int
    horizon: float
    step: float
    eigenvalues: tuple[Eigenvalue, ...]
    flat: int
    mixed: Float[ndarray, "m m"]

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue that does not belong to a flat direction."""
        return self.eigenvalues[0].value

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return self.eigenvalues[-1].value

    @property
    def condition(self) -> float:
        """Condition number, largest over smallest; gradient descent takes a number of steps proportional to it."""
        return self.largest / self.smallest

    @property
    def is_minimum(self) -> bool:
        """True if every eigenvalue exceeds its error estimate, which makes this a strict minimum up to symmetry."""
        return all(eigenvalue.value > eigenvalue.error for eigenvalue in self.eigenvalues)

    @property
    def rate(self) -> float:
        r"""$2/(\lambda_{\min} + \lambda_{\max})$, the learning rate at which gradient descent contracts fastest."""
        return 2 / (self.smallest + self.largest)

    @property
    def contraction(self) -> float:
        r"""$(\kappa - 1)/(\kappa + 1)$, the factor by which gradient descent contracts per step at that rate."""
        return (self.condition - 1) / (self.condition + 1)

    def spectrum(self) -> Float[ndarray, "n"]:
        """All eigenvalues with their multiplicities, ascending, flat directions first."""
        values = [eigenvalue.value for eigenvalue in self.eigenvalues]
        counts = [eigenvalue.multiplicity for eigenvalue in self.eigenvalues]
        return np.append(np.zeros(self.flat), np.repeat(values, counts))


def curvature(
    actions: int,
    horizon: float,
    step: float | None = None,
    *,
    operator: str = "softmax",
    radius: float = 1.0,
    architecture: Literal["single", "swap"] = "single",
) -> Curvature:
    r"""Compute the Hessian of $L = E[R^2]$ over $(V, v_c, a)$ at $V = -kI$, $v_c = a = 0$.

    It has at most eight distinct nonzero eigenvalues. If the horizon is `math.inf`, the result is the limit in scaled
    parameters: the Hessian of $L/T$ over $V\sqrt{T}$, $(v_c - ka)T$ and $a$.

    Args:
        actions: number of actions $d$, from 2 to a million.
        horizon: number of rounds $T$, an integer >= 2, or `math.inf`.
        step: $k$, by default the stationary $k^*$; the scaled $k\sqrt{T}$ if the horizon is `math.inf`.
        operator: `"softmax"`, or `"ball"` for $\pi_t = z_t$ on the L2 ball, which has a closed form.
        radius: radius of the ball; only for `operator="ball"`.
        architecture: `"swap"` for the $d$ heads of the swap architecture on Gaussian blocks. The eigenvalues are the
            same and only the multiplicities change, because the blocks of the other heads act on a head like its own
            common component: neither its policy nor its regret depends on them.

    >>> hessian = curvature(3, 20)
    >>> [(e.value, e.multiplicity) for e in hessian.eigenvalues][:3]
    [(7.4202745501, 1), (9.2195945741, 2), (10.051789908, 1)]
    >>> hessian.is_minimum, hessian.flat, hessian.condition
    (True, 4, 56.93)
    """
    check_sizes(actions, horizon, operator, radius)
    checks.one_of("architecture", architecture, ("single", "swap"))
    if architecture == "swap" and operator == "ball":
        raise ValueError('architecture "swap" requires operator "softmax", got "ball"')
    if step is None:
        step = step_size(actions, horizon, operator=operator, radius=radius)
    K = scaled_step(step, horizon)
    heads = actions if architecture == "swap" else 1
    if operator == "ball":
        blocks = refined = _ball_blocks(K, actions, horizon, radius)
    else:
        blocks = _softmax_blocks(K, actions, horizon, 1.0)
        refined = _softmax_blocks(K, actions, horizon, REFINED)
    return _assemble(blocks, refined, actions, horizon, step, ROUNDING, heads)


def curvatures(actions: int, horizons: Sequence[float]) -> list[Curvature]:
    r"""Compute `curvature(actions, T)` for many $T$, to eight digits, at the cost of a handful of calls.

    Args:
        actions: number of actions $d$, from 2 to a million.
        horizons: numbers of rounds, integers >= 2 or `math.inf`.

    >>> [hessian.smallest for hessian in curvatures(3, [5, 20])]
    [0.45509571, 7.4202745]
    """
    for horizon in horizons:
        check_sizes(actions, horizon)
    low = 0.995 * step_size(actions, 2) * math.sqrt(2)
    high = 1.005 * step_size(actions, math.inf)

    table = []
    for step in low + (high - low) * (1 + chebpts1(STEPS)) / 2:
        shares = np.sin(math.pi / 4 * (1 + chebpts1(ANGLES))) ** 2
        table.append([round_moments(step, tau, actions) for tau in shares])

    def at(horizon: float) -> Curvature:
        tau, weight = _later_rounds(actions, horizon, 1.0)
        angles = 4 / math.pi * np.arcsin(np.sqrt(tau)) - 1
        of_angle = np.tensordot(_interpolation(angles, ANGLES), table, (1, 1))

        def moments(K: float) -> ndarray:
            (at_step,) = _interpolation(2 * (K - low) / (high - low) - 1, STEPS)
            return np.tensordot(at_step, of_angle, (0, 1))

        def slope(K: float) -> float:
            return _total(moments(K), weight * np.sqrt(tau)).slope

        K = secant(slope, low, high, tolerance=1e-14)[0]
        blocks = _blocks(moments(K), K, tau, weight, actions, horizon)
        step = K / math.sqrt(rounds(horizon))
        return _assemble(blocks, blocks, actions, horizon, step, INTERPOLATION)

    return [at(horizon) for horizon in horizons]


def _interpolation(x: Any, count: int) -> ndarray:
    """Return the matrix from values at Chebyshev points to values of the interpolating polynomial at x."""
    values = chebvander(chebpts1(count), count - 1)
    return np.linalg.solve(values.T, chebvander(x, count - 1).T).T


def _later_rounds(d: int, horizon: float, fineness: float) -> Nodes:
    """Return fractions of rounds played, with weights; round 1 does not contribute."""
    theta, weight = round_nodes(horizon, math.ceil(1.1 * node_count(d, horizon, fineness)))
    return np.sin(theta[theta > 0]) ** 2, weight[theta > 0]


@lru_cache(maxsize=256)
def _softmax_blocks(K: float, d: int, horizon: float, fineness: float) -> Blocks:
    tau, weight = _later_rounds(d, horizon, fineness)
    moments = np.array([round_moments(K, share, d, fineness) for share in tau])
    return _blocks(moments, K, tau, weight, d, horizon)


def _total(moments: ndarray, weight: ndarray) -> Moments:
    return Moments(*(weight @ moments).tolist())


def _blocks(
    moments: ndarray, K: float, tau: ndarray, weight: ndarray, d: int, horizon: float
) -> Blocks:
    """Sum moments over rounds: `tau` is the fraction of rounds before each, `weight` the fraction it represents."""
    plain = _total(moments, weight)
    root = _total(moments, weight * np.sqrt(tau))
    linear = _total(moments, weight * tau)
    unit = d / (d - 2) if d > 2 else 0.0
    fade = horizon**-0.5
    excess = plain.along_square - 3 * plain.along - (d - 1) * plain.trace
    NN = unit * (linear.diagonal_square - (linear.along + linear.trace) / d)
    Nu = math.sqrt(unit) * _total(moments, weight * tau**1.5).diagonal
    Na = fade * math.sqrt(unit) * (plain.slope_square - K * (root.skewed - root.diagonal))
    uu = _total(moments, weight * tau**2).trace
    ua = fade * (root.slope - K * (linear.along - linear.trace))
    aa = 2 * K * root.slope + K**2 * (d * linear.trace + excess / horizon)
    mixed = np.array([[NN, Nu, Na], [Nu, uu, ua], [Na, ua, aa]])

    late = (plain.along - plain.trace) / horizon
    square = linear.trace_square - linear.trace
    kinds = {
        "step": (linear.along, 1),
        "common score": (K**2 * (d - 1) * (linear.trace + late), 1),
        "common loss": (linear.trace, d - 1),
    }
    if d == 2:
        mixed = mixed[1:, 1:]
    else:
        kinds["skew"] = ((square - linear.along) / (d - 2), (d - 1) * (d - 2) // 2)
    if d > 3:
        trace = (d - 1) * ((square + linear.along) / 2 - NN) - linear.along
        count = d * (d - 3) // 2
        kinds["symmetric"] = (trace / count, count)
    return kinds, mixed, d - 1


def _ball_blocks(K: float, d: int, horizon: float, radius: float) -> Blocks:
    r"""Compute the blocks for $\pi_t = z_t$ on the ball, where $H = 2I$.

    With $w = 1 - 1/T$ every $V$ has eigenvalue $w$, and $(u, a)$ has the block

    $$\begin{pmatrix} \frac{w(2 - 1/T)}{3} & \frac{w(K^* - K)}{\sqrt{T}} \\ \cdot & w\,(2K(K^* - K) + K^2(d + 1))
    \end{pmatrix}.$$

    By rotation invariance there are no other kinds, and no direction is flat.
    """
    share = 1 - 1 / horizon
    away = ball_step(d, radius) - K
    uu = share * (2 - 1 / horizon) / 3
    ua = share * away * horizon**-0.5
    aa = share * (2 * K * away + K**2 * (d + 1))
    counts = {"step": 1, "symmetric": d * (d + 1) // 2 - 1, "skew": d * (d - 1) // 2}
    kinds = {kind: (share, count) for kind, count in counts.items()}
    return kinds, np.array([[uu, ua], [ua, aa]]), d


def _assemble(
    blocks: Blocks,
    refined: Blocks,
    actions: int,
    horizon: float,
    step: float,
    error: float,
    heads: int = 1,
) -> Curvature:
    """Undo the scaling; an error is at least `error` times the eigenvalue, and at least the change under `refined`.

    The mixed blocks are in (N, u, a) sqrt(T), u = v_c - k a.
    """
    size = len(blocks[1])
    change = np.eye(size)
    if math.isfinite(horizon):
        shear = np.array([[1.0, 0, 0], [0, 1, -step], [0, 0, 1]])
        change = (np.diag([horizon, horizon**1.5, horizon**0.5]) @ shear)[-size:, -size:]
    T = rounds(horizon)

    def eigenvalues(of: Blocks) -> Iterator[tuple[float, int, str]]:
        kinds, mixed, copies = of
        for value in graded_eigenvalues(mixed, change):
            yield value, heads * copies, "mixed"
        for kind, (value, count) in kinds.items():
            if "common" in kind:  # the features of the other heads' blocks act like it
                count *= 1 + heads * (heads - 1)
            yield value * (T if kind == "common score" else T**2), heads * count, kind

    found = []
    finer = [value for value, _, _ in eigenvalues(refined)]
    for (value, count, kind), other in zip(eigenvalues(blocks), finer, strict=True):
        found.append(Eigenvalue(value, max(abs(value - other), error * abs(value)), count, kind))
    features = heads * actions
    parameters = heads * (actions * features + actions + features)
    flat = parameters - sum(eigenvalue.multiplicity for eigenvalue in found)
    mixed = change.T @ blocks[1] @ change
    return Curvature(actions, horizon, float(step), tuple(sorted(found)), flat, mixed)


def graded_eigenvalues(block: Float[ndarray, "m m"], change: Float[ndarray, "m m"]) -> list[float]:
    r"""Compute the eigenvalues of $A^\top B A$ to full relative accuracy, for a 2x2 or 3x3 $B$ and a badly scaled $A$.

    The largest in absolute value comes from the matrix, the smallest from its inverse, the third from the determinant.

    >>> graded_eigenvalues(np.eye(3), np.diag([1e9, 1.0, 1e3]))
    [1.0, 1000000.0, 1e+18]
    """

    def largest(matrix: Float[ndarray, "m m"]) -> float:
        return float(max(np.linalg.eigvalsh(matrix), key=abs))

    back = np.linalg.inv(change)
    large = largest(change.T @ block @ change)
    small = 1 / largest(back @ np.linalg.inv(block) @ back.T)
    if len(block) == 2:
        return sorted([small, large])
    determinant = float(np.linalg.det(block) * np.prod(np.diag(change)) ** 2)
    return sorted([small, determinant / (small * large), large])


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
    common = rows.mean(1)[:, None]  # rows = common 1^T + square
    square = rows - common
    unit = math.sqrt(d / (d - 2)) if d > 2 else 0.0
    parts = [unit * (square.diagonal() - square.trace() / d), v - v.mean(), a - a.mean()]
    parts = parts[-len(mixed) :]

    def mix(row: np.ndarray) -> Any:
        return sum(entry * part for entry, part in zip(row, parts, strict=True))

    def N(c: Any) -> Any:
        return unit * (np.eye(d) * c[None] - (c[:, None] + c[None]) / d)

    step = square.trace() / (d - 1) * (np.eye(d) - 1 / d)
    symmetric = (square + square.T) / 2 - step - N(parts[0])
    values = (
        eigenvalues["step"] * step
        + eigenvalues["common loss"] * common
        + eigenvalues.get("symmetric", 0.0) * symmetric
        + eigenvalues.get("skew", 0.0) * (square - square.T) / 2
        + N(mix(mixed[0]))
    )
    return Direction(
        values, mix(mixed[-2]), mix(mixed[-1]) + eigenvalues["common score"] * a.mean()
    )
