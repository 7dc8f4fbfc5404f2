"""Games of any number of players: roads, crowds and common goods."""

import numpy as np
from jaxtyping import Int

from regrax import _checks as checks
from regrax.games.game import Game, mixed, pure
from regrax.games.zoo._build import choices, named, numbers, split_prize


@named
def congestion(players: int = 3, links: int = 2) -> Game:
    """Everyone takes one of several links, and a link costs more the more take it.

    Link e = 1, 2, ... costs e times the number on it. Joining the cheapest link one after the other is an equilibrium.

    >>> congestion(2, 2).payoffs[0].tolist()
    [[-2.0, -1.0], [-2.0, -4.0]]

    Reference: Rosenthal (1973), A class of games possessing pure-strategy Nash equilibria.
    """
    checks.at_least("players", players, 1)
    taken = choices(*[links] * players)
    cost = (taken + 1) * _crowd(taken)
    return Game(-cost, equilibria=(pure("one after the other", *_greedy(players, links)),))


def _greedy(players: int, links: int) -> list[int]:
    joined: list[int] = []
    for _ in range(players):
        joined.append(min(range(links), key=lambda link: (joined.count(link) + 1) * (link + 1)))
    return joined


def _crowd(chosen: Int[np.ndarray, "N *d"]) -> Int[np.ndarray, "N *d"]:
    """How many players chose what each of them did."""
    return np.asarray(sum(chosen == own for own in chosen))


@named
def braess(players: int = 4) -> Game:
    """A free shortcut makes everybody slower.

    From S to E by A or by B, or by the shortcut from A to B. S-A and B-E cost the number on them, A-E and S-B cost
    `players`, A-B nothing. All take the shortcut and pay 2 * players, though half and half would pay 1.5 * players.

    >>> braess(2).payoffs[0].tolist()
    [[-4.0, -3.0, -4.0], [-3.0, -4.0, -4.0], [-3.0, -3.0, -4.0]]

    Reference: Braess (1968), Über ein Paradoxon aus der Verkehrsplanung.
    """
    checks.at_least("players", players, 1)
    taken = choices(*[3] * players)
    on_first = (taken != 1).sum(0)  # S-A: by A, or the shortcut
    on_last = (taken != 0).sum(0)  # B-E: by B, or the shortcut
    first = np.where(taken == 1, players, on_first)
    last = np.where(taken == 0, players, on_last)
    return Game(
        -(first + last),
        actions=[("by A", "by B", "shortcut")] * players,
        equilibria=(pure("all take the shortcut", *[2] * players),),
    )


@named
def minority(players: int = 3) -> Game:
    """An odd number of people choose one of two rooms; those in the emptier one win 1.

    Everyone tossing a coin is an equilibrium.

    >>> minority().payoffs[:, 0, 0, 1].tolist()
    [0.0, 0.0, 1.0]

    Reference: Challet, Zhang (1997), Emergence of cooperation and organization in an evolutionary game.
    """
    if players % 2 == 0:
        raise ValueError(f"players must be odd, for one room to be emptier, got {players}")
    room = choices(*[2] * players)
    emptier = room.sum(0) < players / 2  # room 1 has fewer
    return Game(
        (room == emptier).astype(float),
        equilibria=(mixed("all toss", *[[1 / 2, 1 / 2]] * players),),
    )


@named
def dispersion(players: int = 2, places: int = 2) -> Game:
    """Everyone wants a place alone: 1 if nobody else chose it, else nothing.

    With places enough, everyone elsewhere is an equilibrium; so is everyone at random.

    >>> dispersion().payoffs[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]

    Reference: Grenager, Powers, Shoham (2002), Dispersion games.
    """
    checks.at_least("players", players, 1)
    place = choices(*[places] * players)
    known = mixed("all at random", *[[1 / places] * places] * players)
    apart = [pure("all elsewhere", *range(players))] if places >= players else []
    return Game((_crowd(place) == 1).astype(float), equilibria=(known, *apart))


@named
def volunteers_dilemma(players: int = 3, benefit: float = 4, cost: float = 1) -> Game:
    """All benefit if anyone volunteers, which costs; more people, less help.

    Payoff `benefit` if anyone volunteers, minus `cost` for those who do. One volunteers, or each stays away with
    probability (cost / benefit)^(1 / (players - 1)).

    >>> volunteers_dilemma(2).payoffs[0].tolist()
    [[0.0, 4.0], [3.0, 3.0]]

    Reference: Diekmann (1985), Volunteer's dilemma.
    """
    checks.at_least("players", players, 2)
    if not 0 < cost < benefit:
        raise ValueError(f"cost must be between 0 and the benefit {benefit}, got {cost}")
    helps = choices(*[2] * players)
    away = (cost / benefit) ** (1 / (players - 1))
    known = (
        pure("the first volunteers", 1, *[0] * (players - 1)),
        mixed("each at times", *[[away, 1 - away]] * players),
    )
    return Game(
        benefit * helps.any(0) - cost * helps,
        actions=[("stay away", "volunteer")] * players,
        equilibria=known,
    )


@named
def public_goods(players: int = 3, tokens: int = 4, factor: float = 1.5) -> Game:
    """Everyone may give tokens to a pot that grows and is shared equally; each token given returns less than itself.

    Payoff tokens - given + factor * (all given) / players. Nobody gives if factor < players; all give all if not.

    >>> public_goods(2, 1).payoffs[0].tolist()
    [[1.0, 1.75], [0.75, 1.5]]

    Reference: Ledyard (1995), Public goods: a survey of experimental research.
    """
    checks.at_least("players", players, 1)
    checks.at_least("tokens", tokens, 1)
    checks.positive("factor", factor)
    given = choices(*[tokens + 1] * players)
    all_or_none = tokens if factor >= players else 0
    about = "all give all" if all_or_none else "nobody gives"
    return Game(
        tokens - given + factor * given.sum(0) / players,
        actions=[numbers(tokens)] * players,
        equilibria=(pure(about, *[all_or_none] * players),),
    )


@named
def market_entry(players: int = 4, capacity: int = 2) -> Game:
    """Entering a market pays its capacity minus the number who enter; staying out pays nothing.

    Exactly `capacity` players entering is an equilibrium.

    >>> market_entry(2, 1).payoffs[0].tolist()
    [[0.0, 0.0], [0.0, -1.0]]

    Reference: Selten, Güth (1982), Equilibrium point selection in a class of market entry games.
    """
    checks.at_least("capacity", capacity, 0)
    checks.at_least("players", players, max(capacity, 1))
    enters = choices(*[2] * players)
    known = pure("as many as there is room for", *[int(n < capacity) for n in range(players)])
    return Game(
        enters * (capacity - enters.sum(0)),
        actions=[("stay out", "enter")] * players,
        equilibria=(known,),
    )


@named
def beauty_contest(players: int = 3, highest: int = 10, share: float = 2 / 3) -> Game:
    """Guess a share of the average guess; the nearest wins 1, split among ties.

    Guesses 0..highest, the target is `share` times their mean. All guessing 0 is an equilibrium.

    >>> beauty_contest(2, 2).payoffs[0].tolist()
    [[0.5, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]]

    Reference: Nagel (1995), Unraveling in guessing games.
    """
    checks.at_least("players", players, 2)
    checks.at_least("highest", highest, 1)
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    guess = choices(*[highest + 1] * players)
    miss = np.abs(guess - share * guess.mean(0))
    return Game(
        split_prize(-np.round(miss, 9)),
        actions=[numbers(highest)] * players,
        equilibria=(pure("all guess 0", *[0] * players),),
    )
