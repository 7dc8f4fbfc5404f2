r"""Exact Nash equilibria: pure equilibria of any game, extreme equilibria of two-player games, and zero-sum games.

For payoff matrices $A$ and $B$, a pair $(x, y)$ is an equilibrium if every action in the support of $x$ is a best reply
to $y$, and every action in the support of $y$ is a best reply to $x$. A strategy $x$ with as many best replies as
actions in its support is a vertex of the first player's best-reply polyhedron (likewise for $y$). Every equilibrium is
a mixture of pairs of vertices that are equilibria themselves, the *extreme* equilibria. A pair of supports $(I, J)$ of
equal size determines at most one vertex, the solution of $(B^\top x)_j = v$ for $j \in J$, $x_i = 0$ for $i \notin I$,
$\sum_i x_i = 1$.

Payoffs are rational numbers, as all doubles are, so every vertex is computed exactly. Floating-point arithmetic only
rules out pairs of supports whose system has a solution with a negative weight, or with a better reply, clearly beyond
its rounding error, estimated from the condition number of the system. Integer arithmetic decides the rest. A vertex is
identified by its support and its best replies; its weights are integers, rounded once for an equilibrium.
"""

import itertools
from fractions import Fraction
from math import comb, lcm
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from regrax.games.game import Game, precise_payoffs
from regrax.games.linear_programs import largest_minimum, scaled
from regrax.games.profile import CorrelatedProfile
from regrax.specs import as_game

MAX_SUPPORT_PAIRS = 200_000
"""Largest number of support pairs to enumerate; a 10 x 10 game has 184,755."""
ROUNDING = 1e-13
"""Rounding error per unit of condition number; smaller violations are decided in integer arithmetic."""


def pure_equilibria(game: Game | str) -> list[tuple[int, ...]]:
    r"""List all joint actions $a$ with $u_n(a) \ge u_n(j, a_{-n})$ for every player $n$ and action $j$.

    >>> from regrax.games import chicken
    >>> pure_equilibria(chicken())
    [(0, 1), (1, 0)]
    """
    game = as_game(game)
    payoffs = precise_payoffs(game)
    best = [u >= u.max(axis=n, keepdims=True) for n, u in enumerate(payoffs)]
    return [tuple(joint) for joint in np.argwhere(np.all(best, axis=0)).tolist()]


def is_zero_sum(game: Game | str) -> bool:
    """Return True for a two-player game whose payoffs have a constant sum, up to rounding."""
    payoffs = np.asarray(as_game(game).payoffs, float)
    total = payoffs.sum(0)
    return len(payoffs) == 2 and bool(np.ptp(total) <= 1e-12 * np.abs(payoffs).max())


def zero_sum_equilibrium(game: Game | str) -> CorrelatedProfile:
    r"""Solve $\max_x \min_j (A^\top x)_j$ as a linear program; its dual variables are the other player's strategy.

    >>> from regrax.games import weighted_rps
    >>> zero_sum_equilibrium(weighted_rps()).marginals[0].tolist()
    [0.5, 0.3333, 0.1667]

    Reference: von Neumann (1928), Zur Theorie der Gesellschaftsspiele.
    """
    game = as_game(game)
    if not is_zero_sum(game):
        raise ValueError(
            f"game must have two players and payoffs with a constant sum, got {game.name}"
        )
    result = largest_minimum(scaled(game, 0).T)
    return _product(game, result.x[:-1], -result.ineqlin.marginals)


def nash_equilibria(game: Game | str) -> list[CorrelatedProfile]:
    """Enumerate the extreme equilibria of a two-player game, small supports first.

    If the game is nondegenerate, these are all of its equilibria.

    >>> from regrax.games import battle_of_the_sexes
    >>> for equilibrium in nash_equilibria(battle_of_the_sexes()):
    ...     print([strategy.round(4).tolist() for strategy in equilibrium.marginals])
    [[1.0, 0.0], [1.0, 0.0]]
    [[0.0, 1.0], [0.0, 1.0]]
    [[0.6667, 0.3333], [0.3333, 0.6667]]

    Reference: Mangasarian (1964), Equilibrium points of bimatrix games; Avis, Rosenberg, Savani, von Stengel (2010).
    """
    game = as_game(game)
    if len(game.sizes) != 2:
        raise ValueError(f"game must have two players, but {game.name} has {len(game.sizes)}")
    pairs = comb(sum(game.sizes), game.sizes[0]) - 1
    if pairs > MAX_SUPPORT_PAIRS:
        raise ValueError(
            f"{game.name} has {pairs:,} pairs of supports, more than the limit of {MAX_SUPPORT_PAIRS:,}; "
            "approximate an equilibrium by dynamics instead (regrax solve --by)"
        )
    row, column = (_integers(payoffs) for payoffs in precise_payoffs(game))
    # a player's vertices make the other player indifferent
    xs = _vertices(column.T, scaled(game, 1))
    ys = _vertices(row, scaled(game, 0))
    # a pair is an equilibrium if neither plays an action that is not a best reply
    first = np.array([[*(x > 0), *~replies] for x, replies in xs], float)
    second = np.array([[*~replies, *(y > 0)] for y, replies in ys], float)
    equilibria = [(xs[i][0], ys[j][0]) for i, j in np.argwhere(first @ second.T == 0)]
    equilibria.sort(key=lambda pair: np.count_nonzero(pair[0]) + np.count_nonzero(pair[1]))
    return [_product(game, x, y) for x, y in equilibria]


