"""`regrax games`: the zoo, or one game in full."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from regrax.cli.output import print_json, print_table

if TYPE_CHECKING:
    from regrax.games import Game

SHOWN = 200  # joint actions printed in full


@dataclass(frozen=True)
class Games:
    """List the games, or show one with its payoffs."""

    game: Positional[str | None] = None
    """A game's spec or file, to see its payoffs."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Print the zoo or the one game."""
        if self.game is None:
            _list(self.json)
        else:
            _show(self.game, self.json)


def _list(as_json: bool) -> None:
    from regrax.games import ZOO

    about = {name: (make.__doc__ or "").splitlines()[0] for name, make in ZOO.items()}
    if as_json:
        print_json(about)
    else:
        print_table(("game", "what it is"), [list(row) for row in about.items()])


def _show(text: str, as_json: bool) -> None:
    import numpy as np

    from regrax.specs import load_game

    game = load_game(text)
    payoffs = np.asarray(game.payoffs)
    if as_json:
        labels: dict[str, Any] = {
            field: getattr(game, field) for field in ("name", "players", "actions")
        }
        print_json({**labels, "payoffs": payoffs.tolist()})
        return
    rows = _rows(game, payoffs)
    print_table((*game.players, "payoffs"), rows[:SHOWN], str(game))
    if len(rows) > SHOWN:
        print(f"{len(rows) - SHOWN} more joint actions; --json prints all")


def _rows(game: "Game", payoffs: Any) -> list[list[str]]:
    import numpy as np

    return [
        [game.actions[n][a] for n, a in enumerate(joint)]
        + [" ".join(f"{float(paid):.6g}" for paid in payoffs[(slice(None), *joint)])]
        for joint in np.ndindex(*game.sizes)
    ]
