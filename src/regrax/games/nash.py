r"""Nash equilibria, exactly: pure ones of any game, zero-sum games by linear programming, bimatrix games by supports.

For payoff matrices $A$ and $B$ an equilibrium $(x, y)$ has every action in the support of $x$ among the best replies to
$y$, and the other way round. Strategies $x$ at which as many columns are best replies as $x$ has actions are the
vertices of the first player's best-reply polyhedron (likewise $y$); every equilibrium is a mixture of pairs of such
vertices that are equilibria themselves, the *extreme* equilibria. A pair of supports $(I, J)$ of equal size names at
most one vertex, the solution of $(B^\top x)_j = v$ for $j \in J$, $x_i = 0$ for $i \notin I$, $\sum_i x_i = 1$.

Payoffs are rational numbers (doubles are), so every decision is exact: floating point decides what is clear beyond its
rounding, as told by the condition of the system, and integers the rest (a singular system, a tie, payoffs of very
different sizes). A vertex is known by its support and its best replies; the weights of an equilibrium are solved in
integers, checked, and rounded once.
"""

import itertools
from math import comb, lcm
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from regrax.games.game import Game, exact_payoffs
from regrax.games.linear_programs import largest_minimum, scaled
from regrax.games.profile import CorrelatedProfile
from regrax.specs import as_game

MAX_SUPPORT_PAIRS = 200_000
"""Pairs of supports that are tried: a game of 10 x 10 has 184,755."""

ROUNDING = 1e-13
"""Relative to the condition of a system: differences below it are decided in integers."""


def pure_equilibria(game: Game | str) -> list[tuple[int, ...]]:
    r"""All joint actions $a$ with $u_n(a) \ge u_n(j, a_{-n})$ for every player $n$ and action $j$, in order.

    >>> from regrax.games import chicken
    >>> pure_equilibria(chicken())
    [(0, 1), (1, 0)]
    """
    game = as_game(game)
    payoffs = np.asarray(game.payoffs) if game.exact is None else exact_payoffs(game)
    best = [u >= u.max(axis=n, keepdims=True) for n, u in enumerate(payoffs)]
    return [tuple(joint) for joint in np.argwhere(np.all(best, axis=0)).tolist()]


def is_zero_sum(game: Game | str) -> bool:
    """Whether there are two players whose payoffs add up to the same number everywhere, up to rounding."""
    payoffs = np.asarray(as_game(game).payoffs, float)
    if len(payoffs) != 2:
        return False
    total = payoffs.sum(0)
    return bool(np.ptp(total) <= 1e-12 * np.abs(payoffs).max())


def zero_sum_equilibrium(game: Game | str) -> CorrelatedProfile:
    r"""$\max_x \min_j (A^\top x)_j$ as a linear program; its dual variables are the other player's strategy.

    >>> from regrax.games import weighted_rps
    >>> zero_sum_equilibrium(weighted_rps()).marginals[0].tolist()
    [0.5, 0.3333, 0.1667]

    Reference: von Neumann (1928), Zur Theorie der Gesellschaftsspiele.
    """
    game = as_game(game)
    if not is_zero_sum(game):
        raise ValueError(f"a zero-sum game has two payoffs of constant sum, but {game} has not")
    found = largest_minimum(scaled(game, 0).T)
    return _product(game, found.x[:-1], -found.ineqlin.marginals)


def nash_equilibria(game: Game | str) -> list[CorrelatedProfile]:
    """All extreme equilibria of a two-player game, small supports first; for a nondegenerate game, all equilibria.

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
        raise ValueError(
            f"supports are enumerated for two players, but {game} has {len(game.sizes)}"
        )
    pairs = comb(sum(game.sizes), game.sizes[0]) - 1
    if pairs > MAX_SUPPORT_PAIRS:
        raise ValueError(
            f"{game} has {pairs:,} pairs of supports, more than the {MAX_SUPPORT_PAIRS:,} that are tried; "
            "approach an equilibrium by dynamics instead (regrax solve --by)"
        )
    # each player's vertices make the other's actions indifferent; the payer's own action comes first
    rows, columns = (_integers(u) for u in exact_payoffs(game))
    xs, ys = _vertices(columns.T, scaled(game, 1)), _vertices(rows, scaled(game, 0))
    # of every pair the actions that one plays though they are no best reply to the other
    first = np.hstack([xs.support, ~xs.replies]).astype(float)
    second = np.hstack([~ys.replies, ys.support]).astype(float)
    pairs = np.argwhere(first @ second.T == 0)
    sizes = xs.support.sum(1)[pairs[:, 0]] + ys.support.sum(1)[pairs[:, 1]]
    found = [
        (_solved(columns.T, *xs.systems[i]), _solved(rows, *ys.systems[j]))
        for i, j in pairs[np.argsort(sizes, kind="stable")]
    ]
    return [
        _product(game, x, y) for x, y in found if _gap(rows, x, y) == _gap(columns.T, y, x) == 0
    ]


class _Vertices(NamedTuple):
    """Strategies over `m` actions as what decides them: which they play, and which of the other's are best replies."""

    support: Bool[np.ndarray, "v m"]
    replies: Bool[np.ndarray, "v n"]
    systems: list[Any]  # of each, the best replies and the actions that it solves for


