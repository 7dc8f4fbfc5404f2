"""Markets, auctions and contests, on grids of integers."""

import numpy as np

from regrax import _checks as checks
from regrax.games.game import Game, mixed, pure, symmetric
from regrax.games.zoo._build import choices, named, numbers, split_prize


@named
def cournot(firms: int = 2, intercept: int = 12, cost: int = 0) -> Game:
    """Firms choose quantities; the price falls with their sum.

    Quantities 0..intercept; profit q_i (max(intercept - sum q, 0) - cost). Each produces (intercept - cost) /
    (firms + 1) in equilibrium, where that is an integer.

    >>> cournot(intercept=3).payoffs[0].tolist()
    [[0.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

    Reference: Cournot (1838), Recherches sur les principes mathématiques de la théorie des richesses.
    """
    checks.at_least("firms", firms, 1)
    checks.at_least("intercept", intercept, 1)
    checks.at_least("cost", cost, 0)
    made = choices(*[intercept + 1] * firms)
    price = np.maximum(intercept - made.sum(0), 0)
    each, rest = divmod(max(intercept - cost, 0), firms + 1)
    known = () if rest else (pure(f"each makes {each}", *[each] * firms),)
    return Game(made * (price - cost), actions=[numbers(intercept)] * firms, equilibria=known)


@named
def bertrand(firms: int = 2, highest: int = 10) -> Game:
    """Firms choose prices; the cheapest sells, and competition eats the profit.

    Prices 0..highest, no cost; the cheapest firms share one unit of demand. All pricing at 0, or all at 1, is an
    equilibrium.

    >>> bertrand(highest=2).payoffs[0].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 1.0]]

    Reference: Bertrand (1883), Théorie mathématique de la richesse sociale.
    """
    checks.at_least("firms", firms, 2)
    checks.at_least("highest", highest, 1)
    price = choices(*[highest + 1] * firms)
    known = tuple(pure(f"all price at {p}", *[p] * firms) for p in (0, 1))
    return Game(price * split_prize(-price), actions=[numbers(highest)] * firms, equilibria=known)


@named
def hotelling(positions: int = 5, firms: int = 2) -> Game:
    """Shops along a street; every customer goes to the nearest.

    One customer at each position, shared by the nearest shops. Two shops stand together in the middle.

    >>> hotelling(3).payoffs[0].tolist()
    [[1.5, 1.0, 1.5], [2.0, 1.5, 2.0], [1.5, 1.0, 1.5]]

    Reference: Hotelling (1929), Stability in competition.
    """
    checks.at_least("firms", firms, 1)
    shops = choices(*[positions] * firms)
    sold = sum(split_prize(-np.abs(shops - customer)) for customer in range(positions))
    middle = (positions - 1) // 2
    known = (pure("all in the middle", *[middle] * firms),) if firms <= 2 else ()
    return Game(sold, equilibria=known)


@named
def first_price_auction(first: int = 5, second: int = 5) -> Game:
    """Two sealed bids for one good; the higher wins and pays its own bid.

    Values are known; bids 0..max(value); a tie is a coin. The higher value wins at the lower value, or equal values
    bid one less.

    >>> first_price_auction(2, 1).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0]]

    Reference: Krishna (2009), Auction Theory, chapter 2.
    """
    bids, won, values = _auction(first, second)
    price = min(first, second)
    about = "both bid one below their value" if first == second else "won at the lower value"
    known = pure(about, *(price - (value == price) for value in (first, second)))
    return Game(
        won * (values - bids),
        actions=[numbers(max(first, second))] * 2,
        equilibria=(known,),
    )


@named
def second_price_auction(first: int = 5, second: int = 3) -> Game:
    """Two sealed bids for one good; the higher wins and pays the lower bid, so telling the truth is dominant.

    Bids 0..max(value); a tie is a coin.

    >>> second_price_auction(2, 1).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 0.5, 0.0], [2.0, 1.0, 0.0]]

    Reference: Vickrey (1961), Counterspeculation, auctions, and competitive sealed tenders.
    """
    bids, won, values = _auction(first, second)
    return Game(
        won * (values - bids[::-1]),
        actions=[numbers(max(first, second))] * 2,
        equilibria=(pure("both bid their value", first, second),),
    )


def _auction(first: int, second: int) -> tuple:
    checks.at_least("first", first, 1)
    checks.at_least("second", second, 1)
    bids = choices(*[max(first, second) + 1] * 2)
    return bids, split_prize(bids), np.array([first, second])[:, None, None]


@named
def all_pay_auction(prize: int = 5) -> Game:
    """Both pay their bids, the higher wins: contests, lobbying, races.

    Bids 0..prize; a tie is a coin. Bidding 0..prize-1 alike is an equilibrium.

    >>> all_pay_auction(2).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, -1.0], [0.0, 0.0, -1.0]]

    Reference: Baye, Kovenock, de Vries (1996), The all-pay auction with complete information.
    """
    checks.at_least("prize", prize, 1)
    bids = choices(prize + 1, prize + 1)
    even = [1 / prize] * prize + [0]
    return Game(
        prize * split_prize(bids) - bids,
        actions=[numbers(prize)] * 2,
        equilibria=(mixed("any bid below the prize", even, even),),
    )


@named
def war_of_attrition(prize: int = 5) -> Game:
    """Both wait, and pay for waiting, until one leaves the prize to the other.

    Waits 0..prize; both pay the shorter wait, the longer gets the prize, a tie is a coin. One gives way at once.

    >>> war_of_attrition(2).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 0.0, -1.0], [2.0, 1.0, -1.0]]

    Reference: Maynard Smith (1974), The theory of games and the evolution of animal conflicts.
    """
    checks.at_least("prize", prize, 1)
    waits = choices(prize + 1, prize + 1)
    known = (pure("the first gives way", 0, prize), pure("the second gives way", prize, 0))
    return Game(
        prize * split_prize(waits) - waits.min(0),
        actions=[numbers(prize)] * 2,
        equilibria=known,
    )


@named
def tullock(prize: int = 16) -> Game:
    """A contest won in proportion to effort, which is spent either way.

    Efforts 0..prize; payoff prize x / (x + y) - x, half the prize at 0, 0. Each spends a quarter of the prize.

    >>> tullock(4).payoffs[0][:, 1].tolist()
    [0.0, 1.0, 0.6667, 0.0, -0.8]

    Reference: Tullock (1980), Efficient rent seeking.
    """
    checks.at_least("prize", prize, 1)
    effort, other = choices(prize + 1, prize + 1)
    total = effort + other
    share = np.where(total > 0, effort / np.maximum(total, 1), 0.5)
    known = () if prize % 4 else (pure("a quarter of the prize", prize // 4, prize // 4),)
    return symmetric(prize * share - effort, actions=[numbers(prize)] * 2, equilibria=known)
