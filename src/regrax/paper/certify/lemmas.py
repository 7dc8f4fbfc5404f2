r"""The paper's lemmas, each with a sampler that searches for counterexamples.

An inequality is tested by the largest ratio of its left side to its right side over random points, an identity by the
largest difference between its sides relative to their size. A statement holds if the ratio is at most 1, or the
difference is at rounding level. If the printed form fails, a corrected form is tested as well.
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
Matrix = Float[Array, "d d"]
Number = Float[Array, ""]
Ratio = Callable[[Vector, Vector, Vector, Number], Number]


class Lemma(NamedTuple):
    """A statement from the paper, as printed or corrected, and the ratio that must not exceed 1.

    Attributes:
        name: name in the paper.
        statement: the formula.
        ratio: ratio of the two sides at random points z, x, h and a number a > 0; at most 1 where the statement holds.
        form: `"as printed"` or `"corrected"`.
    """

    name: str
    statement: str
    ratio: Ratio
    form: str = "as printed"


class Finding(NamedTuple):
    """The worst ratio found, and the number of actions at which it occurred."""

    lemma: Lemma
    worst: float
    actions: int

    @property
    def holds(self) -> bool:
        """True if no counterexample was found."""
        return self.worst <= 1 + ROUNDING


def jacobian(z: Vector) -> Matrix:
    r"""$J(z) = \mathrm{Diag}(p) - pp^\top$, $p = \mathrm{softmax}(z)$."""
    p = softmax(z)
    return jnp.diag(p) - jnp.outer(p, p)


def _inf(x: Array) -> Number:
    """Return the infinity norm of a vector or a matrix."""
    return norm(x, jnp.inf)


def _op(matrix: Matrix) -> Number:
    return norm(matrix, 2)


def _same(left: Array, right: Any, scale: Any = 1.0) -> Number:
    """Return a ratio that is below 1 if the sides agree up to rounding of terms of size `scale`."""
    return jnp.abs(left - right).max() / (ROUNDING * scale)


def _flat(z: Vector) -> Matrix:
    return jacobian(jnp.zeros_like(z))


def _away(z: Vector) -> Matrix:
    return jacobian(z) - _flat(z)


def _slope(z: Vector, h: Vector) -> Matrix:
    return jax.jvp(jacobian, (z,), (h,))[1]


def _second(z: Vector, h: Vector) -> Matrix:
    return jax.jvp(lambda x: _slope(x, h), (z,), (h,))[1]


def _remainder(z: Vector) -> Vector:
    return softmax(z) - 1 / z.size - _flat(z) @ z


def _swap_display(z: Vector, transposed: bool) -> Number:
    """Compute swap regret over two rounds and all maps of two actions, with P as printed or transposed."""
    policies = softmax(jnp.stack([z[:2], z[::-1][:2]]), 1)
    losses = jnp.stack([z[:2], -2 * z[::-1][:2]])
    P = jnp.eye(2)[jnp.array([(0, 0), (0, 1), (1, 0), (1, 1)])]
    moved = losses @ (P if transposed else P.mT)
    gains = jnp.sum(policies * losses) - jnp.tensordot(moved, policies)
    return _same(gains.max(), swap_regret(policies, losses), jnp.abs(losses).sum())


LEMMAS = (
    Lemma("softmax Jacobian (a)", "J 1 = 0",
          lambda z, *_: _inf(jacobian(z).sum(1)) / 1e-14),
    Lemma("softmax Jacobian (a)", "J is positive semidefinite",
          lambda z, *_: -jnp.linalg.eigvalsh(jacobian(z))[0] / 1e-14),
    Lemma("softmax Jacobian (b)", "||J||_op = ||J||_inf",
          lambda z, *_: _same(_op(jacobian(z)), _inf(jacobian(z)))),
    Lemma("softmax Jacobian (b)", "||J||_op <= ||J||_inf",
          lambda z, *_: _op(jacobian(z)) / _inf(jacobian(z)), form="corrected"),
    Lemma("softmax Jacobian (b)", "||J||_inf <= 1/2",
          lambda z, *_: 2 * _inf(jacobian(z))),
    Lemma("softmax Jacobian (c)", "||softmax(z) - softmax(x)|| <= ||z - x|| / 2",
          lambda z, x, *_: 2 * norm(softmax(z) - softmax(x)) / norm(z - x)),
    Lemma("softmax Jacobian (d)", "||J(z) - J(x)||_op <= 3/2 ||z - x||",
          lambda z, x, *_: _op(jacobian(z) - jacobian(x)) / (1.5 * norm(z - x))),
    Lemma("softmax Jacobian (e)", "||DJ(z)[h]||_inf <= 2 ||h||_inf",
          lambda z, x, h, a: _inf(_slope(z, h)) / (2 * _inf(h))),
    Lemma("softmax Jacobian (f)", "||D2J(z)[h,h]||_inf <= 16/d e^(2||z||_inf) ||h||_inf^2",
          lambda z, x, h, a: _inf(_second(z, h)) * z.size / (16 * jnp.exp(2 * _inf(z)) * _inf(h) ** 2)),
    Lemma("policy expansion", "||r||_2 <= 3/4 ||z||_2^2",
          lambda z, *_: norm(_remainder(z)) / (0.75 * jnp.sum(z**2))),
    Lemma("policy expansion", "||r||_inf <= ||z||_inf^2",
          lambda z, *_: _inf(_remainder(z)) / _inf(z) ** 2),
    Lemma("Jacobian expansion", "||J(z) - J_0||_inf <= 2 ||z||_inf",
          lambda z, *_: _inf(_away(z)) / (2 * _inf(z))),
    Lemma("J_0 refined", "||J_0 x||_inf <= (||x||_inf + |1'x|) / d",
          lambda z, x, *_: _inf(_flat(x) @ x) * x.size / (_inf(x) + jnp.abs(x.sum()))),
    Lemma("J_0 norms", "||J_0||_inf = 2 (d-1) / d^2",
          lambda z, *_: _same(_inf(_flat(z)), 2 * (z.size - 1) / z.size**2)),
    Lemma("J_0 norms", "||J_0||_op = 1/d",
          lambda z, *_: _same(_op(_flat(z)), 1 / z.size)),
    Lemma("null direction", "(J - J_0) x = (J - J_0) J_0 x",
          lambda z, x, *_: _same(_away(z) @ x, _away(z) @ (_flat(z) @ x), _inf(x))),
    Lemma("null direction", "(J - J_0) x = d (J - J_0) J_0 x",
          lambda z, x, *_: _same(_away(z) @ x, z.size * _away(z) @ (_flat(z) @ x), _inf(x)), form="corrected"),
    Lemma("global sign", "<J(-a x) x, softmax(-a x)> <= 0 for a >= 0",
          lambda z, x, h, a: softmax(-a * x) @ (jacobian(-a * x) @ x) / 1e-14),
    Lemma("DJ at zero", "||DJ(0)[h]||_inf <= 6/d ||h||_inf",
          lambda z, x, h, a: _inf(_slope(jnp.zeros_like(z), h)) * z.size / (6 * _inf(h))),
    Lemma("swap regret display", "max over P of sum <pi, l - P^T l>, P row-stochastic",
          lambda z, *_: _swap_display(z, transposed=True)),
    Lemma("swap regret display", "max over P of sum <pi, l - P l>",
          lambda z, *_: _swap_display(z, transposed=False), form="corrected"),
)  # fmt: skip


def check_lemmas(
    *, key: PRNGKeyArray, samples: int = 2000, lemmas: Sequence[Lemma] = LEMMAS
) -> list[Finding]:
    """Test every statement on random points of several sizes and scales, and return the worst ratios.

    Args:
        key: random key of the points.
        samples: number of points per size.
        lemmas: statements to test.

    >>> import jax
    >>> findings = check_lemmas(key=jax.random.key(0), samples=200, lemmas=LEMMAS[2:4])
    >>> [(finding.lemma.form, finding.holds) for finding in findings]
    [('as printed', False), ('corrected', True)]
    """
    findings = []
    with jax.enable_x64(True):
        for lemma in lemmas:
            ratios = [_largest_ratio(lemma.ratio, key, d, samples) for d in SIZES]
            worst = int(np.argmax(ratios))
            findings.append(Finding(lemma, ratios[worst], SIZES[worst]))
    return findings


def _largest_ratio(ratio: Ratio, key: PRNGKeyArray, d: int, samples: int) -> float:
    """Return the largest ratio over Gaussian points at scales from 0.01 to 10."""
    keys = jax.random.split(jax.random.fold_in(key, d), 4)
    scales = jnp.exp(
        jax.random.uniform(keys[3], (3, samples, 1), minval=np.log(1e-2), maxval=np.log(10))
    )
    points = scales * jnp.stack([jax.random.normal(k, (samples, d)) for k in keys[:3]])
    return float(jax.jit(jax.vmap(ratio))(*points, scales[0, :, 0]).max())
