"""The explorer: learning in games as one page for the browser."""

from .notebook import Explorer as Explorer, explore as explore
from .pages import fits as fits, page as page, zoo_games as zoo_games
from .server import Server as Server
