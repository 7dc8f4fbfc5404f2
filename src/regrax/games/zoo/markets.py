"""Markets, auctions and contests on integer grids."""

import numpy as np

from regrax import _checks as checks
from regrax.games.game import (
    Game,
    choices,
    mixed,
    named,
    numbers,
    pure,
    same_choices,
    split_prize,
    symmetric,
)


@named
def cournot(firms: int = 2, intercept: int = 12, cost: int = 0) -> Game:
    """Firms choose quantities, and the price falls with the total.

    Quantities are 0..intercept; the profit is q_i (max(intercept - sum q, 0) - cost). In equilibrium each firm produces
    (intercept - cost) / (firms + 1), if that is an integer.

    Args:
        firms: number of firms.
        intercept: price at which demand vanishes, and the largest quantity.
        cost: cost per unit.

    >>> cournot(intercept=3).payoffs[0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

    Reference: Cournot (1838), Recherches sur les principes mathématiques de la théorie des richesses.
    """
    checks.at_least("intercept", intercept, 1)
    checks.at_least("cost", cost, 0)
    quantity = same_choices("firms", firms, intercept + 1)
    price = np.maximum(intercept - quantity.sum(0), 0)
    share, remainder = divmod(max(intercept - cost, 0), firms + 1)
    known = []
    if remainder == 0:
        known = [pure(f"each produces {share}", *[share] * firms)]
    return Game(quantity * (price - cost), actions=numbers(intercept), equilibria=known)


@named
def bertrand(firms: int = 2, highest: int = 10) -> Game:
    """Firms choose prices, only the cheapest sell, and competition erodes the profit.

    Prices are 0..highest, production is free, and the cheapest firms share one unit of demand. All pricing at 0 and all
    pricing at 1 are equilibria.

    Args:
        firms: number of firms, at least 2.
        highest: highest price.

    >>> bertrand(highest=2).payoffs[0].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 1.0]]

    Reference: Bertrand (1883), Théorie mathématique de la richesse sociale.
    """
    checks.at_least("highest", highest, 1)
    price = same_choices("firms", firms, highest + 1, 2)
    known = [pure(f"all price at {p}", *[p] * firms) for p in (0, 1)]
    return Game(price * split_prize(-price), actions=numbers(highest), equilibria=known)


@named
def hotelling(positions: int = 5, firms: int = 2) -> Game:
    """Shops choose places on a street, and every customer goes to the nearest shop.

    There is one customer at each position, shared by the nearest shops. In equilibrium, two shops both choose the
    middle.

    Args:
        positions: number of positions on the street.
        firms: number of shops.

    >>> hotelling(3).payoffs[0].tolist()
    [[1.5, 1.0, 1.5], [2.0, 1.5, 2.0], [1.5, 1.0, 1.5]]

    Reference: Hotelling (1929), Stability in competition.
    """
    shops = same_choices("firms", firms, positions)
    customers = sum(split_prize(-np.abs(shops - customer)) for customer in range(positions))
    known = []
    if firms <= 2:
        known = [pure("all in the middle", *[(positions - 1) // 2] * firms)]
    return Game(customers, equilibria=known)


@named
def first_price_auction(first: int = 5, second: int = 5) -> Game:
    """Two sealed bids for one good; the higher bidder wins and pays its bid.

    Both values are known, bids are 0..max(value), and ties are broken by a coin toss. In equilibrium the bidder with
    the higher value wins at the lower value; with equal values both bid one less.

    Args:
        first: value of the good to the first bidder.
        second: value of the good to the second bidder.

    >>> first_price_auction(2, 1).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0]]

    Reference: Krishna (2009), Auction Theory, chapter 2.
    """
    bids, values = _auction(first, second)
    price = min(first, second)
    known = pure("sold at the lower value", price - (first == price), price - (second == price))
    if first == second:
        known = known._replace(about="both bid one below their value")
    return Game(
        split_prize(bids) * (values - bids),
        actions=numbers(max(first, second)),
        equilibria=[known],
    )


@named
def second_price_auction(first: int = 5, second: int = 3) -> Game:
    """Two sealed bids for one good; the higher bidder wins and pays the lower bid, so truthful bidding is dominant.

    Bids are 0..max(value), and ties are broken by a coin toss.

    Args:
        first: value of the good to the first bidder.
        second: value of the good to the second bidder.

    >>> second_price_auction(2, 1).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 0.5, 0.0], [2.0, 1.0, 0.0]]

    Reference: Vickrey (1961), Counterspeculation, auctions, and competitive sealed tenders.
    """
    bids, values = _auction(first, second)
    return Game(
        split_prize(bids) * (values - bids[::-1]),
        actions=numbers(max(first, second)),
        equilibria=[pure("both bid their value", first, second)],
    )


def _auction(first: int, second: int) -> tuple:
    """Return the bids and the values of two bidders."""
    checks.at_least("first", first, 1)
    checks.at_least("second", second, 1)
    size = max(first, second) + 1
    return choices(size, size), np.array([first, second])[:, None, None]


@named
def all_pay_auction(prize: int = 5) -> Game:
    """Both bidders pay their bids and the higher one wins, as in contests, lobbying and races.

    Bids are 0..prize, and ties are broken by a coin toss. Bidding uniformly on 0..prize-1 is an equilibrium.

    Args:
        prize: value of winning, and the highest bid.

    >>> all_pay_auction(2).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, -1.0], [0.0, 0.0, -1.0]]

    Reference: Baye, Kovenock, de Vries (1996), The all-pay auction with complete information.
    """
    checks.at_least("prize", prize, 1)
    bids = choices(prize + 1, prize + 1)
    uniform = [1 / prize] * prize + [0]
    return Game(
        prize * split_prize(bids) - bids,
        actions=numbers(prize),
        equilibria=[mixed("uniform below the prize", uniform, uniform)],
    )


@named
def war_of_attrition(prize: int = 5) -> Game:
    """Both players wait, and pay for waiting, until one concedes the prize.

    Waiting times are 0..prize. Both pay the shorter time, the more patient player gets the prize, and ties are broken
    by a coin toss. In a pure equilibrium one player gives up immediately.

    Args:
        prize: value of the prize, and the longest waiting time.

    >>> war_of_attrition(2).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 0.0, -1.0], [2.0, 1.0, -1.0]]

    Reference: Maynard Smith (1974), The theory of games and the evolution of animal conflicts.
    """
    checks.at_least("prize", prize, 1)
    waits = choices(prize + 1, prize + 1)
    return Game(
        prize * split_prize(waits) - waits.min(0),
        actions=numbers(prize),
        equilibria=[
            pure("the first gives up", 0, prize),
            pure("the second gives up", prize, 0),
        ],
    )


@named
def tullock(prize: int = 16) -> Game:
    """A contest is won with probability proportional to effort, and effort is never refunded.

    Efforts are 0..prize; the payoff is prize x / (x + y) - x, or half the prize if nobody makes an effort. In
    equilibrium each spends a quarter of the prize.

    Args:
        prize: value of winning, and the largest effort.

    >>> tullock(4).payoffs[0][:, 1].tolist()
    [0.0, 1.0, 0.6667, 0.0, -0.8]

    Reference: Tullock (1980), Efficient rent seeking.
    """
    checks.at_least("prize", prize, 1)
    effort, other = choices(prize + 1, prize + 1)
    total = effort + other
    share = np.where(total > 0, effort / np.maximum(total, 1), 0.5)
    known = []
    if prize % 4 == 0:
        known = [pure("a quarter of the prize", prize // 4, prize // 4)]
    return symmetric(prize * share - effort, actions=numbers(prize), equilibria=known)
