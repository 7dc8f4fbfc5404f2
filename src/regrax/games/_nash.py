r"""Nash equilibria, exactly: pure ones of any game, zero-sum games by linear programming, bimatrix games by supports.

For payoff matrices $A$ and $B$ an equilibrium $(x, y)$ has every action in the support of $x$ among the best replies to
$y$, and the other way round. Strategies $x$ at which as many columns are best replies as $x$ has actions are the
vertices of the first player's best-reply polyhedron (likewise $y$); every equilibrium is a mixture of pairs of such
vertices that are equilibria themselves, the *extreme* equilibria. A pair of supports $(I, J)$ of equal size names at
most one vertex, the solution of $(B^\top x)_j = v$ for $j \in J$, $x_i = 0$ for $i \notin I$, $\sum_i x_i = 1$.
"""

import itertools
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from regrax.games._correlated_profile import Correlated
from regrax.games._game import Game
from regrax.games._linear_programs import minimise, scaled

PAIRS = 200_000
"""Pairs of supports that are tried: a game of 10 x 10 has 184,755."""

SAME = 1e-9  # payoffs, of span 1, that count as equal


def pure_equilibria(game: Game) -> list[tuple[int, ...]]:
    r"""All joint actions $a$ with $u_n(a) \ge u_n(j, a_{-n})$ for every player $n$ and action $j$, in order.

    >>> from regrax.games import chicken
    >>> pure_equilibria(chicken())
    [(0, 1), (1, 0)]
    """
    payoffs = np.asarray(game.payoffs)
    best = [u >= u.max(axis=n, keepdims=True) for n, u in enumerate(payoffs)]
    return [tuple(int(a) for a in joint) for joint in np.argwhere(np.all(best, axis=0))]


def is_zero_sum(game: Game) -> bool:
    """Whether there are two players whose payoffs add up to the same number everywhere, up to rounding."""
    payoffs = np.asarray(game.payoffs, float)
    if len(payoffs) != 2:
        return False
    total = payoffs.sum(0)
    return bool(np.ptp(total) <= 1e-12 * np.abs(payoffs).max())


def zero_sum_equilibrium(game: Game) -> Correlated:
    r"""$\max_x \min_j (A^\top x)_j$ as a linear program; its dual variables are the other player's strategy.

    >>> from regrax.games import weighted_rps
    >>> zero_sum_equilibrium(weighted_rps()).marginals[0].tolist()
    [0.5, 0.3333, 0.1667]

    Reference: von Neumann (1928), Zur Theorie der Gesellschaftsspiele.
    """
    if not is_zero_sum(game):
        raise ValueError(f"a zero-sum game has two payoffs of constant sum, but {game} has not")
    matrix = scaled(game, 0)
    rows, columns = matrix.shape
    found = minimise(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-matrix.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    return _product(game, found.x[:-1], -found.ineqlin.marginals)


def nash_equilibria(game: Game) -> list[Correlated]:
    """All extreme equilibria of a two-player game, small supports first; for a nondegenerate game, all equilibria.

    >>> from regrax.games import battle_of_the_sexes
    >>> for equilibrium in nash_equilibria(battle_of_the_sexes()):
    ...     print([strategy.round(4).tolist() for strategy in equilibrium.marginals])
    [[1.0, 0.0], [1.0, 0.0]]
    [[0.0, 1.0], [0.0, 1.0]]
    [[0.6667, 0.3333], [0.3333, 0.6667]]

    Reference: Mangasarian (1964), Equilibrium points of bimatrix games; Avis, Rosenberg, Savani, von Stengel (2010).
    """
    if len(game.sizes) != 2:
        raise ValueError(
            f"supports are enumerated for two players, but {game} has {len(game.sizes)}"
        )
    pairs = comb(sum(game.sizes), game.sizes[0]) - 1
    if pairs > PAIRS:
        raise ValueError(
            f"{game} has {pairs:,} pairs of supports, more than the {PAIRS:,} that are tried; "
            "approach an equilibrium by dynamics instead (regrax solve --by)"
        )
    # each player's vertices make the other's actions indifferent; `scaled` has the payer's own action first
    first, second = scaled(game, 0), scaled(game, 1)
    return [_product(game, x, y) for x, y in _matched(first, second)]


def _matched(first: Any, second: Any) -> list[tuple[Any, Any]]:
    """Pairs of vertices whose supports are best replies to each other, small supports first."""
    xs, ys = _vertices(second), _vertices(first)
    leaves_x = (xs > SAME).astype(float) @ (~_best_replies(first, ys)).T.astype(float)
    leaves_y = (~_best_replies(second, xs)).astype(float) @ (ys > SAME).T.astype(float)
    pairs = [(xs[i], ys[j]) for i, j in np.argwhere((leaves_x == 0) & (leaves_y == 0))]
    return sorted(pairs, key=lambda pair: sum(int((side > SAME).sum()) for side in pair))


def _best_replies(own: Any, strategies: Float[np.ndarray, "v n"]) -> Bool[np.ndarray, "v m"]:
    worth = strategies @ own.T
    return worth >= worth.max(1, keepdims=True) - SAME


def _vertices(replies: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "v m"]:
    """The vertices of the polyhedron of mixed strategies over the columns against which rows are best replies."""
    n, m = replies.shape
    found = [_of_size(replies, size) for size in range(1, min(n, m) + 1)]
    vertices = np.concatenate(found)
    _, kept = np.unique(np.round(vertices, 8), axis=0, return_index=True)
    return vertices[np.sort(kept)]


def _of_size(replies: Float[np.ndarray, "n m"], size: int) -> Float[np.ndarray, "v m"]:
    n, m = replies.shape
    equal = np.array(list(itertools.combinations(range(n), size)))  # J
    support = np.array(list(itertools.combinations(range(m), size)))  # I
    equal, support = np.repeat(equal, len(support), 0), np.tile(support, (len(equal), 1))
    weights = _indifferent(replies[equal[:, :, None], support[:, None, :]])
    strategies = np.zeros((len(weights), m))
    np.put_along_axis(strategies, support, weights, 1)
    worth = strategies @ replies.T
    level = np.take_along_axis(worth, equal, 1)
    fits = (strategies.min(1) >= -SAME) & (level.min(1) >= worth.max(1) - SAME)
    kept = np.maximum(strategies[fits], 0)
    return kept / kept.sum(1, keepdims=True)


def _indifferent(blocks: Float[np.ndarray, "v k k"]) -> Float[np.ndarray, "v k"]:
    """Weights of sum 1 that make every row of a block worth the same; rows of -1 where there are none or many."""
    count, size, _ = blocks.shape
    system = np.ones((count, size + 1, size + 1))
    system[:, :size, :size] = blocks
    system[:, :size, size] = -1
    system[:, size, size] = 0
    regular = np.linalg.det(system) != 0
    weights = np.full((count, size), -1.0)
    right = np.append(np.zeros(size), 1.0)[:, None]
    weights[regular] = np.linalg.solve(system[regular], right)[:, :size, 0]
    return weights


def _product(game: Game, first: Any, second: Any) -> Correlated:
    x, y = (np.maximum(side, 0) / np.maximum(side, 0).sum() for side in (first, second))
    return Correlated(np.outer(x, y), game)
