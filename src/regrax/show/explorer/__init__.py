"""The explorer: learning in games as one page that opens in a browser."""

from regrax.show.explorer._notebook import Explorer, explore
from regrax.show.explorer._page import page
from regrax.show.explorer._server import Server
from regrax.show.explorer._zoo import fits, zoo_games

__all__ = ["Explorer", "Server", "explore", "fits", "page", "zoo_games"]
