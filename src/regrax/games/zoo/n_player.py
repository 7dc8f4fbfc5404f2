"""Games for any number of players: roads, crowds and public goods."""

import numpy as np
from jaxtyping import Int

from regrax import _checks as checks
from regrax.games.game import Game, mixed, named, numbers, pure, same_choices, split_prize, uniform


@named
def congestion(players: int = 3, links: int = 2) -> Game:
    """Every player takes one of several links, and a link costs more the more players take it.

    Link e = 1, 2, ... costs e times the number of players on it. If the players join the cheapest link one after
    another, the result is an equilibrium.

    Args:
        players: number of players.
        links: number of links.

    >>> congestion(2, 2).payoffs[0].tolist()
    [[-2.0, -1.0], [-2.0, -4.0]]

    Reference: Rosenthal (1973), A class of games possessing pure-strategy Nash equilibria.
    """
    link = same_choices("players", players, links)
    greedy: list[int] = []
    for _ in range(players):
        costs = [(greedy.count(e) + 1) * (e + 1) for e in range(links)]
        greedy.append(costs.index(min(costs)))
    return Game(-(link + 1) * _crowd(link), equilibria=[pure("one after the other", *greedy)])


def _crowd(chosen: Int[np.ndarray, "N *d"]) -> Int[np.ndarray, "N *d"]:
    """Count the players who made the same choice as each player."""
    return np.asarray(sum(chosen == own for own in chosen))


@named
def braess(players: int = 4) -> Game:
    """A free shortcut makes everybody slower.

    The routes from S to E go by A, by B, or by the shortcut from A to B. S-A and B-E cost the number of players on
    them, A-E and S-B cost `players`, and A-B is free. Everyone takes the shortcut and pays 2 * players, although an
    even split without it would cost 1.5 * players.

    Args:
        players: number of players.

    >>> braess(2).payoffs[0].tolist()
    [[-4.0, -3.0, -4.0], [-3.0, -4.0, -4.0], [-3.0, -3.0, -4.0]]

    Reference: Braess (1968), Über ein Paradoxon aus der Verkehrsplanung.
    """
    route = same_choices("players", players, 3)
    by_a = route != 1  # on S-A: by A, or the shortcut
    by_b = route != 0  # on B-E: by B, or the shortcut
    first = np.where(by_a, by_a.sum(0), players)
    last = np.where(by_b, by_b.sum(0), players)
    return Game(
        -(first + last),
        actions=("by A", "by B", "shortcut"),
        equilibria=[pure("all take the shortcut", *[2] * players)],
    )


@named
def minority(players: int = 3) -> Game:
    """An odd number of players choose one of two rooms, and everyone in the emptier room wins 1.

    Uniform play by everyone is an equilibrium.

    Args:
        players: number of players, odd.

    >>> minority().payoffs[:, 0, 0, 1].tolist()
    [0.0, 0.0, 1.0]

    Reference: Challet, Zhang (1997), Emergence of cooperation and organization in an evolutionary game.
    """
    if players % 2 == 0:
        raise ValueError(f"players must be odd, so that one room is emptier, got {players}")
    room = same_choices("players", players, 2)
    second_is_emptier = room.sum(0) < players / 2
    return Game(
        (room == second_is_emptier).astype(float),
        equilibria=[uniform("all toss a coin", *[2] * players)],
    )


@named
def dispersion(players: int = 2, places: int = 2) -> Game:
    """A player gets 1 if nobody else chose the same place, else 0.

    With enough places, every player in a different place is an equilibrium; so is uniform play by everyone.

    Args:
        players: number of players.
        places: number of places.

    >>> dispersion().payoffs[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]

    Reference: Grenager, Powers, Shoham (2002), Dispersion games.
    """
    place = same_choices("players", players, places)
    known = [uniform("all play uniformly", *[places] * players)]
    if places >= players:
        known.append(pure("all in different places", *range(players)))
    return Game((_crowd(place) == 1).astype(float), equilibria=known)


