r"""The paper's lemmas, each as a statement and a sampler that tries to break it.

An inequality is tested by the largest ratio of its left side to its right side over random points, an identity by the
largest difference of its sides over their size. A statement holds when the ratio stays at most 1, or the difference is
rounding. Where the printed form fails, the corrected one is tested beside it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import softmax
from jax.numpy.linalg import norm
from jaxtyping import Array, Float, PRNGKeyArray

from regrax.regret import swap_regret

SIZES = (2, 3, 5, 9)
ROUNDING = 1e-9

Vector = Float[Array, "d"]
Ratio = Callable[[Vector, Vector, Vector, Float[Array, ""]], Float[Array, ""]]


class Lemma(NamedTuple):
    """A statement of the paper, as printed or corrected, and the ratio that must not exceed 1.

    Attributes:
        name: as in the paper.
        statement: the formula.
        form: `"as printed"` or `"corrected"`.
        ratio: of drawn points, the two sides' ratio, at most 1 where the statement holds.
    """

    name: str
    statement: str
    form: str
    ratio: Ratio


class Finding(NamedTuple):
    """What the sampler found: the worst ratio, and the size at which it occurred."""

    lemma: Lemma
    worst: float
    actions: int

    @property
    def holds(self) -> bool:
        """Whether no sample broke it."""
        return self.worst <= 1 + ROUNDING


def jacobian(z: Vector) -> Float[Array, "d d"]:
    r"""$J(z) = \mathrm{Diag}(p) - pp^\top$, $p = \mathrm{softmax}(z)$."""
    p = softmax(z)
    return jnp.diag(p) - jnp.outer(p, p)


def _largest(x: Array) -> Float[Array, ""]:
    return jnp.abs(x).max()


def _inf(matrix: Float[Array, "d d"]) -> Float[Array, ""]:
    return norm(matrix, jnp.inf)


def _op(matrix: Float[Array, "d d"]) -> Float[Array, ""]:
    return norm(matrix, 2)


def _same(left: Array, right: Any, scale: Array | float = 1.0) -> Float[Array, ""]:
    """A difference of rounding size, beside terms of size `scale`, counts as a ratio below 1."""
    return _largest(left - right) / (ROUNDING * scale)


def _flat(z: Vector) -> Float[Array, "d d"]:
    return jacobian(jnp.zeros_like(z))


def _away(z: Vector) -> Float[Array, "d d"]:
    return jacobian(z) - _flat(z)


def _slope(z: Vector, h: Vector) -> Float[Array, "d d"]:
    return jax.jvp(jacobian, (z,), (h,))[1]


def _second(z: Vector, h: Vector) -> Float[Array, "d d"]:
    return jax.jvp(lambda x: _slope(x, h), (z,), (h,))[1]


def _remainder(z: Vector) -> Vector:
    return softmax(z) - 1 / z.size - _flat(z) @ z


def _swap_printed(z: Vector, transposed: bool) -> Float[Array, ""]:
    """Swap regret of two rounds by listing maps of two actions, with the display's P or its transpose."""
    policies = softmax(jnp.stack([z[:2], z[::-1][:2]]), 1)
    losses = jnp.stack([z[:2], -2 * z[::-1][:2]])
    maps = [jnp.eye(2)[jnp.array(s)] for s in ((0, 0), (0, 1), (1, 0), (1, 1))]
    values = [jnp.sum(policies * (losses - losses @ (p if transposed else p.T))) for p in maps]
    return _same(jnp.stack(values).max(), swap_regret(policies, losses), jnp.abs(losses).sum())


