r"""The identity operator on the L2 ball of radius $R$: $\pi_t = -k S_{t-1}$, where everything has a closed form.

The hindsight-best point is $x^* = -R\,S_T/\|S_T\|$ and the hindsight identity reads
$L = R^2 T(d-1) + \sum_t E\|\pi_t - x^*\|^2$. With $n = t - 1$, $E\|S_n\|^2 = nd$ and
$E\langle S_n, S_T\rangle/\|S_T\| = n\,E\|G_d\|/\sqrt{T}$,

$$L(k) = R^2 T d + \tfrac{T(T-1)}{2}\Bigl(k^2 d - \tfrac{2kR\,E\|G_d\|}{\sqrt{T}}\Bigr), \qquad
k^* = \frac{R\,E\|G_d\|}{d\sqrt{T}}.$$

The best possible policy $E[x^* | S_n]$ gains $R^2$ times the mean cosine between two Gaussian vectors of correlation
$\rho = n/T$, which is $\frac{\rho}{d} (E\|G_d\|)^2\, {}_2F_1(\tfrac12, \tfrac12; \tfrac d2 + 1; \rho^2)$.
"""

import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax.theory._integrals import round_nodes


def mean_norm(d: int) -> float:
    r"""$E\|G_d\| = \sqrt2\,\Gamma((d+1)/2)/\Gamma(d/2)$.

    >>> mean_norm(3)
    1.5957691
    """
    from scipy.special import poch

    return math.sqrt(2) * float(poch(d / 2, 0.5))


def ball_step(actions: int, radius: int | float) -> float:
    r"""The scaled step $k^*\sqrt{T} = R\,E\|G_d\|/d$.

    >>> ball_step(3, 1.0)
    0.5319230
    """
    return radius * mean_norm(actions) / actions


def ball_loss(scaled: float, actions: int, horizon: int | float, radius: int | float) -> float:
    r"""$L(k)/T = R^2 d + \frac{1 - 1/T}{2}(K^2 d - 2KR\,E\|G_d\|)$ with $K = k\sqrt{T}$.

    >>> ball_loss(0.5319, 3, 20, 1.0)
    2.5968
    """
    move = scaled**2 * actions - 2 * scaled * radius * mean_norm(actions)
    return radius**2 * actions + (1 - 1 / horizon) / 2 * move


def ball_optimal_loss(actions: int, horizon: int | float, radius: int | float) -> float:
    r"""$L^*/T = R^2\,(d - \text{mean over rounds of the mean cosine at correlation } (t-1)/T)$.

    >>> ball_optimal_loss(3, 20, 1.0)
    2.5713

    Reference: the mean cosine is Krivine's, in Alon and Naor (2006), Approximating the cut-norm.
    """
    theta, weight = round_nodes(horizon, 120)  # many: for even d its last rounds have a logarithm
    cosine = weight @ _mean_cosine(np.sin(theta) ** 2, actions)
    return radius**2 * (actions - float(cosine))


def _mean_cosine(rho: Float[ndarray, "n"], d: int) -> Float[ndarray, "n"]:
    from scipy.special import hyp2f1

    few = d <= 100  # above, scipy's function fails near 1, where the series needs few terms
    series = hyp2f1(0.5, 0.5, d / 2 + 1, rho**2) if few else _series(rho**2, d / 2 + 1)
    return rho * mean_norm(d) ** 2 / d * series


def _series(x: Float[ndarray, "n"], c: float) -> Float[ndarray, "n"]:
    r"""${}_2F_1(\tfrac12, \tfrac12; c; x)$ for large $c$: forty terms leave less than rounding."""
    n = np.arange(40.0)
    ratios = (n + 0.5) ** 2 / ((c + n) * (n + 1))
    return 1 + np.cumprod(ratios * x[:, None], 1).sum(1)
