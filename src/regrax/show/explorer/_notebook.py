"""The page in a notebook, inside an iframe."""

from html import escape
from typing import Any

from regrax.games import Game
from regrax.show.explorer._page import page
from regrax.specs import as_game

HEIGHT = 900  # pixels


class Explorer:
    """The page with a game; notebooks display it, and `text` is its HTML."""

    def __init__(self, game: Game | None, height: int = HEIGHT) -> None:
        self.text = page(game)
        self.height = height
        self.game = game

    def _repr_html_(self) -> str:
        """A sandboxed iframe: its script runs but cannot reach the notebook."""
        return (
            f'<iframe title="regrax explorer" srcdoc="{escape(self.text)}" '
            'sandbox="allow-scripts allow-downloads" allow="clipboard-write; fullscreen" width="100%" '
            f'height="{self.height}" frameborder="0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"explorer({self.game or ''})"


def explore(game: Any = None, *, height: int = HEIGHT) -> Explorer:
    """The explorer in a notebook.

    Args:
        game: a game or its spec to open with; by default the page opens with its first scene.
        height: of the frame, in pixels.

    >>> explore("chicken")
    explorer(chicken)
    >>> "<iframe" in explore()._repr_html_()
    True
    """
    return Explorer(None if game is None else as_game(game), height)
