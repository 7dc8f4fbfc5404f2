r"""Tests of one regret curve, as published: trend check, regression, Mann-Kendall.

For $R_1, \dots, R_T$ with $s$ decreases of $R_t / t$ among its $T - 1$ steps,

    trend check    p = 2^-(T-1) sum_{i >= s} C(T-1, i)                   decreases against coin flips
    regression     log R_t = b0 log t + b1 where R_t > 0, one-sided t-test of b0 < 1
    Mann-Kendall   S = sum_{i<j} sign(R_j/j - R_i/i), normal with variance T(T-1)(2T+5)/18 less that of ties

All three take steps or rounds to be independent, which those of a sum are not: `_verdict` gives each its
false-alarm rate on agents whose regret is linear. References: Park, Liu, Ozdaglar, Zhang (2024), Do LLM agents have
regret?; Mann (1945), Kendall (1975).
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import bdtrc, ndtr, stdtr


def all_tests(
    curves: Float[np.ndarray, "k m"], rounds: Float[np.ndarray, "m"]
) -> dict[str, Float[np.ndarray, "k"]]:
    """The p-values of every curve; a curve that a test cannot judge has 1.

    >>> t = np.arange(1.0, 101.0)
    >>> {name: float(p[0]) < 0.001 for name, p in all_tests(np.sqrt(t)[None], t).items()}
    {'trend': True, 'regression': True, 'mann_kendall': True}
    """
    average = curves / rounds
    falls = (np.diff(average, axis=1) < 0).sum(1)
    return {
        "trend": bdtrc(falls - 1, average.shape[1] - 1, 0.5),
        "regression": regression(curves, rounds)[1],
        "mann_kendall": _mann_kendall(average),
    }


def regression(
    curves: Float[np.ndarray, "k m"], rounds: Float[np.ndarray, "m"]
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "k"], Int[np.ndarray, "k"]]:
    """The exponent `b0`, its p-value against 1, and how many rounds were left out for having no positive regret.

    >>> t = np.arange(1.0, 101.0)
    >>> b0, _, left_out = regression(np.sqrt(t)[None], t)
    >>> float(b0[0]), int(left_out[0])
    (0.5, 0)
    """
    used = curves > 0
    count = used.sum(1)
    x = np.where(used, np.log(rounds), 0.0)
    y = np.log(np.where(used, curves, 1.0))
    enough = count >= 3
    divisor = np.maximum(count, 1)
    dx, dy = (np.where(used, v - (v.sum(1) / divisor)[:, None], 0.0) for v in (x, y))
    spread = np.where(enough, (dx**2).sum(1), 1.0)
    slope = np.where(enough, (dx * dy).sum(1) / spread, 1.0)
    freedom = np.maximum(count - 2, 1)
    residual = ((dy - slope[:, None] * dx) ** 2).sum(1) / freedom
    error = np.sqrt(np.maximum(residual / spread, 1e-30))
    p = np.where(enough, stdtr(freedom, (slope - 1) / error), 1.0)
    return slope, p, curves.shape[1] - count


def _mann_kendall(average: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "k"]:
    m = average.shape[1]
    signs = (np.sign(average[:, k:] - average[:, :-k]).sum(1) for k in range(1, m))
    score = sum(signs, np.zeros(len(average)))
    ties = np.array([_tied(row) for row in average])
    variance = (m * (m - 1) * (2 * m + 5) - ties) / 18
    moved = score - np.sign(score)  # continuity correction
    z = np.divide(moved, np.sqrt(variance), out=np.zeros(len(score)), where=variance > 0)
    return ndtr(z)


def _tied(row: Float[np.ndarray, "m"]) -> float:
    counts = np.unique(row, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1) * (2 * counts + 5)).sum())