LEMMAS = (
    Lemma("softmax Jacobian (a)", "J 1 = 0", "as printed",
          lambda z, x, h, a: _largest(jacobian(z).sum(1)) / 1e-14),
    Lemma("softmax Jacobian (a)", "J is positive semidefinite", "as printed",
          lambda z, x, h, a: -jnp.linalg.eigvalsh(jacobian(z))[0] / 1e-14),
    Lemma("softmax Jacobian (b)", "||J||_op = ||J||_inf", "as printed",
          lambda z, x, h, a: _same(_op(jacobian(z)), _inf(jacobian(z)))),
    Lemma("softmax Jacobian (b)", "||J||_op <= ||J||_inf", "corrected",
          lambda z, x, h, a: _op(jacobian(z)) / _inf(jacobian(z))),
    Lemma("softmax Jacobian (b)", "||J||_inf <= 1/2", "as printed",
          lambda z, x, h, a: 2 * _inf(jacobian(z))),
    Lemma("softmax Jacobian (c)", "||softmax(z) - softmax(x)|| <= ||z - x|| / 2", "as printed",
          lambda z, x, h, a: 2 * norm(softmax(z) - softmax(x)) / norm(z - x)),
    Lemma("softmax Jacobian (d)", "||J(z) - J(x)||_op <= 3/2 ||z - x||", "as printed",
          lambda z, x, h, a: _op(jacobian(z) - jacobian(x)) / (1.5 * norm(z - x))),
    Lemma("softmax Jacobian (e)", "||DJ(z)[h]||_inf <= 2 ||h||_inf", "as printed",
          lambda z, x, h, a: _inf(_slope(z, h)) / (2 * _largest(h))),
    Lemma("softmax Jacobian (f)", "||D2J(z)[h,h]||_inf <= 16/d e^(2||z||_inf) ||h||_inf^2", "as printed",
          lambda z, x, h, a: _inf(_second(z, h)) * z.size / (16 * jnp.exp(2 * _largest(z)) * _largest(h) ** 2)),
    Lemma("policy expansion", "||r||_2 <= 3/4 ||z||_2^2", "as printed",
          lambda z, x, h, a: norm(_remainder(z)) / (0.75 * jnp.sum(z**2))),
    Lemma("policy expansion", "||r||_inf <= ||z||_inf^2", "as printed",
          lambda z, x, h, a: _largest(_remainder(z)) / _largest(z) ** 2),
    Lemma("Jacobian expansion", "||J(z) - J_0||_inf <= 2 ||z||_inf", "as printed",
          lambda z, x, h, a: _inf(_away(z)) / (2 * _largest(z))),
    Lemma("J_0 refined", "||J_0 x||_inf <= (||x||_inf + |1'x|) / d", "as printed",
          lambda z, x, h, a: _largest(_flat(x) @ x) * x.size / (_largest(x) + jnp.abs(x.sum()))),
    Lemma("J_0 norms", "||J_0||_inf = 2 (d-1) / d^2", "as printed",
          lambda z, x, h, a: _same(_inf(_flat(z)), 2 * (z.size - 1) / z.size**2)),
    Lemma("J_0 norms", "||J_0||_op = 1/d", "as printed",
          lambda z, x, h, a: _same(_op(_flat(z)), 1 / z.size)),
    Lemma("null direction", "(J - J_0) x = (J - J_0) J_0 x", "as printed",
          lambda z, x, h, a: _same(_away(z) @ x, _away(z) @ (_flat(z) @ x), _largest(x))),
    Lemma("null direction", "(J - J_0) x = d (J - J_0) J_0 x", "corrected",
          lambda z, x, h, a: _same(_away(z) @ x, z.size * _away(z) @ (_flat(z) @ x), _largest(x))),
    Lemma("global sign", "<J(-a x) x, softmax(-a x)> <= 0 for a >= 0", "as printed",
          lambda z, x, h, a: softmax(-a * x) @ (jacobian(-a * x) @ x) / 1e-14),
    Lemma("DJ at zero", "||DJ(0)[h]||_inf <= 6/d ||h||_inf", "as printed",
          lambda z, x, h, a: _inf(_slope(jnp.zeros_like(z), h)) * z.size / (6 * _largest(h))),
    Lemma("swap regret display", "max over P of sum <pi, l - P^T l>, P row-stochastic", "as printed",
          lambda z, x, h, a: _swap_printed(z, transposed=True)),
    Lemma("swap regret display", "max over P of sum <pi, l - P l>", "corrected",
          lambda z, x, h, a: _swap_printed(z, transposed=False)),
)  # fmt: skip


def check_lemmas(
    *, key: PRNGKeyArray, samples: int = 2000, lemmas: Sequence[Lemma] = LEMMAS
) -> list[Finding]:
    """Try every statement on random points of several sizes and scales, and keep the worst.

    >>> import jax
    >>> found = check_lemmas(key=jax.random.key(0), samples=200, lemmas=LEMMAS[2:4])
    >>> [(f.lemma.form, f.holds) for f in found]
    [('as printed', False), ('corrected', True)]
    """
    with jax.enable_x64(True):
        return [_worst(lemma, key, samples) for lemma in lemmas]


def _worst(lemma: Lemma, key: PRNGKeyArray, samples: int) -> Finding:
    worst = {
        d: float(_ratios(lemma.ratio, jax.random.fold_in(key, d), d, samples).max()) for d in SIZES
    }
    actions = max(worst, key=worst.__getitem__)
    return Finding(lemma, worst[actions], actions)


def _ratios(ratio: Ratio, key: PRNGKeyArray, d: int, samples: int) -> Float[Array, "n"]:
    """Points of all scales from a thousandth to ten, heavy and light tails alike."""
    keys = jax.random.split(key, 4)
    scales = jnp.exp(
        jax.random.uniform(keys[3], (3, samples, 1), minval=np.log(1e-2), maxval=np.log(10))
    )
    points = scales * jnp.stack([jax.random.normal(k, (samples, d)) for k in keys[:3]])
    return jax.jit(jax.vmap(ratio))(*points, scales[0, :, 0])
