"""Claims, offers and taking turns."""

import numpy as np

from regrax import _checks as checks
from regrax.games.game import Game, bimatrix, pure, symmetric
from regrax.games.zoo._build import choices, named, numbers


@named
def travellers_dilemma(low: int = 2, high: int = 100, bonus: int = 2) -> Game:
    """Two travellers claim for the same lost suitcase; the lower claim is paid to both, and rewarded.

    Claims x and y from `low` to `high` pay min(x, y), plus `bonus` for the lower and minus it for the higher.

    >>> travellers_dilemma(high=4).payoffs[0].tolist()
    [[2.0, 4.0, 4.0], [0.0, 3.0, 5.0], [0.0, 1.0, 4.0]]

    Reference: Basu (1994), The traveler's dilemma: paradoxes of rationality in game theory.
    """
    checks.at_least("bonus", bonus, 2)
    checks.at_least("high", high, low)
    claim, other = low + choices(high - low + 1, high - low + 1)
    return symmetric(
        np.minimum(claim, other) + bonus * np.sign(other - claim),
        actions=[numbers(high, low)] * 2,
        equilibria=(pure("both claim the least", 0, 0),),
    )


@named
def ultimatum(pie: int = 10) -> Game:
    """One offers a share of the pie, the other has set the least it accepts; refused, both go hungry.

    An offer x against a threshold y pays pie - x and x if x >= y, else nothing. Every offer that just meets its
    threshold is an equilibrium.

    >>> ultimatum(2).payoffs[0].tolist()
    [[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]

    Reference: Güth, Schmittberger, Schwarze (1982), An experimental analysis of ultimatum bargaining.
    """
    checks.at_least("pie", pie, 1)
    offer, least = choices(pie + 1, pie + 1)
    taken = offer >= least
    return bimatrix(
        (pie - offer) * taken,
        offer * taken,
        players=("proposer", "responder"),
        actions=[numbers(pie)] * 2,
        equilibria=tuple(pure(f"{x} offered, {x} asked", x, x) for x in range(pie + 1)),
    )


@named
def centipede(nodes: int = 6) -> Game:
    """Two players in turn take the larger pile or pass, and passing doubles both piles.

    Taking at node t = 0, 1, ... pays the taker 4 * 2^t and the other 2^t; if all pass, the next to move would have
    taken. A strategy is the turn at which one takes. Reasoning backwards, the first player takes at once.

    >>> centipede(2).payoffs[0].tolist()
    [[4.0, 4.0], [2.0, 16.0]]

    Reference: Rosenthal (1981), Games of perfect information; McKelvey, Palfrey (1992).
    """
    checks.at_least("nodes", nodes, 2, 50)
    first, second = choices((nodes + 1) // 2 + 1, nodes // 2 + 1)
    ended = np.minimum(np.minimum(2 * first, 2 * second + 1), nodes)
    taker, other = 4 * 2.0**ended, 2.0**ended
    labels = [[*numbers(size - 1, 1), "never"] for size in first.shape]
    return bimatrix(
        np.where(ended % 2 == 0, taker, other),
        np.where(ended % 2 == 0, other, taker),
        actions=labels,
        equilibria=(pure("take at once", 0, 0),),
    )
