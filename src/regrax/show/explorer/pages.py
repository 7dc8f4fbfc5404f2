"""The HTML of the explorer, which is the committed build with the games filled in, and its frame for notebooks."""

import json
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from regrax.games import Game
from regrax.specs import as_game, parse_game, registered

BUILT = Path(__file__).with_name("explorer.html")
DATA = '<script type="application/json" id="data">'
MAX_PLAYERS = 3
MAX_ACTIONS = 6
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
"""Small games from families that have no default size, or whose default size does not fit the page."""


def page(game: Game | str | None = None) -> str:
    """Return the explorer as one HTML file that needs no server or network.

    Args:
        game: Game to open with, or its spec; by default the page opens with its first scene.

    >>> page().startswith("<!doctype html>")
    True
    """
    opening = None
    if game is not None:
        game = as_game(game)
        if not fits(game):
            raise ValueError(
                f"the explorer needs 2 or 3 players with at most 6 actions each, got {game.name} of sizes {game.sizes}"
            )
        opening = _described(game)
    data = {"zoo": _described_zoo(), "game": opening}
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c")  # so that a label cannot close the script element
    return BUILT.read_text("utf-8").replace(DATA, DATA + escaped)


class Explorer:
    """The explorer page for a game, displayed by notebooks; `text` is its HTML."""

    def __init__(self, game: Game | None, height: int = 900) -> None:
        self.text = page(game)
        self.height = height
        self.game = game

    def _repr_html_(self) -> str:
        """Return a sandboxed iframe, whose script cannot reach the notebook."""
        return (
            f'<iframe title="regrax explorer" srcdoc="{escape(self.text)}" '
            'sandbox="allow-scripts allow-downloads" allow="clipboard-write; fullscreen" width="100%" '
            f'height="{self.height}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"explorer({'' if self.game is None else self.game.name})"


def explore(game: Game | str | None = None, *, height: int = 900) -> Explorer:
    """Show the explorer in a notebook.

    Args:
        game: Game to open with, or its spec; by default the page opens with its first scene.
        height: Height of the frame in pixels.

    >>> explore("chicken")
    explorer(chicken)
    >>> "<iframe" in explore()._repr_html_()
    True
    """
    return Explorer(None if game is None else as_game(game), height)


def fits(game: Game) -> bool:
    """Return True for games with 2 or 3 players and at most 6 actions each."""
    return 2 <= len(game.sizes) <= MAX_PLAYERS and max(game.sizes) <= MAX_ACTIONS


def zoo_games() -> list[Game]:
    """Return the games that the page lists by name.

    >>> [game.name for game in zoo_games()][:3]
    ['all-pay-auction', 'asymmetric-pennies', 'battle-of-the-sexes']
    """
    defaults = []
    for name in registered("game"):
        with suppress(TypeError, ValueError):  # a family without default parameters
            defaults.append(parse_game(name))
    return [*filter(fits, defaults), *map(parse_game, SMALLER)]


@cache
def _described_zoo() -> list[dict[str, Any]]:
    return [_described(game) for game in zoo_games()]


def _described(game: Game) -> dict[str, Any]:
    about = registered("game").get(game.name.split("(")[0].replace("-", "_"))
    return {
        "name": game.name,
        "players": list(game.players),
        "actions": [list(labels) for labels in game.actions],
        "sizes": list(game.sizes),
        "payoffs": [np.ravel(table).tolist() for table in np.asarray(game.payoffs, float)],
        "about": about.summary if about else "",
        "reference": about.reference if about else "",
    }
