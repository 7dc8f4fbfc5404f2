"""Games as bytes, a file a format. Reading from and writing to disk is left to the caller."""

from collections.abc import Callable
from typing import NamedTuple

from regrax.games._game import Game
from regrax.games.formats._arrays import game_from_json, game_from_npz, game_to_json, game_to_npz
from regrax.games.formats._nfg import game_from_nfg, game_to_nfg


class Format(NamedTuple):
    """How a kind of file is read and written."""

    read: Callable[[bytes], Game]
    write: Callable[[Game], bytes]


FORMATS = {
    ".json": Format(game_from_json, game_to_json),
    ".nfg": Format(game_from_nfg, game_to_nfg),
    ".npz": Format(game_from_npz, game_to_npz),
}

__all__ = [
    "FORMATS",
    "Format",
    "game_from_json",
    "game_from_nfg",
    "game_from_npz",
    "game_to_json",
    "game_to_nfg",
    "game_to_npz",
]
