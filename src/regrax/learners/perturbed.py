r"""The Gaussian perturbed leader: the exact distribution of $\arg\min_j (S_j + \sigma G_j)$, $G$ standard normal.

Conditioning on the smallest value, with $g_j = (S_j - \min_i S_i)/\sigma$,

$$\pi_j = \int \varphi(z - g_j) \prod_{i \ne j} Q(z - g_i)\, dz = \int H_j(z)\, P(z)\, dz, \qquad
P = \prod_i Q(z - g_i), \quad H_j = \frac{\varphi(z - g_j)}{Q(z - g_j)}.$$

The minimum lies within a few $\sigma$ of the leader whatever the other gaps are, so one grid works for every state. On
it the trapezoid rule and its derivatives are exact to rounding.
"""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners.base import Bound, Count, Rounds, Scalar, SumLearner
from regrax.simplex import Number, Vector
from regrax.specs import register

Gaps = Float[Array, "d *batch"]
_DIGITS = {jnp.dtype("float32"): 18.0, jnp.dtype("float64"): 37.0}
"""The grid covers the integrand down to exp(-digits), below rounding."""


@partial(jax.jit, static_argnames="axis")
def perturbed_leader(
    total: Float[Array, "..."], scale: int | float | Float[Array, "..."], axis: int = -1
) -> Float[Array, "..."]:
    r"""Compute $\pi_j = P\bigl(\arg\min_i (S_i + \sigma G_i) = j\bigr)$ with `scale` $\sigma > 0$, exact to rounding.

    Actions are on `axis`; the other axes are a batch of states. `scale` is one number, or one per state.

    >>> import jax.numpy as jnp
    >>> perturbed_leader(jnp.array([0.0, 1.0, 1.0]), 1.0).tolist()
    [0.6337, 0.1831, 0.1831]

    Reference: Kalai, Vempala (2005), Efficient algorithms for online decision problems; the integral is derived here.
    """
    total = jnp.moveaxis(total, axis, 0)
    scale = jnp.broadcast_to(jnp.asarray(scale, total.dtype), total.shape[1:])[None]
    gaps = (total - lax.stop_gradient(total.min(0, keepdims=True))) / scale
    if len(gaps) == 2:  # the difference of two normals is normal
        return jnp.moveaxis(lax.erfc((gaps - gaps[::-1]) / 2) / 2, 0, axis)
    return jnp.moveaxis(_leader_odds(gaps), 0, axis)


def _leader_odds(gaps: Gaps) -> Gaps:
    r"""Integrate $H_j(z) P(z)$, and normalise."""

    @jax.checkpoint
    def add_node(odds: Gaps, z: Number) -> tuple[Gaps, None]:
        x = z - gaps
        tails, density = lax.erfc(x * math.sqrt(0.5)), jnp.exp(-x * x / 2)  # 2 Q(x)
        survive = (tails / 2).prod(0, keepdims=True)
        return odds + density * survive / tails, None

    # one node at a time, and again in the gradient: for a large batch this is five times faster than storing arrays of
    # the grid's size
    odds = lax.scan(add_node, jnp.zeros_like(gaps), _grid(len(gaps), gaps.dtype))[0]
    return odds / odds.sum(0, keepdims=True)


def _grid(d: int, dtype: jnp.dtype) -> Float[Array, "n"]:
    r"""Return the nodes; their spacing shrinks with $d$, as does the spread of the smallest of $d$ normals."""
    digits = _DIGITS[jnp.dtype(dtype)]
    step = min(2.4 / math.sqrt(digits), 24 / digits / math.log(d + 1))
    low, high = math.sqrt(2 * (digits + math.log(d))), math.sqrt(2 * digits)
    return jnp.asarray(np.arange(-low, high + step, step), dtype)


@register("learner", "follow_the_perturbed_leader(3.0)")
class FollowThePerturbedLeader(SumLearner):
    r"""The probability that an action leads after Gaussian noise is added to past losses.

    $\pi_t = P\bigl(\arg\min_j (S_{t-1,j} + \sigma G_j) = \cdot\bigr)$, $G$ standard normal, $\sigma$ the `noise`.

    The probabilities are exact; no noise is drawn. Regret $\le \sqrt{2 \ln d}\, (\sigma + w^2 T / (4 \sigma))$: the
    smoothed minimum $\Phi(S) = E[\min_j (S_j + \sigma G_j)]$ starts at $-\sigma E[\max G]$, its gradient is the policy,
    and its Hessian is minus a graph Laplacian of trace at most $E[\max G] / \sigma$. The best choice
    $\sigma = w \sqrt T / 2$ gives $w \sqrt{2 T \ln d}$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(FollowThePerturbedLeader(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.2398, 0.7602]]

    Reference: Kalai, Vempala (2005), Efficient algorithms for online decision problems; Abernethy, Lee, Sinha, Tewari
    (2014), Online linear optimization via smoothing.
    """

    noise: Scalar = eqx.field(converter=checks.as_float)

    def __check_init__(self) -> None:
        checks.positive("noise", self.noise)

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        return perturbed_leader(sums, self.noise)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        noise = float(self.noise)
        return math.sqrt(2 * math.log(actions)) * (noise + width**2 * rounds / (4 * noise))
