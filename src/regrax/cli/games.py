"""`regrax games`: list the games, or show one in full."""

from itertools import islice, product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from regrax.cli.inputs import Json, NewOutput, read_game
from regrax.cli.output import listed, print_json, print_table, print_text

if TYPE_CHECKING:
    from regrax.games import Game, Known

MAX_PRINTED_ROWS = 200
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
    if game is not None:
        return _show(game, save, json)
    if save is not None:
        raise ValueError("--save needs a game, as in regrax games chicken --save chicken.nfg")
    from regrax.specs import registered

    entries = {name.replace("_", "-"): entry for name, entry in registered("game").items()}
    if json:
        return print_json({name: entry.summary for name, entry in entries.items()})
    rows = [[f"{name}{entry.parameters}", entry.summary] for name, entry in entries.items()]
    return print_table(("game", "description"), rows)


def _description(name: str) -> dict[str, str]:
    from regrax.specs import registered

    entry = registered("game").get(name.split("(")[0].replace("-", "_"))
    fields = ("summary", "rule", "reference", "parameters")
    return {field: getattr(entry, field, "") for field in fields}


def _show(spec: str, save: Path | None, json: bool) -> None:
    game = read_game(spec)
    about = _description("" if Path(spec).is_file() else game.name)
    if save is not None:
        game.save(save)
    if not json:
        return _print(game, about)
    labels = {field: getattr(game, field) for field in ("name", "players", "actions", "comment")}
    equilibria = [
        {
            "concept": known.concept,
            "about": known.about,
            "profile": known.joint(game.sizes).tolist(),
        }
        for known in game.equilibria
    ]
    payoffs = game.payoffs.tolist()
    return print_json({**about, **labels, "payoffs": payoffs, "equilibria": equilibria})


def _print(game: "Game", about: dict[str, str]) -> None:
    print_text(
        str(game), *(text for text in (about["summary"], about["rule"], game.comment) if text), ""
    )
    if len(game.sizes) == 2 and prod(game.sizes) <= MAX_PRINTED_ROWS:
        rows = []
        for i, label in enumerate(game.actions[0]):
            cells = [_payoffs(game, (i, j)) for j in range(game.sizes[1])]
            rows.append([label, *cells])
        rows_player, columns_player = game.players
        title = f"payoffs of {rows_player} (rows), {columns_player} (columns)"
        print_table(("", *game.actions[1]), rows, title)
    else:
        rows = []
        for joint in islice(product(*map(range, game.sizes)), MAX_PRINTED_ROWS):
            labels = [game.actions[player][action] for player, action in enumerate(joint)]
            rows.append([*labels, _payoffs(game, joint)])
        print_table((*game.players, "payoffs"), rows)
        if prod(game.sizes) > MAX_PRINTED_ROWS:
            print_text(
                f"{prod(game.sizes) - MAX_PRINTED_ROWS} more joint actions; --json prints all"
            )
    if game.equilibria:
        rows = [
            [CONCEPTS[known.concept], known.about, _strategies(game, known)]
            for known in game.equilibria
        ]
        print_table(("equilibrium", "about", "play"), rows)
    if about["reference"]:
        print_text(f"Reference: {about['reference']}")


def _payoffs(game: "Game", joint: tuple[int, ...]) -> str:
    return listed(f"{float(payoff):.6g}" for payoff in game.payoffs[(slice(None), *joint)])


def _strategies(game: "Game", known: "Known") -> str:
    """Format each player's mixed strategy for Nash, and the probabilities of joint actions otherwise."""
    from regrax.games import CorrelatedProfile

    if known.concept != "nash":
        joints = []
        for joint, weight in known.weights:
            labels = listed(game.actions[player][action] for player, action in enumerate(joint))
            joints.append(f"{weight:.4g} ({labels})")
        return listed(joints)
    strategies = []
    marginals = CorrelatedProfile(known.joint(game.sizes), game).marginals
    for labels, strategy in zip(game.actions, marginals, strict=True):
        pairs = zip(labels, strategy.tolist(), strict=True)
        strategies.append(listed(f"{share:.4g} {label}" for label, share in pairs if share > 0))
    return " | ".join(strategies)
