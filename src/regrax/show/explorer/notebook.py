"""The explorer in a notebook."""

from html import escape

from regrax.games import Game
from regrax.show.explorer.pages import page
from regrax.specs import as_game


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
