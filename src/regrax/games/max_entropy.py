r"""Compute the maximum-entropy (coarse) correlated equilibrium, with a certificate.

The problem $\max \{ H(\mu) : G\mu \le 0 \}$, $H(\mu) = -\sum_a \mu_a \log \mu_a$, has the dual
$\min_{\lambda \ge 0} \log Z$ with $Z(\lambda) = \sum_a e^{-(G^\top \lambda)_a}$ and
$\mu(\lambda) = e^{-G^\top\lambda} / Z$. The minimum is attained only if some equilibrium plays every joint action, so a
linear program first finds the *face* that contains all equilibria:

    support   joint actions that some equilibrium plays
    tight     rows k with (G mu)_k = 0 at every equilibrium; there lambda_k may have either sign
    proof     lambda >= 0 with G^T lambda = 0 on the support and >= 1 off it, and lambda_k >= 1 for tight rows

On the face, a primal-dual Newton method solves $(G\mu)_k = 0$ for tight rows and $(G\mu)_k = -s_k$, $\lambda_k s_k =
\tau \to 0$ for the others. Adding a sufficient multiple of the proof makes $\lambda$ feasible for the whole dual.
However the iterations go, any $\lambda \ge 0$ proves that no equilibrium has entropy above $\log Z(\lambda)$, so the
result is returned only if $\max G\mu$ and $\log Z - H(\mu)$ are both at most the tolerance.

References: Ortiz, Schapire, Kakade (2007), Maximum entropy correlated equilibria; Borwein, Wolkowicz (1981),
Regularizing the abstract convex program; Wright (1997), Primal-dual interior-point methods.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from regrax.games.linear_programs import SolverError, minimise

Rows = Float[np.ndarray, "K"]
Mask = Bool[np.ndarray, "_"]

TOLERANCE = 1e-9  # on gains and on entropy
MAX_UNKNOWNS = 4096
MAX_STEPS = 100
RIDGE = 1e-10  # on tight rows, which may be redundant
MAX_EXPONENT_RISE = 2.0  # per step; beyond it, Newton's quadratic model is not trusted


def most_entropic(gains: Any) -> Float[np.ndarray, "A"]:
    r"""Maximise the entropy of $\mu$ subject to $G\mu \le 0$, both up to `TOLERANCE`.

    >>> from scipy.sparse import csr_array
    >>> most_entropic(csr_array([[0.0, 2.0, -1.0]])).tolist()
    [0.3460, 0.2180, 0.4360]
    """
    from scipy.special import entr

    if min(gains.shape) > MAX_UNKNOWNS:
        raise ValueError(
            f"maximum entropy allows up to {MAX_UNKNOWNS:,} joint actions or deviations, got {min(gains.shape):,}"
        )
    actions = gains.shape[1]
    uniform = np.full(actions, 1 / actions)
    if (gains @ uniform).max(initial=0.0) <= 0:
        return uniform
    support, tight, proof = find_face(gains)
    weights = _newton(gains[:, support], ~tight)
    joint = np.zeros(actions)
    joint[support] = _gibbs(gains[:, support], weights)
    violation = float((gains @ joint).max(initial=0.0))
    # add enough of the proof to make the weights feasible
    multiple = np.max(-weights / np.maximum(proof, 1e-9), initial=0.0, where=tight)
    off_support = (gains.T @ weights)[~support]
    multiple = max(multiple, (60 - off_support).max(initial=0.0))  # e^-60 is negligible
    feasible = np.maximum(weights + multiple * proof, 0)
    bound = np.logaddexp.reduce(-(gains.T @ feasible))  # log Z
    excess = float(bound - entr(joint).sum())
    if not max(violation, excess) <= TOLERANCE:
        raise SolverError(
            f"maximum entropy was not certified to {TOLERANCE:g} in {MAX_STEPS} steps: deviations still gain "
            f"{violation:.3g} and the entropy may be {max(excess, 0):.3g} too low"
        )
    return joint


def find_face(gains: Any) -> tuple[Mask, Mask, Rows]:
    r"""Find the support and the tight rows of the face that contains all equilibria, and the proof.

    Solve $\max \sum_a t_a + \sum_k u_k$ over $G(t + r) + u \le 0$, $0 \le t, u \le 1$, $r \ge 0$. Equilibria can be
    scaled up until every entry that can be positive is at least 1. The dual variables are the proof.
    """
    from scipy import sparse

    rows, actions = gains.shape
    result = minimise(
        -np.repeat([1.0, 0.0, 1.0], [actions, actions, rows]),
        sparse.hstack([gains, gains, sparse.eye_array(rows)], format="csr"),
        bounds=[(0, 1)] * actions + [(0, None)] * actions + [(0, 1)] * rows,
    )
    reached = result.x[:actions]
    slacks = result.x[2 * actions :]
    return reached > 0.5, slacks < 0.5, np.maximum(-result.ineqlin.marginals, 0)


def _newton(gains: Any, loose: Mask) -> Rows:
    r"""Take Newton steps in $\lambda$ until the equations hold well within the tolerance."""
    count = max(int(loose.sum()), 1)
    weights = loose.astype(float)  # lambda
    slacks = loose.astype(float)  # s, zero for tight rows
    for _ in range(MAX_STEPS):
        joint = _gibbs(gains, weights)
        mean = gains @ joint
        violation = np.where(loose, mean, np.abs(mean)).max(initial=0.0)
        if max(violation, abs(float(weights @ mean))) <= 0.1 * TOLERANCE:
            break
        level = float(slacks @ weights) / count
        residual = np.max(np.abs(mean + slacks - level), initial=0.0, where=loose)
        tau = max(0.1 * level, 0.02 * residual)  # keep pace with the residual
        products = tau - slacks * weights
        pull = np.where(loose, slacks - tau, 0) + _ratio(products, weights, loose, 0.0)
        ridge = _ratio(slacks, weights, loose, RIDGE)
        move = _solve_hessian(gains, joint, mean, ridge, mean + pull)
        shift = _ratio(products - slacks * move, weights, loose, 0.0)
        exponents = -(gains.T @ move)
        exponents -= exponents @ joint
        spread = np.sqrt(joint @ exponents**2)
        length = min(
            1.0,
            0.95 * _ratio(-weights, move, loose & (move < 0), np.inf).min(initial=np.inf),
            0.95 * _ratio(-slacks, shift, loose & (shift < 0), np.inf).min(initial=np.inf),
            1 / max(spread, 1e-300),
            MAX_EXPONENT_RISE / max(exponents.max(), 1e-300),
        )
        weights = weights + length * move
        slacks = slacks + length * shift
    return weights


def _gibbs(gains: Any, weights: Rows) -> Float[np.ndarray, "A"]:
    r"""Return $\mu(\lambda)$."""
    from scipy.special import softmax

    return softmax(-(gains.T @ weights))


def _ratio(top: Rows, bottom: Rows, where: Mask, other: float) -> Rows:
    return np.divide(top, bottom, out=np.full(len(top), other), where=where)


def _solve_hessian(gains: Any, joint: Any, mean: Rows, w: Rows, right: Rows) -> Rows:
    r"""Solve $(\mathrm{diag}(w) + G (\mathrm{diag}\mu - \mu\mu^\top) G^\top) x = r$.

    The factorised matrix is indexed by the deviations or, by Woodbury's identity, by the joint actions, whichever are
    fewer; for correlated equilibria of two players this takes half the time or less.
    """
    if gains.shape[0] <= gains.shape[1]:
        root = np.sqrt(w)
        spread = ((gains * joint) @ gains.T).toarray() - np.outer(mean, mean)
        return _solve_one_plus(spread / np.outer(root, root), right / root) / root
    root = np.sqrt(joint)
    pulled = gains.T @ (mean / w)
    square = (gains.T @ (gains / w[:, None])).toarray()
    centred = square - pulled[:, None] - pulled + mean @ (mean / w)
    right = right / w
    shares = root * (gains.T @ right - mean @ right)
    inner = root * _solve_one_plus(centred * np.outer(root, root), shares)
    return right - (gains @ inner - mean * inner.sum()) / w


def _solve_one_plus(matrix: Float[np.ndarray, "n n"], right: Any) -> Any:
    """Solve for the identity plus a positive semidefinite matrix.

    In late iterations rounding can make the sum indefinite, which a small diagonal shift repairs.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = np.diag_indices(len(matrix))
    matrix[diagonal] += 1
    shift = 1e-15 * float(matrix[diagonal].max())
    for _ in range(12):
        try:
            return cho_solve(cho_factor(matrix), right)
        except LinAlgError:
            matrix[diagonal] += shift
            shift *= 10
    raise SolverError("maximum entropy failed: the Newton system is not positive definite")
