"""Game files: one module per format, and `load` and `save`, which choose the format by the file suffix."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from regrax._files import read_limited, write_output
from regrax.games.formats.arrays import game_from_json, game_from_npz, game_to_json, game_to_npz
from regrax.games.formats.nfg import game_from_nfg, game_to_nfg
from regrax.games.game import Game
from regrax.specs import draw_games


class Format(NamedTuple):
    """The reader and the writer of a file format."""

    read: Callable[[bytes], Game]
    write: Callable[[Game], bytes]


MAX_GAME_BYTES = 2**29
FORMATS = {
    ".json": Format(game_from_json, game_to_json),
    ".nfg": Format(game_from_nfg, game_to_nfg),
    ".npz": Format(game_from_npz, game_to_npz),
}


def load(path: str | Path) -> Game:
    """Read a game from a `.nfg` (Gambit), `.json` or `.npz` file.

    >>> import tempfile
    >>> from regrax.games import chicken
    >>> file = Path(tempfile.mkdtemp()) / "mine.nfg"
    >>> chicken().save(file)
    >>> load(file)
    chicken
    """
    path = Path(path)
    return _format_of(path).read(read_limited(path, MAX_GAME_BYTES))


def read_games(text: str, seeds: int) -> list[Game]:
    """Load a game from a file, or build it from its spec, once per seed if it is random.

    >>> read_games("random(2, 2)", 2), read_games("chicken", 2)
    ([random(2, 2), random(2, 2, seed=1)], [chicken])
    """
    path = Path(text)
    if path.suffix.lower() in FORMATS or (len(path.name) < 256 and path.is_file()):
        return [load(path)]
    return draw_games(text, seeds)


def read_game(text: str) -> Game:
    """Load a game from a file, or build it from its spec.

    >>> read_game("chicken")
    chicken
    """
    return read_games(text, 1)[0]


def save(game: Game, path: str | Path) -> None:
    """Write a game to a `.nfg`, `.json` or `.npz` file; an interrupted write leaves no partial file."""
    path = Path(path)
    write_output(path, _format_of(path).write(game))


def _format_of(path: Path) -> Format:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"a game file must end in {', '.join(FORMATS)}, got {path}")
    return FORMATS[suffix]
