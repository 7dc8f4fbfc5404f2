r"""The identity operator on the L2 ball of radius $R$: $\pi_t = -k S_{t-1}$, where everything has a closed form.

The hindsight-best point is $x^* = -R\,S_T/\|S_T\|$ and the hindsight identity reads
$L = R^2 T(d-1) + \sum_t E\|\pi_t - x^*\|^2$. With $n = t - 1$, $E\|S_n\|^2 = nd$ and
$E\langle S_n, S_T\rangle/\|S_T\| = n\,E\|G_d\|/\sqrt{T}$,

$$L(k) = R^2 T d + \tfrac{T(T-1)}{2}\Bigl(k^2 d - \tfrac{2kR\,E\|G_d\|}{\sqrt{T}}\Bigr), \qquad
k^* = \frac{R\,E\|G_d\|}{d\sqrt{T}}.$$

The optimal policy $E[x^* | S_n]$ gains $R^2$ times the mean cosine between two Gaussian vectors of correlation
$\rho = n/T$, which is $\frac{\rho}{d} (E\|G_d\|)^2\, {}_2F_1(\tfrac12, \tfrac12; \tfrac d2 + 1; \rho^2)$. Losses below
are per round and steps are scaled, $K = k\sqrt{T}$.
"""

import math

import numpy as np

from regrax.theory.quadrature import round_nodes


def mean_norm(d: int) -> float:
    r"""$E\|G_d\| = \sqrt2\,\Gamma((d+1)/2)/\Gamma(d/2)$.

    >>> mean_norm(3)
    1.5957691
    """
    from scipy.special import poch

    return math.sqrt(2) * float(poch(d / 2, 0.5))


def ball_step(actions: int, radius: float) -> float:
    r"""Scaled stationary step $k^*\sqrt{T} = R\,E\|G_d\|/d$.

    >>> ball_step(3, 1.0)
    0.5319230
    """
    return radius * mean_norm(actions) / actions


def ball_loss(scaled: float, actions: int, horizon: float, radius: float) -> float:
    r"""$L(k)/T = R^2 d + \frac{1 - 1/T}{2}(K^2 d - 2KR\,E\|G_d\|)$.

    >>> ball_loss(0.5319, 3, 20, 1.0)
    2.5968
    """
    move = scaled**2 * actions - 2 * scaled * radius * mean_norm(actions)
    return radius**2 * actions + (1 - 1 / horizon) / 2 * move


def ball_optimal_loss(actions: int, horizon: float, radius: float) -> float:
    r"""$L^*/T = R^2\,(d - \text{mean over rounds of the mean cosine at correlation } (t-1)/T)$.

    >>> ball_optimal_loss(3, 20, 1.0)
    2.5713

    Reference: Krivine's formula for the mean cosine, in Alon and Naor (2006), Approximating the cut-norm.
    """
    from scipy.special import hyp2f1

    # many nodes: for even d the last rounds have a log term
    theta, weight = round_nodes(horizon, 120)
    rho = np.sin(theta) ** 2
    c = actions / 2 + 1
    if actions <= 100:
        series = hyp2f1(0.5, 0.5, c, rho**2)
    else:  # scipy's hyp2f1 fails near 1, but the series needs only a few terms
        n = np.arange(40.0)
        ratios = (n + 0.5) ** 2 / ((c + n) * (n + 1))
        series = 1 + np.cumprod(ratios * rho[:, None] ** 2, 1).sum(1)
    cosine = weight @ (rho * series) * mean_norm(actions) ** 2 / actions
    return radius**2 * (actions - float(cosine))
