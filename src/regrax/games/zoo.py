"""A zoo of named games. Each function is a name on the command line, `_` written as `-`."""

import numpy as np

from regrax import checks
from regrax.games.game import Game, bimatrix, symmetric, zero_sum


def weighted_rps() -> Game:
    """Zero-sum rock-paper-scissors where wins weigh 1, 2 and 3 thirds; the only equilibrium plays (3, 2, 1)/6.

    >>> weighted_rps()
    weighted-rps
    """
    row = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]]) / 3
    moves = ("rock", "paper", "scissors")
    return zero_sum(row, name="weighted-rps", actions=(moves, moves))


def matching_pennies() -> Game:
    """Zero-sum: the first player wins 1 if the pennies match; the only equilibrium is uniform.

    >>> matching_pennies().sizes
    (2, 2)
    """
    sides = ("heads", "tails")
    return zero_sum([[1, -1], [-1, 1]], name="matching-pennies", actions=(sides, sides))


def prisoners_dilemma() -> Game:
    """Defecting is dominant, both cooperating is better: payoffs 5 > 3 > 1 > 0.

    >>> prisoners_dilemma().payoffs[0].tolist()
    [[3.0, 0.0], [5.0, 1.0]]
    """
    moves = ("cooperate", "defect")
    return symmetric([[3, 0], [5, 1]], name="prisoners-dilemma", actions=(moves, moves))


def chicken() -> Game:
    """Two pure equilibria, a mixed one, and correlated equilibria that beat it (Aumann's example).

    >>> chicken().payoffs[0].tolist()
    [[6.0, 2.0], [7.0, 0.0]]
    """
    moves = ("swerve", "dare")
    return symmetric([[6, 2], [7, 0]], name="chicken", actions=(moves, moves))


def battle_of_the_sexes() -> Game:
    """Meeting matters, where matters a little: equilibria at both places and a mixed one.

    >>> battle_of_the_sexes().payoffs[:, 0, 0].tolist()
    [2.0, 1.0]
    """
    places = ("opera", "football")
    return bimatrix(
        [[2, 0], [0, 1]], [[1, 0], [0, 2]], name="battle-of-the-sexes", actions=(places, places)
    )


def shapley() -> Game:
    """Shapley's 3x3 game: fictitious play cycles for ever; the only Nash equilibrium is uniform.

    >>> shapley().payoffs[1].tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    row = np.eye(3)
    return bimatrix(row, np.roll(row, 1, axis=1), name="shapley")


def random(*sizes: int, seed: int = 0) -> Game:
    """A game of any size with payoffs uniform on [0, 1]; the same seed gives the same game.

    >>> random(2, 3, 4, seed=1).sizes
    (2, 3, 4)
    """
    _check_sizes(sizes, seed)
    payoffs = np.random.default_rng(seed).uniform(size=(len(sizes), *sizes))
    return Game(payoffs, name=_named("random", sizes, seed))


def random_zero_sum(rows: int, columns: int, seed: int = 0) -> Game:
    """A zero-sum game with payoffs uniform on [-1, 1]; the same seed gives the same game.

    >>> bool((random_zero_sum(4, 5).payoffs.sum(0) == 0).all())
    True
    """
    _check_sizes((rows, columns), seed)
    row = np.random.default_rng(seed).uniform(-1, 1, size=(rows, columns))
    return zero_sum(row, name=_named("random-zero-sum", (rows, columns), seed))


def _check_sizes(sizes: tuple[int, ...], seed: int) -> None:
    if not sizes:
        raise ValueError(
            "random needs the number of actions of each player, as in random(10, 10), but got none"
        )
    for size in sizes:
        checks.at_least("actions", size, 1)
    checks.at_least("seed", seed, 0)


def _named(family: str, sizes: tuple[int, ...], seed: int) -> str:
    arguments = [str(size) for size in sizes] + ([f"seed={seed}"] if seed else [])
    return f"{family}({', '.join(arguments)})"


ZOO = {
    function.__name__.replace("_", "-"): function
    for function in (
        battle_of_the_sexes,
        chicken,
        matching_pennies,
        prisoners_dilemma,
        random,
        random_zero_sum,
        shapley,
        weighted_rps,
    )
}
