"""The page inside a notebook: an iframe that holds all of it."""

from html import escape
from typing import Any

from regrax.games import Game
from regrax.show.explorer._page import page
from regrax.specs import as_game

HEIGHT = 900  # pixels


class Explorer:
    """What `explore` gives: notebooks show it, and `text` is the page."""

    def __init__(self, game: Game | None, height: int = HEIGHT) -> None:
        self.text, self.height, self.game = page(game), height, game

    def _repr_html_(self) -> str:
        """An iframe in a sandbox: its script runs, and reaches nothing of the notebook."""
        return (
            f'<iframe title="regrax explorer" srcdoc="{escape(self.text)}" '
            'sandbox="allow-scripts allow-downloads" allow="clipboard-write" width="100%" '
            f'height="{self.height}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"explorer({self.game or ''})"


def explore(game: Any = None, *, height: int = HEIGHT) -> Explorer:
    """The explorer with a game, a spec or nothing: learning in games, moved by hand, in a notebook.

    >>> explore("chicken")
    explorer(chicken)
    >>> "<iframe" in explore()._repr_html_()
    True
    """
    return Explorer(None if game is None else as_game(game), height)
