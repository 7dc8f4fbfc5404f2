"""Games with claims, offers and alternating moves."""

import numpy as np

from regrax import _checks as checks
from regrax.games.game import Game, bimatrix, pure, symmetric
from regrax.games.zoo._build import choices, named, numbers


@named
def travellers_dilemma(low: int = 2, high: int = 100, bonus: int = 2) -> Game:
    """Two travellers claim for identical lost suitcases; both are paid the lower claim, with a bonus for making it.

    Claims x and y pay min(x, y), plus `bonus` to the lower claim and minus `bonus` to the higher.

    Args:
        low: lowest claim.
        high: highest claim.
        bonus: reward for the lower claim, at least 2.

    >>> travellers_dilemma(high=4).payoffs[0].tolist()
    [[2.0, 4.0, 4.0], [0.0, 3.0, 5.0], [0.0, 1.0, 4.0]]

    Reference: Basu (1994), The traveler's dilemma: paradoxes of rationality in game theory.
    """
    checks.at_least("bonus", bonus, 2)
    checks.at_least("high", high, low)
    size = high - low + 1
    claim, other = low + choices(size, size)
    return symmetric(
        np.minimum(claim, other) + bonus * np.sign(other - claim),
        actions=[numbers(high, low)] * 2,
        equilibria=[pure("both make the lowest claim", 0, 0)],
    )


@named
def ultimatum(pie: int = 10) -> Game:
    """The proposer offers a share of a pie; below the responder's threshold, both get nothing.

    An offer x against a threshold y pays pie - x and x if x >= y, else 0 each. Every offer equal to the threshold is an
    equilibrium.

    Args:
        pie: amount to share, in units that can be offered.

    >>> ultimatum(2).payoffs[0].tolist()
    [[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]

    Reference: Güth, Schmittberger, Schwarze (1982), An experimental analysis of ultimatum bargaining.
    """
    checks.at_least("pie", pie, 1)
    offer, threshold = choices(pie + 1, pie + 1)
    accepted = offer >= threshold
    return bimatrix(
        (pie - offer) * accepted,
        offer * accepted,
        players=["proposer", "responder"],
        actions=[numbers(pie)] * 2,
        equilibria=[pure(f"offer and threshold {x}", x, x) for x in range(pie + 1)],
    )


@named
def centipede(nodes: int = 6) -> Game:
    """Two players alternate between taking the larger pile and passing, which doubles both piles.

    Taking at node t = 0, 1, ... pays the taker 4 * 2^t and the other player 2^t. If everyone passes, the payoffs are as
    if the next player had taken. A strategy is the turn at which a player takes. By backward induction the first
    player takes immediately.

    Args:
        nodes: number of decisions, from 2 to 50.

    >>> centipede(2).payoffs[0].tolist()
    [[4.0, 4.0], [2.0, 16.0]]

    Reference: Rosenthal (1981), Games of perfect information; McKelvey, Palfrey (1992).
    """
    checks.at_least("nodes", nodes, 2, 50)
    first, second = choices((nodes + 1) // 2 + 1, nodes // 2 + 1)
    ended = np.minimum(np.minimum(2 * first, 2 * second + 1), nodes)
    taker = 4 * 2.0**ended
    other = 2.0**ended
    first_took = ended % 2 == 0
    return bimatrix(
        np.where(first_took, taker, other),
        np.where(first_took, other, taker),
        actions=[[*numbers(size - 1, 1), "never"] for size in first.shape],
        equilibria=[pure("take immediately", 0, 0)],
    )
