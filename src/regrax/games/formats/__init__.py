"""Games as bytes, a module per format, and the two functions that read them from disk and write them to it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from regrax._files import read_limited, write_output
from regrax.games.formats.arrays import game_from_json, game_from_npz, game_to_json, game_to_npz
from regrax.games.formats.nfg import game_from_nfg, game_to_nfg
from regrax.games.game import Game


class Format(NamedTuple):
    """How a kind of file is read and written."""

    read: Callable[[bytes], Game]
    write: Callable[[Game], bytes]


MAX_GAME_BYTES = 2**29
FORMATS = {
    ".json": Format(game_from_json, game_to_json),
    ".nfg": Format(game_from_nfg, game_to_nfg),
    ".npz": Format(game_from_npz, game_to_npz),
}


def load(path: str | Path) -> Game:
    """The game in a file: Gambit's `.nfg`, `.json` or `.npz`, as the ending of its name says.

    >>> import tempfile
    >>> from regrax.games import chicken
    >>> file = Path(tempfile.mkdtemp()) / "mine.nfg"
    >>> chicken().save(file)
    >>> load(file)
    chicken
    """
    return _format_of(Path(path)).read(read_limited(Path(path), MAX_GAME_BYTES))


def save(game: Game, path: str | Path) -> None:
    """Write a game to a file, whole or not at all; see `load`."""
    write_output(Path(path), _format_of(Path(path)).write(game))


def _format_of(path: Path) -> Format:
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a game file must end in {', '.join(FORMATS)}, got {path}")
    return FORMATS[path.suffix.lower()]
