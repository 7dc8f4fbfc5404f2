r"""The (coarse) correlated equilibrium of maximum entropy, with a certificate.

$\max \{ H(\mu) : G\mu \le 0 \}$, $H(\mu) = -\sum_a \mu_a \log \mu_a$, has the dual $\min_{\lambda \ge 0} \log Z$,
$Z(\lambda) = \sum_a e^{-(G^\top \lambda)_a}$, and $\mu(\lambda) = e^{-G^\top\lambda} / Z$. The minimum is attained
only if equilibria reach every joint action, so a linear program first finds what holds at all of them, the *face*:

    support   joint actions that some equilibrium plays
    tight     rows k with (G mu)_k = 0 at every equilibrium; there lambda_k may have either sign
    proof     lambda >= 0 with G^T lambda = 0 on the support and >= 1 off it, and lambda_k >= 1 for tight rows

Within the face a primal-dual Newton method solves $(G\mu)_k = 0$ for tight rows and $(G\mu)_k = -s_k$, $\lambda_k s_k =
\tau \to 0$ for the others. Enough of the proof added to $\lambda$ makes it feasible for the whole dual. Whatever the
iterations did, any $\lambda \ge 0$ shows that no equilibrium has entropy above $\log Z(\lambda)$: the answer is
returned only if $\max G\mu$ and $\log Z - H(\mu)$ are both at most the tolerance.

References: Ortiz, Schapire, Kakade (2007), Maximum entropy correlated equilibria; Borwein, Wolkowicz (1981),
Regularizing the abstract convex program; Mehrotra (1992), On the implementation of a primal-dual interior point method.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from regrax.games.linear_programs import SolverError, minimise

Rows = Float[np.ndarray, "K"]

TOLERANCE = 1e-9  # on gains and on entropy
MAX_NEWTON_UNKNOWNS = 4096
MAX_NEWTON_STEPS = 100
RIDGE = 1e-10  # on tight rows, which may repeat each other
MAX_EXPONENT_RISE = 2.0  # per step: Newton trusts its quadratic no further


class Face(NamedTuple):
    """What all equilibria share."""

    support: Bool[np.ndarray, "A"]
    tight: Bool[np.ndarray, "K"]
    proof: Rows


class _Point(NamedTuple):
    """Dual weights, slacks of the rows that are not tight, and the distribution that the weights give."""

    weights: Rows  # lambda
    slacks: Rows  # s, zero for tight rows
    joint: Float[np.ndarray, "A"]  # mu
    gains: Rows  # G mu


def most_entropic(gains: Any) -> Float[np.ndarray, "A"]:
    r"""A distribution with $G\mu \le$ `TOLERANCE` whose entropy, plus `TOLERANCE`, none with $G\mu \le 0$ exceeds.

    >>> from scipy.sparse import csr_array
    >>> most_entropic(csr_array([[0.0, 2.0, -1.0]])).tolist()
    [0.3460, 0.2180, 0.4360]
    """
    if min(gains.shape) > MAX_NEWTON_UNKNOWNS:
        raise ValueError(
            f"maximum entropy takes up to {MAX_NEWTON_UNKNOWNS:,} joint actions or deviations, got {min(gains.shape):,}"
        )
    actions = gains.shape[1]
    even = np.full(actions, 1 / actions)
    if (gains @ even).max(initial=0.0) <= 0:
        return even  # nothing has more entropy
    face = find_face(gains)
    point = _follow(gains[:, face.support], ~face.tight)
    joint = np.zeros(actions)
    joint[face.support] = point.joint
    violation, excess = _certificate(gains, face, point.weights, joint)
    if not max(violation, excess) <= TOLERANCE:
        raise SolverError(
            f"maximum entropy was not certified to {TOLERANCE:g} in {MAX_NEWTON_STEPS} steps: deviations still gain "
            f"{violation:.3g} and entropy may be {excess:.3g} short"
        )
    return joint


def find_face(gains: Any) -> Face:
    r"""The largest support and the largest slacks of any equilibrium.

    $\max \sum_a t_a + \sum_k u_k$ over $G(t + r) + u \le 0$, $0 \le t, u \le 1$, $r \ge 0$: equilibria may be scaled up
    until whatever can be positive is at least 1. The dual variables are the proof.
    """
    from scipy import sparse

    rows, actions = gains.shape
    found = minimise(
        -np.repeat([1.0, 0.0, 1.0], [actions, actions, rows]),
        sparse.hstack([gains, gains, sparse.eye_array(rows)], format="csr"),
        bounds=[(0, 1)] * actions + [(0, None)] * actions + [(0, 1)] * rows,
    )
    reached, slack = found.x[:actions], found.x[2 * actions :]
    return Face(reached > 0.5, slack < 0.5, np.maximum(-found.ineqlin.marginals, 0))


def _certificate(gains: Any, face: Face, weights: Rows, joint: Any) -> tuple[float, float]:
    r"""$\max G\mu$, and $\log Z(\lambda) - H(\mu)$ for the weights made feasible by enough of the proof."""
    needed = np.max(-weights / np.maximum(face.proof, 1e-9), initial=0.0, where=face.tight)
    off = (gains.T @ weights)[~face.support]
    needed = max(needed, 60 - off.min()) if len(off) else needed  # e^-60 is nothing beside 1
    feasible = np.maximum(weights + needed * face.proof, 0)
    log_total = np.logaddexp.reduce(-(gains.T @ feasible))
    played = joint[joint > 0]
    excess = float(log_total + (played * np.log(played)).sum())
    return float((gains @ joint).max(initial=0.0)), excess


def _follow(gains: Any, loose: Bool[np.ndarray, "K"]) -> _Point:
    """Newton steps from even weights until the equations hold well within the tolerance."""
    start = loose.astype(float)
    point = _point(gains, start, start)
    for _ in range(MAX_NEWTON_STEPS):
        residual = np.where(loose, point.gains, np.abs(point.gains)).max(initial=0.0)
        if max(residual, abs(float(point.weights @ point.gains))) <= 0.1 * TOLERANCE:
            break
        point = _step(gains, loose, point)
    return point


def _point(gains: Any, weights: Rows, slacks: Rows) -> _Point:
    exponents = -(gains.T @ weights)
    terms = np.exp(exponents - exponents.max())
    joint = terms / terms.sum()
    return _Point(weights, slacks, joint, gains @ joint)


def _step(gains: Any, loose: Bool[np.ndarray, "K"], point: _Point) -> _Point:
    """Mehrotra's predictor and corrector; `tau` keeps pace with the residual so that neither runs ahead."""
    weights, slacks = point.weights, point.slacks
    count = max(int(loose.sum()), 1)
    solve = _hessian_solver(gains, point, _ratio(slacks, weights, loose, RIDGE))
    level = float(slacks @ weights) / count
    least = 0.02 * np.max(np.abs(point.gains + slacks - level), initial=0.0, where=loose)

    def towards(tau: float, corrected: Rows) -> tuple[Rows, Rows]:
        products = tau - slacks * weights - corrected
        pull = np.where(loose, slacks - tau, 0) + _ratio(products, weights, loose, 0.0)
        move = solve(point.gains + pull)
        return move, _ratio(products - slacks * move, weights, loose, 0.0)

    move, shift = towards(least, np.zeros_like(weights))
    length = _room(weights, move, slacks, shift, loose)
    reached = float((slacks + length * shift) @ (weights + length * move)) / count
    keep = min(max((reached / level) ** 3, 1e-3), 0.9) if level > 0 else 0.0
    move, shift = towards(max(keep * level, least), shift * move)
    length = min(1.0, 0.95 * _room(weights, move, slacks, shift, loose), _trust(gains, point, move))
    return _point(gains, weights + length * move, slacks + length * shift)


