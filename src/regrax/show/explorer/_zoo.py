"""The games that the page offers by name: games of the zoo that fit it, and small members of larger families."""

from contextlib import suppress
from typing import Any

import numpy as np

from regrax.games import Game
from regrax.specs import parse_game, registered

MAX_PLAYERS, MAX_ACTIONS = 3, 6

SMALLER = (
    "bertrand(highest=5)",
    "colonel-blotto(soldiers=2, fields=3)",
    "cournot(intercept=5)",
    "tullock(prize=5)",
    "travellers-dilemma(low=2, high=7)",
    "ultimatum(pie=5)",
    "braess(players=3)",
    "market-entry(players=3, capacity=1)",
    "beauty-contest(highest=5)",
    "rock-paper-scissors(actions=5)",
    "coordination(actions=3)",
    "random(3, 3)",
    "random(2, 3, 2)",
    "random-zero-sum(4, 4)",
    "random-potential(3, 3)",
)
"""Members of families that have no default size, or whose default size does not fit."""


def zoo_games() -> list[Game]:
    """Every named game of the page.

    >>> [game.name for game in zoo_games()][:3]
    ['all-pay-auction', 'asymmetric-pennies', 'battle-of-the-sexes']
    """
    usual = []
    for name in registered("game"):
        with suppress(TypeError, ValueError):  # a family without default parameters
            usual.append(parse_game(name))
    return [*filter(fits, usual), *map(parse_game, SMALLER)]


def fits(game: Game) -> bool:
    """True for games of 2 or 3 players with at most 6 actions each."""
    return 2 <= len(game.sizes) <= MAX_PLAYERS and max(game.sizes) <= MAX_ACTIONS


def described(game: Game) -> dict[str, Any]:
    """A game as plain data for the page.

    >>> from regrax.games import matching_pennies
    >>> described(matching_pennies())["sizes"]
    [2, 2]
    """
    about = registered("game")[game.name.split("(")[0].replace("-", "_")]
    return {
        "name": game.name,
        "players": list(game.players),
        "actions": [list(labels) for labels in game.actions],
        "sizes": list(game.sizes),
        "payoffs": [np.ravel(table).tolist() for table in np.asarray(game.payoffs, float)],
        "about": about.summary,
        "reference": about.reference,
    }
