"""The explorer: learning in games, moved by hand, as one page that opens in a browser."""

from regrax.show.explorer.zoo import fits, zoo_games

__all__ = ["fits", "zoo_games"]
