"""Games drawn at random: the same sizes and seed give the same game."""

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.games.game import Game, pure, symmetric, zero_sum
from regrax.games.zoo._build import check_sizes, named


@named
def random(*sizes: int, seed: int = 0) -> Game:
    """Any number of players and actions, payoffs uniform on [0, 1].

    >>> random(2, 3, 4, seed=1).sizes
    (2, 3, 4)

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    payoffs = _generator(seed, *sizes).uniform(size=(len(sizes), *sizes))
    return Game(payoffs)


@named
def random_zero_sum(rows: int, columns: int, seed: int = 0) -> Game:
    """Two players, the first's payoffs uniform on [-1, 1], the second's their negative.

    >>> bool((random_zero_sum(4, 5).payoffs.sum(0) == 0).all())
    True

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    row = _generator(seed, rows, columns).uniform(-1, 1, size=(rows, columns))
    return zero_sum(row)


@named
def random_symmetric(actions: int, seed: int = 0) -> Game:
    """Two players in the same position, payoffs uniform on [0, 1].

    >>> game = random_symmetric(3)
    >>> bool((game.payoffs[0] == game.payoffs[1].T).all())
    True

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    row = _generator(seed, actions, actions).uniform(size=(actions, actions))
    return symmetric(row)


@named
def random_coordination(*sizes: int, seed: int = 0) -> Game:
    """All players share one payoff, uniform on [0, 1]; its largest entry is an equilibrium.

    >>> game = random_coordination(2, 2)
    >>> bool((game.payoffs[0] == game.payoffs[1]).all())
    True

    Reference: Monderer, Shapley (1996), Potential games.
    """
    shared = _generator(seed, *sizes).uniform(size=sizes)
    return Game(
        np.stack([shared] * len(sizes)),
        equilibria=(pure("the best for all", *_largest(shared)),),
    )


@named
def random_potential(*sizes: int, seed: int = 0) -> Game:
    r"""An exact potential game, $u_n(a) = P(a) + Q_n(a_{-n})$ with $P$ and $Q_n$ uniform on [0, 1].

    A player's deviation changes its payoff as it changes $P$, so the largest entry of $P$ is an equilibrium.

    >>> random_potential(3, 3).sizes
    (3, 3)

    Reference: Monderer, Shapley (1996), Potential games.
    """
    rng = _generator(seed, *sizes)
    potential = rng.uniform(size=sizes)
    others = [rng.uniform(size=(*sizes[:n], 1, *sizes[n + 1 :])) for n in range(len(sizes))]
    return Game(
        np.stack([potential + other for other in others]),
        equilibria=(pure("where the potential is largest", *_largest(potential)),),
    )


@named
def random_covariant(*sizes: int, correlation: float = 0.0, seed: int = 0) -> Game:
    r"""Standard normal payoffs, those of two players at the same joint action correlated by `correlation`.

    From -1 / (players - 1), zero-sum for two players, over 0, independent, to 1, shared by all.

    >>> game = random_covariant(50, 50, correlation=-0.5)
    >>> float(np.corrcoef(game.payoffs.reshape(2, -1))[0, 1])
    -0.5

    Reference: Nudelman, Wortman, Shoham, Leyton-Brown (2004), Run the GAMUT.
    """
    players = len(sizes)
    noise = _generator(seed, *sizes).normal(size=(players, *sizes))
    least = -1 / max(players - 1, 1)
    if not least <= correlation <= 1:
        raise ValueError(
            f"correlation of {players} players must be between {least:g} and 1, got {correlation}"
        )
    mean = noise.mean(0)
    shared = np.sqrt(max(1 + (players - 1) * correlation, 0)) * mean
    return Game(np.sqrt(1 - correlation) * (noise - mean) + shared)


def _generator(seed: int, *sizes: int) -> np.random.Generator:
    check_sizes(*sizes)
    checks.at_least("seed", seed, 0)
    return np.random.default_rng(seed)


def _largest(table: Float[np.ndarray, "*d"]) -> list[int]:
    return [int(a) for a in np.unravel_index(table.argmax(), table.shape)]
