"""Poker in small: a game of cards as a matrix of plans."""

import itertools
from fractions import Fraction
from typing import Any

from regrax.games.game import Game, mixed, zero_sum
from regrax.games.zoo._build import named


@named
def kuhn_poker() -> Game:
    """Poker with three cards, one bet and two players, every plan an action; worth -1/18 to the first.

    Ante 1, bet 1. A plan of the first player says for jack, queen and king: bet, or check and then fold or call; one of
    the second says what to do against a bet and after a check. The first never needs to bluff.

    >>> kuhn_poker().sizes
    (27, 64)

    Reference: Kuhn (1950), A simplified two-person poker.
    """
    firsts = list(itertools.product(("bet", "fold", "call"), repeat=3))
    replies = list(itertools.product(("fold", "call"), ("check", "bet")))
    seconds = list(itertools.product(replies, repeat=3))
    row = [[_kuhn(first, second) for second in seconds] for first in firsts]
    labels = [" ".join("/".join(reply) for reply in plan) for plan in seconds]
    careful: dict[Any, float] = {("fold", "fold", "call"): 2 / 3, ("fold", "call", "call"): 1 / 3}
    jack, queen = {"check": 2 / 3, "bet": 1 / 3}, {"fold": 2 / 3, "call": 1 / 3}
    answer: dict[Any, float] = {
        (("fold", j), (q, "check"), ("call", "bet")): jack[j] * queen[q]
        for j, q in itertools.product(jack, queen)
    }
    known = mixed(
        "no bluff",
        [careful.get(plan, 0) for plan in firsts],
        [answer.get(plan, 0) for plan in seconds],
    )
    actions = ([" ".join(plan) for plan in firsts], labels)
    return zero_sum(row, actions=actions, equilibria=(known,))


def _kuhn(first: tuple, second: tuple) -> Fraction:
    deals = itertools.permutations(range(3), 2)
    return Fraction(sum(_hand(first[a], second[b], 1 if a > b else -1) for a, b in deals), 6)


def _hand(plan: str, reply: tuple[str, str], showdown: int) -> int:
    to_bet, to_check = reply
    if plan == "bet":
        return 2 * showdown if to_bet == "call" else 1
    if to_check == "check":
        return showdown
    return 2 * showdown if plan == "call" else -1
