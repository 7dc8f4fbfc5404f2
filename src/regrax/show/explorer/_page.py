"""The page as text: the committed build with the games filled in."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from regrax.games import Game
from regrax.show.explorer._zoo import described, fits, zoo_games
from regrax.specs import as_game

BUILT = Path(__file__).with_name("explorer.html")
DATA = '<script type="application/json" id="data">'


def page(game: Game | str | None = None) -> str:
    """The explorer as one HTML file that needs no server and no network.

    Args:
        game: the game to open with, or its spec; by default the page opens with its first scene.

    >>> page().startswith("<!doctype html>")
    True
    """
    game = None if game is None else as_game(game)
    if game is not None and not fits(game):
        raise ValueError(
            f"the page takes games of 2 or 3 players with at most 6 actions each, got {game} of sizes {game.sizes}"
        )
    opening = None if game is None else described(game)
    text = json.dumps({"zoo": _zoo(), "game": opening}, allow_nan=False, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c")  # so that no label can end the element
    return BUILT.read_text("utf-8").replace(DATA, DATA + escaped)


@cache
def _zoo() -> list[dict[str, Any]]:
    return [described(game) for game in zoo_games()]
