"""Random games, reproducible from their sizes and seed."""

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.games.game import Game, Known, check_sizes, named, pure, symmetric, zero_sum


@named
def random(*sizes: int, seed: int = 0) -> Game:
    """Payoffs are uniform on [0, 1], for any number of players and actions.

    Args:
        sizes: number of actions of each player.
        seed: seed of the random payoffs.

    >>> random(2, 3, 4, seed=1).sizes
    (2, 3, 4)

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    return Game(_generator(seed, *sizes).uniform(size=(len(sizes), *sizes)))


@named
def random_zero_sum(rows: int, columns: int, seed: int = 0) -> Game:
    """A two-player zero-sum game whose payoffs are uniform on [-1, 1].

    Args:
        rows: number of actions of the first player.
        columns: number of actions of the second player.
        seed: seed of the random payoffs.

    >>> bool((random_zero_sum(4, 5).payoffs.sum(0) == 0).all())
    True

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    return zero_sum(_generator(seed, rows, columns).uniform(-1, 1, size=(rows, columns)))


@named
def random_symmetric(actions: int, seed: int = 0) -> Game:
    """A symmetric two-player game whose payoffs are uniform on [0, 1].

    Args:
        actions: number of actions of each player.
        seed: seed of the random payoffs.

    >>> game = random_symmetric(3)
    >>> bool((game.payoffs[0] == game.payoffs[1].T).all())
    True

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    return symmetric(_generator(seed, actions, actions).uniform(size=(actions, actions)))


@named
def random_coordination(*sizes: int, seed: int = 0) -> Game:
    """All players have the same payoff, uniform on [0, 1]; its largest entry is an equilibrium.

    Args:
        sizes: number of actions of each player.
        seed: seed of the random payoffs.

    >>> game = random_coordination(2, 2)
    >>> bool((game.payoffs[0] == game.payoffs[1]).all())
    True

    Reference: Monderer, Shapley (1996), Potential games.
    """
    shared = _generator(seed, *sizes).uniform(size=sizes)
    return Game(np.stack([shared] * len(sizes)), equilibria=[_largest("best for all", shared)])


@named
def random_potential(*sizes: int, seed: int = 0) -> Game:
    """A random exact potential game; the largest entry of the potential is an equilibrium.

    The payoffs are u_n(a) = P(a) + Q_n(a_-n) with P and Q_n uniform on [0, 1]. A player's deviation changes its payoff
    by as much as it changes the potential P.

    Args:
        sizes: number of actions of each player.
        seed: seed of the random payoffs.

    >>> random_potential(3, 3).sizes
    (3, 3)

    Reference: Monderer, Shapley (1996), Potential games.
    """
    rng = _generator(seed, *sizes)
    potential = rng.uniform(size=sizes)
    payoffs = []
    for n in range(len(sizes)):
        payoffs.append(potential + rng.uniform(size=(*sizes[:n], 1, *sizes[n + 1 :])))
    return Game(np.stack(payoffs), equilibria=[_largest("maximum of the potential", potential)])


@named
def random_covariant(*sizes: int, correlation: float = 0.0, seed: int = 0) -> Game:
    """Payoffs are standard normal, with correlation between the players at each joint action.

    The correlation ranges from -1 / (players - 1) (zero-sum for two players) through 0 (independent payoffs) to 1 (the
    same payoff for all).

    Args:
        sizes: number of actions of each player.
        correlation: correlation between any two players' payoffs.
        seed: seed of the random payoffs.

    >>> game = random_covariant(50, 50, correlation=-0.5)
    >>> float(np.corrcoef(game.payoffs.reshape(2, -1))[0, 1])
    -0.5

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    players = len(sizes)
    noise = _generator(seed, *sizes).normal(size=(players, *sizes))
    lowest = -1 / max(players - 1, 1)
    if not lowest <= correlation <= 1:
        raise ValueError(
            f"correlation for {players} players must be between {lowest:g} and 1, got {correlation}"
        )
    mean = noise.mean(0)
    shared = np.sqrt(max(1 + (players - 1) * correlation, 0)) * mean
    return Game(np.sqrt(1 - correlation) * (noise - mean) + shared)


def _generator(seed: int, *sizes: int) -> np.random.Generator:
    check_sizes(*sizes)
    checks.at_least("seed", seed, 0)
    return np.random.default_rng(seed)


def _largest(about: str, table: Float[np.ndarray, "*d"]) -> Known:
    actions = np.unravel_index(table.argmax(), table.shape)
    return pure(about, *map(int, actions))
