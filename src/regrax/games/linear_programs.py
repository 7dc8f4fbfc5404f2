r"""Correlated equilibria as linear programs.

A joint distribution $\mu$ is an equilibrium when $G \mu \le 0$, one row for every deviation:

    CE     row (n, i, j)   sum_{a: a_n = i} mu(a) (u_n(j, a_-n) - u_n(a)) <= 0
    CCE    row (n, j)      sum_a mu(a) (u_n(j, a_-n) - u_n(a)) <= 0

Each player's rows are divided by the span of its payoffs, so that the solver's tolerances mean the same in every game.
"""

from math import prod
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax.games.game import Game, unfolded
from regrax.games.profile import Concept

MAX_LP_ENTRIES = 30_000_000
"""Entries of the largest matrix of constraints that is built: about half a gigabyte."""

MAX_LP_SECONDS = 300.0
"""How long one program may take."""

# 1e-10 is the smallest tolerance that HiGHS takes; degenerate programs can need a larger one, or interior points
OUT_OF_TIME = 1  # scipy's status
ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-8), ("highs-ipm", 1e-7))


class SolverError(ValueError):
    """The solver gave up; the message is its reason."""


def incentives(game: Game, concept: Concept) -> Any:
    """The matrix `G`, sparse, whose rows are the deviations and whose columns are the joint actions, flattened.

    >>> from regrax.games import matching_pennies
    >>> incentives(matching_pennies(), "cce").toarray()[0].tolist()
    [0.0, 0.0, 1.0, -1.0]
    """
    from scipy import sparse

    entries = sum(game.sizes) * prod(game.sizes)
    if entries > MAX_LP_ENTRIES:
        raise ValueError(
            f"a program of {entries:,} entries is beyond the {MAX_LP_ENTRIES:,} that are solved exactly; "
            f"approach the equilibrium by dynamics instead (play {game}, or regrax solve --by)"
        )
    rows = _told if concept == "ce" else _always
    index = np.arange(prod(game.sizes)).reshape(game.sizes)
    players = range(len(game.sizes))
    # which joint action each entry of `scaled` belongs to is its column
    return sparse.vstack([rows(scaled(game, n), unfolded(index, n)) for n in players], format="csr")


def scaled(game: Game, player: int) -> Float[np.ndarray, "d others"]:
    """One player's payoffs, own action first, shifted and divided to lie in [0, 1]."""
    payoffs = game.own(player)
    payoffs = payoffs / (np.abs(payoffs).max() or 1.0)
    payoffs = payoffs - payoffs.min()
    return payoffs / (payoffs.max() or 1.0)


def _told(own: Float[np.ndarray, "d others"], columns: Any) -> Any:
    from scipy import sparse

    told, instead = np.nonzero(~np.eye(len(own), dtype=bool))
    starts = np.arange(len(told) + 1) * own.shape[1]
    gains = (own[instead] - own[told]).ravel()
    return sparse.csr_array((gains, columns[told].ravel(), starts), shape=(len(told), columns.size))


def _always(own: Float[np.ndarray, "d others"], columns: Any) -> Any:
    from scipy import sparse

    gains = np.empty((len(own), columns.size))
    gains[:, columns] = own[:, None, :] - own[None, :, :]
    return sparse.csr_array(gains)


def largest_minimum(payoffs: Float[np.ndarray, "N A"], gains: Any = None) -> Any:
    r"""$\max_\mu \min_n (u\mu)_n$ over distributions with $G\mu \le 0$; one more variable, the last, is the minimum."""
    from scipy import sparse

    players, actions = payoffs.shape
    gains = sparse.csr_array((0, actions)) if gains is None else gains
    below = [sparse.csr_array(-payoffs), sparse.csr_array(np.ones((players, 1)))]
    rows = sparse.block_array([[gains, None], below], format="csr")
    bounds = [(0, None)] * actions + [(None, None)]
    return minimise(np.repeat([0.0, -1.0], [actions, 1]), rows, shares=actions, bounds=bounds)


def minimise(
    cost: Float[np.ndarray, "n"], rows: Any, limits: Any = 0, shares: int = 0, bounds: Any = None
) -> Any:
    r"""$\min \langle c, x \rangle$ for $Rx \le b$ by HiGHS; what comes back is optimal or an error says why.

    Args:
        cost: $c$.
        rows: $R$, sparse.
        limits: $b$, or a number for all of it.
        shares: how many variables, the first ones, are a distribution.
        bounds: of each variable; by default none is negative.
    """
    from scipy.optimize import linprog

    program: dict[str, Any] = {"A_ub": rows, "b_ub": np.broadcast_to(limits, rows.shape[:1])}
    if shares:
        program |= {"A_eq": [np.arange(cost.size) < shares], "b_eq": [1.0]}
    reasons = []
    for method, tolerance in ATTEMPTS:
        tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options = {**dict.fromkeys(tolerances, tolerance), "time_limit": MAX_LP_SECONDS}
        found = linprog(cost, method=method, options=options, bounds=bounds, **program)
        if found.status == 0:
            return found
        if found.status == OUT_OF_TIME:
            raise SolverError(
                f"the linear program was not solved in {MAX_LP_SECONDS:g} seconds; "
                "approach the equilibrium by dynamics instead (regrax solve --by)"
            )
        reasons.append(f"{method} at {tolerance:g}: {' '.join(str(found.message).split())}")
    raise SolverError(f"the linear program was not solved ({'; '.join(reasons)})")
