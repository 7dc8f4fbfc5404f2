"""`regrax games`: list the games, or show one in full."""

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from regrax._text import cell_text, fitted_table, listed
from regrax.cli.inputs import Json, NewOutput
from regrax.cli.output import print_json, print_lines, print_text

if TYPE_CHECKING:
    from regrax.games import Game, Known

MAX_CELLS = 200  # of a bimatrix; larger games are printed with a row per joint action
CONCEPTS = {"nash": "Nash", "ce": "CE", "cce": "CCE"}


def games(game: str | None = None, /, *, save: NewOutput = None, json: Json = False) -> None:
    """List the games, or show one with its payoffs and equilibria.

    Example uses:
        regrax games chicken
        regrax games kuhn-poker --save kuhn.nfg

    Args:
        game: Spec or file of a game to show.
        save: Write the game to a new .json, .npz or .nfg file.
    """
    from regrax.games import read_game
    from regrax.specs import registered

    entries = {name.replace("_", "-"): entry for name, entry in registered("game").items()}
    if game is None:
        if save is not None:
            raise ValueError("--save needs a game, as in regrax games chicken --save chicken.nfg")
        if json:
            return print_json({name: entry.summary for name, entry in entries.items()})
        rows = [[f"{name}{entry.parameters}", entry.summary] for name, entry in entries.items()]
        return print_text(fitted_table(("game", "description"), rows))
    table = read_game(game)
    if save is not None:
        table.save(save)
    entry = None if Path(game).is_file() else entries.get(table.name.split("(")[0])
    names = ("summary", "rule", "reference", "parameters")
    about = {name: getattr(entry, name, "") for name in names}
    if json:
        labels = {name: getattr(table, name) for name in ("name", "players", "actions", "comment")}
        known = []
        for own in table.equilibria:
            profile = own.joint(table.sizes).tolist()
            known.append({"concept": own.concept, "about": own.about, "profile": profile})
        payoffs = table.payoffs.tolist()
        return print_json({**about, **labels, "payoffs": payoffs, "equilibria": known})
    print_lines(*filter(None, (table.name, about["summary"], about["rule"], table.comment)), "")
    columns = table.columns()
    title = ""
    if len(table.sizes) == 2 and prod(table.sizes) <= MAX_CELLS:
        columns = table.bimatrix()
        title = f"payoffs of {table.players[0]} (rows), {table.players[1]} (columns)"
    print_text(fitted_table(list(columns), list(zip(*columns.values(), strict=True)), title))
    if table.equilibria:
        rows = [[CONCEPTS[own.concept], own.about, _play(table, own)] for own in table.equilibria]
        print_text(fitted_table(("equilibrium", "about", "play"), rows))
    if about["reference"]:
        print_lines(f"Reference: {about['reference']}")
    return None


def _play(game: "Game", known: "Known") -> str:
    """Format each player's mixed strategy for Nash, and the probabilities of joint actions otherwise."""
    from regrax.games import CorrelatedProfile

    profile = CorrelatedProfile(known.joint(game.sizes), game)
    if known.concept == "nash":
        return " | ".join(map(cell_text, profile.strategies))
    return cell_text({f"({listed(labels)})": share for *labels, share in profile.likeliest()})
