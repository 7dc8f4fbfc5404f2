"""The explorer: learning in games, moved by hand, as one page that opens in a browser."""

from regrax.show.explorer._notebook import Explorer, explore
from regrax.show.explorer._page import MAX_PAGE_BYTES, bundle, page
from regrax.show.explorer._server import Server
from regrax.show.explorer._zoo import fits, zoo_games

__all__ = ["MAX_PAGE_BYTES", "Explorer", "Server", "bundle", "explore", "fits", "page", "zoo_games"]