def _ratio(top: Rows, bottom: Rows, where: Bool[np.ndarray, "K"], other: float) -> Rows:
    return np.divide(top, bottom, out=np.full(len(top), other), where=where)


def _room(weights: Rows, move: Rows, slacks: Rows, shift: Rows, loose: Any) -> float:
    """How far weights and slacks can go before one of them is negative."""
    return min(
        float(_ratio(-value, change, loose & (change < 0), np.inf).min(initial=1 / 0.95))
        for value, change in ((weights, move), (slacks, shift))
    )


def _trust(gains: Any, point: _Point, move: Rows) -> float:
    exponents = -(gains.T @ move)
    centred = exponents - exponents @ point.joint
    spread = np.sqrt(point.joint @ centred**2)
    return float(min(1 / max(spread, 1e-300), MAX_EXPONENT_RISE / max(centred.max(), 1e-300)))


def _hessian_solver(gains: Any, point: _Point, w: Rows) -> Callable[[Rows], Rows]:
    r"""Solve with $\mathrm{diag}(w) + G (\mathrm{diag}\mu - \mu\mu^\top) G^\top$.

    On the side of deviations or, by Woodbury's identity, of joint actions, whichever is smaller.
    """
    side = _by_deviations if gains.shape[0] <= gains.shape[1] else _by_actions
    return side(gains, point, w)


def _by_deviations(gains: Any, point: _Point, w: Rows) -> Callable[[Rows], Rows]:
    root = np.sqrt(w)
    spread = ((gains * point.joint) @ gains.T).toarray() - np.outer(point.gains, point.gains)
    solve = _one_plus(spread / np.outer(root, root))
    return lambda right: solve(right / root) / root


def _by_actions(gains: Any, point: _Point, w: Rows) -> Callable[[Rows], Rows]:
    root, mean = np.sqrt(point.joint), point.gains
    pulled = gains.T @ (mean / w)
    square = (gains.T @ (gains / w[:, None])).toarray()
    centred = square - pulled[:, None] - pulled + mean @ (mean / w)
    solve = _one_plus(centred * np.outer(root, root))

    def solved(right: Rows) -> Rows:
        right = right / w
        inner = root * solve(root * (gains.T @ right - mean @ right))
        return right - (gains @ inner - mean * inner.sum()) / w

    return solved


def _one_plus(matrix: Float[np.ndarray, "n n"]) -> Callable[[Any], Any]:
    """Solve with one plus a positive matrix; late on, rounding can make it indefinite, which a small shift mends."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = np.diag_indices(len(matrix))
    matrix[diagonal] += 1
    shift = 1e-15 * float(matrix[diagonal].max())
    for _ in range(12):
        try:
            factor = cho_factor(matrix)
            return lambda right: cho_solve(factor, right)
        except LinAlgError:
            matrix[diagonal] += shift
            shift *= 10
    raise SolverError("maximum entropy met a Newton system that is not positive definite")
