"""Kuhn poker as a matrix game over plans."""

import itertools
from fractions import Fraction

import numpy as np

from regrax.games.game import Game, mixed, zero_sum
from regrax.games.zoo._build import named


@named
def kuhn_poker() -> Game:
    """Poker with three cards, one bet and two players; its value is -1/18 for the first player.

    The ante and the bet are 1. An action is a plan for jack, queen and king: the first player bets, or checks and then
    folds or calls; the second player has a reply to a bet and a reply to a check. The first player need not bluff.

    >>> kuhn_poker().sizes
    (27, 64)

    Reference: Kuhn (1950), A simplified two-person poker.
    """
    firsts: list[tuple] = list(itertools.product(("bet", "fold", "call"), repeat=3))
    replies = itertools.product(("fold", "call"), ("check", "bet"))
    seconds: list[tuple] = list(itertools.product(replies, repeat=3))
    row = [[_kuhn(first, second) for second in seconds] for first in firsts]
    # call with the king, and with the queen a third of the time
    careful = np.zeros(len(firsts))
    careful[firsts.index(("fold", "fold", "call"))] = 2 / 3
    careful[firsts.index(("fold", "call", "call"))] = 1 / 3
    # bet after a check with the king, and with the jack a third of the time; call a bet with the queen as often
    answer = np.zeros(len(seconds))
    jacks = {("fold", "check"): 2 / 3, ("fold", "bet"): 1 / 3}
    queens = {("fold", "check"): 2 / 3, ("call", "check"): 1 / 3}
    for jack, queen in itertools.product(jacks, queens):
        answer[seconds.index((jack, queen, ("call", "bet")))] = jacks[jack] * queens[queen]
    labels = [" ".join("/".join(reply) for reply in plan) for plan in seconds]
    return zero_sum(
        row,
        actions=[[" ".join(plan) for plan in firsts], labels],
        equilibria=[mixed("no bluff", careful, answer)],
    )


def _kuhn(first: tuple, second: tuple) -> Fraction:
    """Average the first player's payoff over the deals."""
    total = 0
    for card, other in itertools.permutations(range(3), 2):
        showdown = 1 if card > other else -1
        to_bet, to_check = second[other]
        if first[card] == "bet":
            total += 2 * showdown if to_bet == "call" else 1
        elif to_check == "check":
            total += showdown
        else:
            total += 2 * showdown if first[card] == "call" else -1
    return Fraction(total, 6)
