"""The explorer: an interactive web page about learning in games."""

from .pages import (
    Explorer as Explorer,
    explore as explore,
    fits as fits,
    page as page,
    zoo_games as zoo_games,
)
from .server import Server as Server
