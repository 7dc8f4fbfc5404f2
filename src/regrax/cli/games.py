"""`regrax games`: list the games, or show one in full."""

from pathlib import Path

from regrax._text import fitted_table, paragraph
from regrax.cli.options import Json, NewOutput
from regrax.cli.shared import print_result


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
        rows = [[f"{name}{entry.parameters}", entry.summary] for name, entry in entries.items()]
        text = fitted_table(("game", "description"), rows)
        print_result(text, json, {name: entry.summary for name, entry in entries.items()})
        return
    table = read_game(game)
    entry = None if Path(game).is_file() else entries.get(table.name.split("(")[0])
    names = ("summary", "rule", "reference", "parameters")
    about = {name: getattr(entry, name, "") for name in names}
    if save is not None:
        table.save(save)
    if json:
        print_result("", json, about | table.to_dict())
        return
    lines = [table.name, about["summary"], about["rule"], table.comment]
    text = "\n".join(paragraph(line) for line in lines if line)
    text += f"\n\n{table.to_text()}"
    if about["reference"]:
        text += "\n" + paragraph(f"Reference: {about['reference']}")
    if save is not None:
        text += f"\nwrote {save}"
    print_result(text)