@named
def volunteers_dilemma(players: int = 3, benefit: float = 4, cost: float = 1) -> Game:
    """Everyone benefits if anyone volunteers, but volunteering is costly.

    The payoff is `benefit` if anyone volunteers, minus `cost` for each volunteer. Either one player volunteers, or each
    stays away with probability (cost / benefit)^(1 / (players - 1)), so each helps less the more players there are.

    Args:
        players: number of players, at least 2.
        benefit: value of help, above `cost`.
        cost: cost of volunteering, above 0.

    >>> volunteers_dilemma(2).payoffs[0].tolist()
    [[0.0, 4.0], [3.0, 3.0]]

    Reference: Diekmann (1985), Volunteer's dilemma.
    """
    helps = same_choices("players", players, 2, 2)
    if not 0 < cost < benefit:
        raise ValueError(f"cost must be between 0 and the benefit {benefit}, got {cost}")
    away = (cost / benefit) ** (1 / (players - 1))
    return Game(
        benefit * helps.any(0) - cost * helps,
        actions=("stay away", "volunteer"),
        equilibria=[
            pure("the first volunteers", 1, *[0] * (players - 1)),
            mixed("all randomise", *[[away, 1 - away]] * players),
        ],
    )


@named
def public_goods(players: int = 3, tokens: int = 4, factor: float = 1.5) -> Game:
    """Players give tokens to a pot that is multiplied and shared equally, so giving mostly helps the others.

    The payoff is tokens - given + factor * (all given) / players. Nobody gives if factor < players; otherwise everyone
    gives everything.

    Args:
        players: number of players.
        tokens: tokens that each player has.
        factor: multiplier of the pot, above 0.

    >>> public_goods(2, 1).payoffs[0].tolist()
    [[1.0, 1.75], [0.75, 1.5]]

    Reference: Ledyard (1995), Public goods: a survey of experimental research.
    """
    checks.at_least("tokens", tokens, 1)
    checks.positive("factor", factor)
    given = same_choices("players", players, tokens + 1)
    known = pure("nobody gives", *[0] * players)
    if factor >= players:
        known = pure("everyone gives everything", *[tokens] * players)
    return Game(
        tokens - given + factor * given.sum(0) / players,
        actions=numbers(tokens),
        equilibria=[known],
    )


@named
def market_entry(players: int = 4, capacity: int = 2) -> Game:
    """Entering a market pays its capacity minus the number of entrants; staying out pays nothing.

    Entry by exactly `capacity` players is an equilibrium.

    Args:
        players: number of players, at least `capacity`.
        capacity: number of entrants at which entering pays 0.

    >>> market_entry(2, 1).payoffs[0].tolist()
    [[0.0, 0.0], [0.0, -1.0]]

    Reference: Selten, Güth (1982), Equilibrium point selection in a class of market entry games.
    """
    checks.at_least("capacity", capacity, 0)
    enters = same_choices("players", players, 2, max(capacity, 1))
    return Game(
        enters * (capacity - enters.sum(0)),
        actions=("stay out", "enter"),
        equilibria=[pure("entry up to capacity", *[int(n < capacity) for n in range(players)])],
    )


@named
def beauty_contest(players: int = 3, highest: int = 10, share: float = 2 / 3) -> Game:
    """The guess nearest to a fraction of the average guess wins 1; ties split the prize.

    Guesses are 0..highest, and the target is `share` times their mean. All players guessing 0 is an equilibrium.

    Args:
        players: number of players, at least 2.
        highest: highest guess.
        share: multiplier of the mean, between 0 and 1.

    >>> beauty_contest(2, 2).payoffs[0].tolist()
    [[0.5, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]]

    Reference: Nagel (1995), Unraveling in guessing games.
    """
    checks.at_least("highest", highest, 1)
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    guess = same_choices("players", players, highest + 1, 2)
    miss = np.abs(guess - share * guess.mean(0))
    return Game(
        split_prize(-np.round(miss, 9)),
        actions=numbers(highest),
        equilibria=[pure("all guess 0", *[0] * players)],
    )
