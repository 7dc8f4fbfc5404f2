"""Specs as a person types them: learners, and besides them agents, checkpoints and files of games."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regrax.games import Game
    from regrax.learners import Learner


def read_learner(text: str) -> "Learner":
    """The learner, checkpoint or outside agent that a spec names."""
    from regrax.agents import outside_agent
    from regrax.checkpoints import Checkpoint
    from regrax.specs import parse_learner

    return parse_learner(text, {"agent": outside_agent, "checkpoint": Checkpoint})


def read_game(text: str) -> "Game":
    """The game in the file at this path if the path ends as one does, else the game that the spec names."""
    from regrax.specs import parse_game

    return _read(Path(text)) or parse_game(text)


def read_games(text: str, seeds: int) -> list["Game"]:
    """The game in the file, or the games that the spec stands for, one per seed if they are random."""
    from regrax.specs import draw_games

    game = _read(Path(text))
    return [game] if game else draw_games(text, seeds)


def _read(path: Path) -> "Game | None":
    from regrax.games import FORMATS

    kind = FORMATS.get(path.suffix.lower())
    if kind:
        return kind.read(path.read_bytes())
    if path.is_file():
        known, ends = ", ".join(FORMATS), path.suffix or "nothing"
        raise ValueError(f"a game file must end in {known}, but {path} ends in {ends}")
    return None
