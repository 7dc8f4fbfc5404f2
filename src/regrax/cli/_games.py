"""`regrax games`: the zoo, or one game in full."""

from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrax._registry import About, about_game, games
from regrax._settings import Output, Positional
from regrax.cli._text import print_json, print_table, printable

if TYPE_CHECKING:
    from regrax.games import Game, Known

MAX_PRINTED_ACTIONS = 200  # joint actions printed in full
NAMES = {"nash": "Nash", "ce": "CE", "cce": "CCE"}


@dataclass(frozen=True)
class Games:
    """List the games, or show one with its payoffs, known equilibria and source.

    Args:
        game: A game's spec or file, to see its payoffs.
        save: Write the game to this .json, .npz or .nfg file.
        json: Print one JSON object.

    regrax games kuhn-poker --save kuhn.nfg
    """

    game: Positional[str | None] = None
    save: Output | None = None
    json: bool = False

    def run(self) -> None:
        """Print the zoo or the one game."""
        if self.game is None and self.save is not None:
            raise ValueError(
                "--save needs a game to write, as in regrax games chicken --save chicken.nfg"
            )
        if self.game is None:
            _list(self.json)
        else:
            _show(self.game, self.save, self.json)


def _list(as_json: bool) -> None:
    told = games()
    if as_json:
        print_json({name: one.summary for name, one in told.items()})
        return
    rows = [[name, f"{one.summary} {one.parameters}".strip()] for name, one in told.items()]
    print_table(("game", "what it is"), rows)


def _show(text: str, save: Path | None, as_json: bool) -> None:
    from regrax.cli._text import read_game

    game = read_game(text)
    told = about_game(game.name) if game.labels.name and not Path(text).is_file() else About()
    if save is not None:
        game.save(save)
    if as_json:
        print_json(_described(game, told))
        return
    _print(game, told)


def _described(game: "Game", about: Any) -> dict[str, Any]:
    import numpy as np

    labels = {field: getattr(game, field) for field in ("name", "players", "actions", "comment")}
    known = [
        {
            "concept": one.concept,
            "about": one.about,
            "profile": one.joint(game.sizes).tolist(),
        }
        for one in game.equilibria
    ]
    payoffs = np.asarray(game.payoffs).tolist()
    described = about._asdict() | labels
    return {**described, "payoffs": payoffs, "equilibria": known}


def _print(game: "Game", about: Any) -> None:
    print_table((*game.players, "payoffs"), _rows(game), str(game))
    left_out = prod(game.sizes) - MAX_PRINTED_ACTIONS
    if left_out > 0:
        print(f"{left_out} more joint actions; --json prints all")
    for text in (about.summary, about.rule, game.comment):
        if text:
            print(printable(text))
    if game.equilibria:
        known = [[NAMES[one.concept], one.about, _strategies(game, one)] for one in game.equilibria]
        print_table(("equilibrium", "", "played"), known)
    if about.reference:
        print(f"Reference: {about.reference}")


def _strategies(game: "Game", known: "Known") -> str:
    """Each player's mixed strategy for Nash; the joint actions for the others."""
    from regrax.games import CorrelatedProfile

    if known.concept != "nash":
        return ", ".join(
            f"{weight:.4g} ({', '.join(game.actions[n][a] for n, a in enumerate(joint))})"
            for joint, weight in known.weights
        )
    sides = []
    for labels, strategy in zip(
        game.actions, CorrelatedProfile(known.joint(game.sizes), game).marginals, strict=True
    ):
        played = [(label, float(p)) for label, p in zip(labels, strategy, strict=True) if p > 0]
        sides.append(
            played[0][0]
            if len(played) == 1
            else ", ".join(f"{p:.4g} {label}" for label, p in played)
        )
    return " | ".join(sides)


def _rows(game: "Game") -> list[list[str]]:
    import numpy as np

    payoffs, labels = np.asarray(game.payoffs), game.actions
    return [
        [labels[n][a] for n, a in enumerate(joint)]
        + [" ".join(f"{float(paid):.6g}" for paid in payoffs[(slice(None), *joint)])]
        for joint in islice(np.ndindex(*game.sizes), MAX_PRINTED_ACTIONS)
    ]
