r"""Correlated equilibria as linear programs.

A joint distribution $\mu$ is an equilibrium when $G \mu \le 0$, one row for every deviation:

    CE     row (n, i, j)   sum_{a: a_n = i} mu(a) (u_n(j, a_-n) - u_n(a)) <= 0
    CCE    row (n, j)      sum_a mu(a) (u_n(j, a_-n) - u_n(a)) <= 0

Each player's rows are divided by the span of its payoffs, so that the solver's tolerances mean the same in every game.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from regrax.games._correlated_profile import Concept
from regrax.games._game import Game

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

    entries = sum(game.sizes) * int(np.prod(game.sizes))
    if entries > MAX_LP_ENTRIES:
        raise ValueError(
            f"a program of {entries:,} entries is beyond the {MAX_LP_ENTRIES:,} that are solved exactly; "
            f"approach the equilibrium by dynamics instead (play {game}, or regrax solve --by)"
        )
    rows = _told if concept == "ce" else _always
    return sparse.vstack([rows(game, n) for n in range(len(game.sizes))], format="csr")


def scaled(game: Game, player: int) -> Float[np.ndarray, "d others"]:
    """One player's payoffs, own action first, shifted and divided to lie in [0, 1]."""
    payoffs = np.asarray(game.payoffs[player], float)
    largest = np.abs(payoffs).max() or 1.0
    tensor = np.moveaxis(payoffs / largest, player, 0)
    tensor = tensor - tensor.min()
    return tensor.reshape(tensor.shape[0], -1) / (tensor.max() or 1.0)


def _columns(game: Game, player: int) -> Any:
    """Which joint action each entry of `scaled` belongs to."""
    index = np.moveaxis(np.arange(int(np.prod(game.sizes))).reshape(game.sizes), player, 0)
    return index.reshape(index.shape[0], -1)


def _told(game: Game, player: int) -> Any:
    from scipy import sparse

    own, columns = scaled(game, player), _columns(game, player)
    told, instead = np.nonzero(~np.eye(len(own), dtype=bool))
    starts = np.arange(len(told) + 1) * own.shape[1]
    gains = (own[instead] - own[told]).ravel()
    return sparse.csr_array((gains, columns[told].ravel(), starts), shape=(len(told), columns.size))


def _always(game: Game, player: int) -> Any:
    from scipy import sparse

    own, columns = scaled(game, player), _columns(game, player)
    gains = np.empty((len(own), columns.size))
    gains[:, columns] = own[:, None, :] - own[None, :, :]
    return sparse.csr_array(gains)


def minimise(cost: Float[np.ndarray, "n"], **program: Any) -> Any:
    """Solve `scipy.optimize.linprog(cost, **program)` by HiGHS; what comes back is optimal or an error says why."""
    from scipy.optimize import linprog

    reasons = []
    for method, tolerance in ATTEMPTS:
        tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options = {**dict.fromkeys(tolerances, tolerance), "time_limit": MAX_LP_SECONDS}
        found = linprog(cost, method=method, options=options, **program)
        if found.status == 0:
            return found
        if found.status == OUT_OF_TIME:
            raise SolverError(
                f"the linear program was not solved in {MAX_LP_SECONDS:g} seconds; "
                "approach the equilibrium by dynamics instead (regrax solve --by)"
            )
        reasons.append(f"{method} at {tolerance:g}: {' '.join(str(found.message).split())}")
    raise SolverError(f"the linear program was not solved ({'; '.join(reasons)})")
