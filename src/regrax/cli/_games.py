"""`regrax games`: the zoo, or one game in full."""

from dataclasses import dataclass
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrax._settings import NewOutput, Positional
from regrax.cli._text import print_json, print_table, read_game, say

if TYPE_CHECKING:
    from regrax.games import Game, Known

MAX_PRINTED_ACTIONS = 200  # joint actions printed in full
NAMES = {"nash": "Nash", "ce": "CE", "cce": "CCE"}


@dataclass(frozen=True)
class Games:
    """List the games, or show one with its payoffs, known equilibria and source.

    Args:
        game: A game's spec or file, to see its payoffs.
        save: Write the game to this .json, .npz or .nfg file, which must be new.
        json: Print one JSON object.

    regrax games kuhn-poker --save kuhn.nfg
    """

    game: Positional[str | None] = None
    save: NewOutput | None = None
    json: bool = False

    def run(self) -> None:
        """Print the zoo or the one game."""
        if self.game is not None:
            return self._show(self.game)
        if self.save is not None:
            raise ValueError(
                "--save needs a game to write, as in regrax games chicken --save chicken.nfg"
            )
        from regrax.specs import registered

        told = {name.replace("_", "-"): entry for name, entry in registered("game").items()}
        if self.json:
            return print_json({name: one.summary for name, one in told.items()})
        rows = [[name, f"{one.summary} {one.parameters}".strip()] for name, one in told.items()]
        return print_table(("game", "what it is"), rows)

    def _show(self, text: str) -> None:
        game = read_game(text)
        from_zoo = game.name and not Path(text).is_file()
        about = _about(game.name if from_zoo else "")
        if self.save is not None:
            game.save(self.save)
        print_json(_described(game, about)) if self.json else _print(game, about)


def _about(name: str) -> dict[str, str]:
    from regrax.specs import registered

    entry = registered("game").get(name.split("(")[0].replace("-", "_"))
    fields = ("summary", "rule", "reference", "parameters")
    return {field: getattr(entry, field, "") for field in fields}


def _described(game: "Game", about: dict[str, str]) -> dict[str, Any]:
    labels = {field: getattr(game, field) for field in ("name", "players", "actions", "comment")}
    known = [
        {"concept": one.concept, "about": one.about, "profile": one.joint(game.sizes).tolist()}
        for one in game.equilibria
    ]
    return {**about, **labels, "payoffs": game.payoffs.tolist(), "equilibria": known}


def _print(game: "Game", about: dict[str, str]) -> None:
    print_table((*game.players, "payoffs"), _rows(game), str(game))
    left_out = prod(game.sizes) - MAX_PRINTED_ACTIONS
    if left_out > 0:
        print(f"{left_out} more joint actions; --json prints all")
    for text in (about.get("summary"), about.get("rule"), game.comment):
        if text:
            say(text)
    if game.equilibria:
        known = [[NAMES[one.concept], one.about, _strategies(game, one)] for one in game.equilibria]
        print_table(("equilibrium", "", "played"), known)
    if about.get("reference"):
        say(f"Reference: {about['reference']}")


def _strategies(game: "Game", known: "Known") -> str:
    """Each player's mixed strategy for Nash; the joint actions for the others."""
    from regrax.games import CorrelatedProfile

    if known.concept != "nash":
        return ", ".join(
            f"{weight:.4g} ({', '.join(game.actions[n][a] for n, a in enumerate(joint))})"
            for joint, weight in known.weights
        )
    sides, profile = [], CorrelatedProfile(known.joint(game.sizes), game)
    for labels, strategy in zip(game.actions, profile.marginals, strict=True):
        played = [(label, float(p)) for label, p in zip(labels, strategy, strict=True) if p > 0]
        mixed = ", ".join(f"{p:.4g} {label}" for label, p in played)
        sides.append(mixed if len(played) > 1 else played[0][0])
    return " | ".join(sides)


def _rows(game: "Game") -> list[list[str]]:
    rows, labels = [], game.actions
    for joint in islice(product(*map(range, game.sizes)), MAX_PRINTED_ACTIONS):
        paid = [f"{float(payoff):.6g}" for payoff in game.payoffs[(slice(None), *joint)]]
        rows.append([labels[n][a] for n, a in enumerate(joint)] + [" ".join(paid)])
    return rows
