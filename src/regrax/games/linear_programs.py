r"""Correlated equilibria as linear programs.

A distribution $\mu$ over joint actions is an equilibrium if $G \mu \le 0$, where $G$ has a row for every deviation:

    CE     row (n, i, j)   sum_{a: a_n = i} mu(a) (u_n(j, a_-n) - u_n(a)) <= 0
    CCE    row (n, j)      sum_a mu(a) (u_n(j, a_-n) - u_n(a)) <= 0

Each player's rows are divided by the range of its payoffs, so that the solver's tolerances have the same meaning in
every game.
"""

from math import prod
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax.games.game import Game, unfolded
from regrax.games.profile import Concept

MAX_LP_ENTRIES = 30_000_000
"""Largest number of entries in a constraint matrix, about half a gigabyte."""
MAX_LP_SECONDS = 300.0
# 1e-10 is the smallest tolerance that HiGHS accepts; degenerate programs may need a larger one, or interior points
ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-8), ("highs-ipm", 1e-7))


class SolverError(ValueError):
    """A linear or convex program could not be solved; the message gives the solver's reason."""


def incentives(game: Game, concept: Concept) -> Any:
    """Build the sparse matrix `G`: a row per deviation, a column per joint action.

    >>> from regrax.games import matching_pennies
    >>> incentives(matching_pennies(), "cce").toarray()[0].tolist()
    [0.0, 0.0, 1.0, -1.0]
    """
    from scipy import sparse

    entries = sum(game.sizes) * prod(game.sizes)
    if entries > MAX_LP_ENTRIES:
        raise ValueError(
            f"{game.name} needs a linear program with {entries:,} entries, more than the limit of {MAX_LP_ENTRIES:,}; "
            "approximate the equilibrium by dynamics instead (regrax solve --by)"
        )
    index = np.arange(prod(game.sizes)).reshape(game.sizes)
    blocks = []
    for player in range(len(game.sizes)):
        payoffs = scaled(game, player)
        gains = [payoffs - recommended for recommended in payoffs]
        if concept == "ce":  # a row per recommended action and action played instead
            rows = sparse.block_diag([np.delete(block, i, 0) for i, block in enumerate(gains)])
        else:
            rows = np.hstack(gains)
        order = np.argsort(unfolded(index, player).ravel())
        blocks.append(sparse.csr_array(rows)[:, order].sorted_indices())
    return sparse.vstack(blocks, format="csr")


def scaled(game: Game, player: int) -> Float[np.ndarray, "d others"]:
    """Return a player's payoffs, own action first, rescaled to [0, 1]."""
    payoffs = game.own(player)
    payoffs = payoffs / (np.abs(payoffs).max() or 1.0)
    payoffs = payoffs - payoffs.min()
    return payoffs / (payoffs.max() or 1.0)


def largest_minimum(payoffs: Float[np.ndarray, "N A"], gains: Any = None) -> Any:
    r"""Solve $\max_\mu \min_n (u\mu)_n$ over distributions with $G\mu \le 0$; the last variable is the minimum."""
    from scipy import sparse

    players, actions = payoffs.shape
    if gains is None:
        gains = sparse.csr_array((0, actions))
    below = [sparse.csr_array(-payoffs), sparse.csr_array(np.ones((players, 1)))]
    rows = sparse.block_array([[gains, None], below], format="csr")
    bounds = [(0, None)] * actions + [(None, None)]
    return minimise(np.repeat([0.0, -1.0], [actions, 1]), rows, shares=actions, bounds=bounds)


def minimise(
    cost: Float[np.ndarray, "n"], rows: Any, limits: Any = 0, shares: int = 0, bounds: Any = None
) -> Any:
    r"""Solve $\min \langle c, x \rangle$ for $Rx \le b$ with HiGHS, or raise a `SolverError`.

    Args:
        cost: $c$.
        rows: $R$, sparse.
        limits: $b$, or one number for all rows.
        shares: the number of leading variables that form a distribution.
        bounds: bounds on each variable; by default all are nonnegative.
    """
    from scipy.optimize import linprog

    program: dict[str, Any] = {"A_ub": rows, "b_ub": np.broadcast_to(limits, rows.shape[:1])}
    if shares:
        program["A_eq"] = [np.arange(cost.size) < shares]
        program["b_eq"] = [1.0]
    reasons = []
    for method, tolerance in ATTEMPTS:
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "time_limit": MAX_LP_SECONDS,
        }
        result = linprog(cost, method=method, options=options, bounds=bounds, **program)
        if result.status == 0:
            return result
        if result.status == 1:  # out of time
            raise SolverError(
                f"the linear program was not solved within {MAX_LP_SECONDS:g} seconds; "
                "approximate the equilibrium by dynamics instead (regrax solve --by)"
            )
        reasons.append(f"{method} at {tolerance:g}: {' '.join(str(result.message).split())}")
    raise SolverError(f"the linear program was not solved ({'; '.join(reasons)})")
