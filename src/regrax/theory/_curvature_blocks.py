r"""The Hessian at $V = -kI$, $v_c = a = 0$, in the few numbers that symmetry leaves of it.

A direction $(dV, dv, da)$ moves the logits of round $n + 1$ by $z' = dV S + n\,dv - k C da$ and
$z'' = 2(dV C da + dv\langle S, da\rangle)$, $C = \sum_{s \le n} l_s l_s^\top$. Two groups act. Relabelling the actions
splits $R^d = \langle 1\rangle \oplus s$. Reflecting the common component, $l \mapsto (I - 2\,11^\top/d)\,l$, leaves all
differences, hence policies and regret, as they were, and sends $V \mapsto V(I - 2\,11^\top/d)$,
$a \mapsto (I - 2\,11^\top/d)\,a$: what it turns over decouples. For unit $c \in s$ the directions left are

- step: $V = (I - 11^\top/d)/\sqrt{d-1}$, once;
- common score: $a = 1/\sqrt{d}$, once;
- common loss: $V = c 1^\top/\sqrt{d}$, $d - 1$ times;
- mixed: $N_c = \sqrt{d/(d-2)}\,(\mathrm{diag}(c) - (c1^\top + 1c^\top)/d)$, $v_c = c$, $a = c$: a $3 \times 3$ block,
  $d - 1$ times (with two actions there is no $N_c$);
- symmetric: $V = V^\top$ with zero diagonal and zero row sums, $d(d-3)/2$ times;
- skew: $V = -V^\top$ with zero row sums, $(d-1)(d-2)/2$ times.

Flat are $V = 1c^\top$ and $v_c = 1$. Traces of the Hessian over these spaces are the moments of
`regrax.theory._curvature_moments`. Numbers here are in scaled parameters, of $L/T$ with $V = \hat V/\sqrt{T}$ and, in
the mixed block, $v_c = \hat u/T + k a$: so $C \approx nI$ cancels between $v_c$ and $a$, and all entries have limits as
$T \to \infty$.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax.theory._ball import ball_step
from regrax.theory._curvature_moments import Moments, round_moments
from regrax.theory._integrals import round_nodes
from regrax.theory._loss import node_count


class Blocks(NamedTuple):
    r"""The Hessian of $L/T$ in scaled parameters, by kind of direction."""

    values: dict[str, float]  # without kinds that d does not have
    mixed: Float[ndarray, "m m"]  # (N, u, a), without N for two actions
    counts: dict[str, int]  # how often each kind occurs
    flat: int


@lru_cache(maxsize=256)
def softmax_blocks(K: float, d: int, horizon: int | float, fineness: float) -> Blocks:
    r"""The blocks of $\pi_t = \mathrm{softmax}(z_t)$ at the scaled step $K = k\sqrt{T}$.

    >>> values = softmax_blocks(2.0, 3, math.inf, 0.7).values
    >>> values["step"], values["skew"]
    (0.0195, 0.0783)
    """
    theta, weight = round_nodes(horizon, math.ceil(1.1 * node_count(d, horizon, fineness)))
    tau = np.sin(theta) ** 2
    played = tau > 0  # round 1 moves nothing
    rows = [round_moments(K, t, d, fineness) for t in tau[played]]
    return blocks_from_moments(
        Moments(*np.array(rows).T), K, tau[played], weight[played], d, horizon
    )


def blocks_from_moments(
    of: Moments,
    K: float,
    tau: Float[ndarray, "n"],
    weight: Float[ndarray, "n"],
    d: int,
    horizon: int | float,
) -> Blocks:
    r"""Weighted sums of the moments of rounds.

    Args:
        of: the moments, an array over rounds each.
        K: the scaled step.
        tau: the share of rounds played before each.
        weight: how many rounds each stands for, divided by $T$.
        d: the number of actions.
        horizon: $T$.
    """
    step = weight @ (tau * of.along)
    common = weight @ (tau * of.trace)
    late = weight @ (of.along - of.trace) / horizon
    square = weight @ (tau * (of.trace_square - of.trace))
    mixed = _mixed(of, K, tau, weight, d, horizon)
    values = {
        "step": float(step),
        "common score": float(K**2 * (d - 1) * (common + late)),
        "common loss": float(common),
    }
    counts = {"step": 1, "common score": 1, "common loss": d - 1, "mixed": d - 1}
    if d > 2:
        values["skew"] = float(square - step) / (d - 2)
        counts["skew"] = (d - 1) * (d - 2) // 2
    if d > 3:
        trace = float((d - 1) * ((square + step) / 2 - mixed[0, 0]) - step)
        counts["symmetric"] = d * (d - 3) // 2
        values["symmetric"] = trace / counts["symmetric"]
    return Blocks(values, mixed if d > 2 else mixed[1:, 1:], counts, d + 1)


def _mixed(
    of: Moments,
    K: float,
    tau: Float[ndarray, "n"],
    weight: Float[ndarray, "n"],
    d: int,
    horizon: int | float,
) -> Float[ndarray, "3 3"]:
    root = np.sqrt(tau)
    unit = d / (d - 2) if d > 2 else 0.0
    # 0 as tau -> 0: H is then constant
    excess = of.along_square - 3 * of.along - (d - 1) * of.trace
    NN = unit * tau * (of.diagonal_square - (of.along + of.trace) / d)
    Nu = math.sqrt(unit) * tau * root * of.diagonal
    Na = math.sqrt(unit) * (of.slope_square - K * root * (of.skewed - of.diagonal))
    uu = tau**2 * of.trace
    ua = root * of.slope - K * tau * (of.along - of.trace)
    aa = 2 * K * root * of.slope + K**2 * (d * tau * of.trace + excess / horizon)
    fade = horizon**-0.5
    rows = [[NN, Nu, fade * Na], [Nu, uu, fade * ua], [fade * Na, fade * ua, aa]]
    return np.array(rows) @ weight


def ball_blocks(K: float, d: int, horizon: int | float, radius: float) -> Blocks:
    r"""$\pi_t = z_t$ on the ball, where $H = 2I$: with $w = 1 - 1/T$ every $V$ has $w$, and $(u, a)$ the block

    $$\begin{pmatrix} \frac{w(2 - 1/T)}{3} & \frac{w(K^* - K)}{\sqrt{T}} \\ \cdot & w\,(2K(K^* - K) + K^2(d + 1))
    \end{pmatrix}.$$

    Rotations leave no other kinds, and no direction is flat.

    >>> ball_blocks(0.5, 3, math.inf, 1.0).values["step"]
    1.0
    """
    share, away = 1 - 1 / horizon, ball_step(d, radius) - K
    uu, ua = share * (2 - 1 / horizon) / 3, share * away * horizon**-0.5
    aa = share * (2 * K * away + K**2 * (d + 1))
    counts = {"step": 1, "symmetric": d * (d + 1) // 2 - 1, "skew": d * (d - 1) // 2}
    values = dict.fromkeys(counts, share)
    return Blocks(values, np.array([[uu, ua], [ua, aa]]), counts | {"mixed": d}, 0)