def _vertices(exact: np.ndarray, replies: Float[np.ndarray, "n m"]) -> _Vertices:
    """The vertices of the polyhedron of mixed strategies over the columns against which rows are best replies."""
    found = [_of_size(exact, replies, size) for size in range(1, min(replies.shape) + 1)]
    support, best = (np.concatenate(part) for part in list(zip(*found, strict=True))[:2])
    systems = [pair for _, _, equal, played in found for pair in zip(equal, played, strict=True)]
    _, kept = np.unique(np.hstack([support, best]), axis=0, return_index=True)
    kept.sort()
    return _Vertices(support[kept], best[kept], [systems[k] for k in kept])


def _of_size(exact: np.ndarray, replies: Float[np.ndarray, "n m"], size: int) -> tuple[Any, ...]:
    """Support, best replies and systems of the vertices that pairs of `size` actions name, with repetitions."""
    n, m = replies.shape
    equal = np.array(list(itertools.combinations(range(n), size)))  # J
    played = np.array(list(itertools.combinations(range(m), size)))  # I
    equal, played = np.repeat(equal, len(played), 0), np.tile(played, (len(equal), 1))
    support, best = np.zeros((len(equal), m), bool), np.zeros((len(equal), n), bool)
    np.put_along_axis(support, played, True, 1)
    np.put_along_axis(best, equal, True, 1)
    fits, clear = _clearly(replies, equal, played, support, best)
    for k in np.flatnonzero(~clear):
        fits[k], support[k], best[k] = _exactly(exact, equal[k], played[k])
    return support[fits], best[fits], equal[fits], played[fits]


def _clearly(
    replies: Float[np.ndarray, "n m"],
    equal: np.ndarray,
    played: np.ndarray,
    support: Bool[np.ndarray, "v m"],
    best: Bool[np.ndarray, "v n"],
) -> tuple[Bool[np.ndarray, "v"], Bool[np.ndarray, "v"]]:
    """Whether each solution is a vertex with just this support and these best replies, and whether that is sure."""
    count, size = equal.shape
    system = np.ones((count, size + 1, size + 1))
    system[:, :size, :size] = replies[equal[:, :, None], played[:, None, :]]
    system[:, :size, size], system[:, size, size] = -1, 0
    regular = np.linalg.det(system) != 0
    inverse = np.full_like(system, np.inf)
    inverse[regular] = np.linalg.inv(system[regular])
    with np.errstate(invalid="ignore"):
        condition = np.abs(system).sum(2).max(1) * np.abs(inverse).sum(2).max(1)
        strategies = np.zeros(support.shape)
        np.put_along_axis(strategies, played, inverse[:, :size, size], 1)
        error = ROUNDING * condition * np.maximum(1, np.abs(strategies).sum(1))
        worth = inverse[:, size:, size] - strategies @ replies.T  # level less worth of every reply
        slack = np.hstack([np.where(support, strategies, np.inf), np.where(best, np.inf, worth)])
        least = slack.min(1)
        return least > error, np.abs(least) > error


def _exactly(
    exact: np.ndarray, equal: np.ndarray, played: np.ndarray
) -> tuple[bool, Bool[np.ndarray, "m"], Bool[np.ndarray, "n"]]:
    """Whether a system names a vertex, its support and its best replies, in integers."""
    strategy = _solved(exact, equal, played)
    if strategy is None or min(strategy) < 0:
        return False, np.zeros(exact.shape[1], bool), np.zeros(len(exact), bool)
    worth = exact @ strategy
    best = worth == worth.max()
    return bool(best[equal[0]]), strategy > 0, best.astype(bool)


def _solved(exact: np.ndarray, equal: np.ndarray, played: np.ndarray) -> np.ndarray | None:
    """Integers in the proportions of the strategy that makes all of `equal` worth the same, or None if not just one.

    Fraction-free elimination (Bareiss 1968): every division is exact.
    """
    size, divisor = len(equal) + 1, 1
    rows = [[*exact[j, played].tolist(), -1, 0] for j in equal] + [[1] * (size - 1) + [0, 1]]
    for k in range(size):
        pivot = next((r for r in range(k, size) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        scale = rows[k][k]
        for r in range(size):
            if r != k:
                pairs, factor = zip(rows[r], rows[k], strict=True), rows[r][k]
                rows[r] = [(scale * a - factor * b) // divisor for a, b in pairs]
        divisor = scale
    strategy = np.zeros(exact.shape[1], object)
    strategy[played] = [row[-1] * (1 if divisor > 0 else -1) for row in rows[:-1]]
    return strategy


def _gap(own: Any, strategy: Any, other: Any) -> Any:
    """What the best reply to `other` gains over `strategy`, times positive integers: 0 at an equilibrium."""
    worth = own @ other
    return worth.max() * strategy.sum() - (worth * strategy).sum()


def _integers(payoffs: np.ndarray) -> np.ndarray:
    """One player's payoffs times a positive number."""
    factor = lcm(*(value.denominator for value in payoffs.flat))
    return np.vectorize(int, otypes="O")(payoffs * factor)


def _product(game: Game, first: Any, second: Any) -> CorrelatedProfile:
    x, y = (np.maximum(side / side.sum(), 0.0).astype(float) for side in (first, second))
    return CorrelatedProfile(np.outer(x / x.sum(), y / y.sum()), game)