def _vertices(exact: np.ndarray, payoffs: Float[np.ndarray, "n m"]) -> list[Any]:
    """List the mixed strategies over the columns that are vertices, each with the rows that are best replies to it."""
    n, m = payoffs.shape
    vertices = {}
    for size in range(1, min(n, m) + 1):
        combinations = [itertools.combinations(range(count), size) for count in (n, m)]
        pairs = np.array(list(itertools.product(*combinations)))
        for equal, played in pairs[_may_be_vertices(payoffs, pairs[:, 0], pairs[:, 1])]:
            strategy = _solved(exact, equal, played)
            if strategy is None or min(strategy) < 0:
                continue
            worth = exact @ strategy
            replies = worth == worth.max()
            if replies[equal[0]]:
                vertices.setdefault((*(strategy > 0), *replies), (strategy, replies))
    return list(vertices.values())


def _may_be_vertices(
    payoffs: Float[np.ndarray, "n m"],
    equal: Int[np.ndarray, "v size"],
    played: Int[np.ndarray, "v size"],
) -> Bool[np.ndarray, "v"]:
    """Return False for systems whose solution has a negative weight, or a better reply, beyond rounding error."""
    count, size = equal.shape
    system = np.ones((count, size + 1, size + 1))
    system[:, :size, :size] = payoffs[equal[:, :, None], played[:, None, :]]
    system[:, :size, size] = -1
    system[:, size, size] = 0
    regular = np.linalg.det(system) != 0
    inverse = np.full_like(system, np.nan)
    inverse[regular] = np.linalg.inv(system[regular])
    weights = inverse[:, :size, size]
    level = inverse[:, size, size]
    strategies = np.zeros((count, payoffs.shape[1]))
    np.put_along_axis(strategies, played, weights, 1)
    slack = level[:, None] - strategies @ payoffs.T  # about zero for `equal`
    condition = np.abs(system).sum(2).max(1) * np.abs(inverse).sum(2).max(1)
    error = ROUNDING * condition * np.maximum(1, np.abs(weights).sum(1))
    return ~(np.minimum(weights.min(1), slack.min(1)) < -error)  # true if singular


def _solved(exact: np.ndarray, equal: np.ndarray, played: np.ndarray) -> Any:
    """Solve for the strategy against which all of `equal` pay the same; return None unless it is unique.

    The weights are integers in the right proportions. The elimination is fraction-free (Bareiss 1968), so every
    division is exact.
    """
    size = len(equal) + 1
    rows = [[*exact[j, played].tolist(), -1, 0] for j in equal]
    rows.append([1] * (size - 1) + [0, 1])
    divisor = 1
    for k in range(size):
        pivot = next((r for r in range(k, size) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        scale = rows[k][k]
        for r in range(size):
            factor = rows[r][k]
            if r != k:
                pairs = zip(rows[r], rows[k], strict=True)
                rows[r] = [(scale * a - factor * b) // divisor for a, b in pairs]
        divisor = scale
    sign = 1 if divisor > 0 else -1
    strategy = np.zeros(exact.shape[1], object)
    strategy[played] = [sign * row[-1] for row in rows[:-1]]
    return strategy


def _integers(payoffs: np.ndarray) -> np.ndarray:
    """Multiply a player's payoffs, as fractions, by their common denominator."""
    fractions = [Fraction(payoff) for payoff in payoffs.flat]
    factor = lcm(*(fraction.denominator for fraction in fractions))
    return np.array([int(fraction * factor) for fraction in fractions], object).reshape(
        payoffs.shape
    )


def _product(game: Game, *strategies: Any) -> CorrelatedProfile:
    x, y = (np.maximum(side / side.sum(), 0.0).astype(float) for side in strategies)
    return CorrelatedProfile(np.outer(x / x.sum(), y / y.sum()), game)
