"""Write the parts of the reference that the code knows: every command, every game, every learner.

Each part is a Markdown fragment in `docs/reference/_generated`, which a page of the reference includes.
"""

import inspect
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Literal, get_args, get_origin

from regrax.cli.app import COMMANDS, build_app
from regrax.games import CorrelatedProfile, Game
from regrax.learners import BanditLearner
from regrax.specs import Entry, parse_game, parse_learner, registered

LARGEST_TABLE = 6
"""A game with more actions is described without its payoffs."""

FAMILIES = {
    "classics": "Classics",
    "zero_sum_games": "Zero-sum and cyclic games",
    "markets": "Markets and auctions",
    "n_player": "Three and more players",
    "random_games": "Random games",
}
CONCEPTS = {"nash": "Nash", "ce": "CE", "cce": "CCE"}


def commands() -> Iterator[str]:
    """Describe every command: its help, its examples, its arguments and options."""
    for title, group in COMMANDS.items():
        yield f"## {title}"
        for name in group:
            app = build_app([name])
            command = app[name]
            about, _, rest = inspect.getdoc(command.default_command).partition("Example uses:")
            examples = inspect.cleandoc(rest.partition("\n\n")[0])
            yield f"### `regrax {name}`\n\n{about.strip()}\n\n```bash\n{examples}\n```"
            arguments = command.assemble_argument_collection(
                default_parameter=app.default_parameter, parse_docstring=True
            )
            rows = [_option(argument) for argument in arguments if argument.show]
            yield "\n".join(["| option | meaning |", "|---|---|", *rows])


def _option(argument) -> str:
    name = ", ".join(f"`{name}`" for name in argument.names)
    default = argument.field_info.default
    about = re.sub(
        r"--[a-z][a-z-]*", r"`\g<0>`", (argument.parameter.help or "").replace("|", "\\|")
    )
    if get_origin(argument.hint) is Literal:
        about = f"{about} One of {', '.join(_code(get_args(argument.hint)))}."
    if argument.required:
        about = f"{about} **Required.**"
    elif default not in (None, False, "", ()) and default is not inspect.Parameter.empty:
        values = default if isinstance(default, tuple) else [default]
        about = f"{about} Default: `{' '.join(map(str, values))}`."
    return f"| {name} | {about} |"


def learners() -> Iterator[str]:
    """Tabulate the learners with their bounds, then describe each by its docstring."""
    entries = [entry for entry in registered("learner").values() if not entry.is_alias]
    rows = []
    for entry in entries:
        learner = parse_learner(entry.examples[0])
        bound = learner.bound(3, 1000)
        kind = learner.regret if bound is not None else ""
        feedback = "bandit" if isinstance(learner, BanditLearner) else "full"
        value = "" if bound is None else f"{float(bound):.1f}"
        title = entry.make.__name__
        link = f"[{title}](#{title.lower()})"
        rows.append(f"| {link} | `{entry.examples[0]}` | {feedback} | {kind} | {value} |")
    head = ["| learner | spec | feedback | bounded regret | bound |", "|---|---|---|---|---|"]
    yield "\n".join(head + rows)
    for entry in entries:
        yield f"## {entry.make.__name__}\n\n" + _docstring(entry, ", ".join(_code(entry.examples)))


def games() -> Iterator[str]:
    """Describe every game with its payoffs and known equilibria, by family."""
    families = {family: [] for family in FAMILIES}
    for entry in registered("game").values():
        families[entry.make.__module__.rpartition(".")[2]].append(entry)
    for family, entries in families.items():
        links = [f"[{name}](#{name})" for name in map(_spelled, entries)]
        yield f"**{FAMILIES[family]}**: {', '.join(links)}"
    for family, entries in families.items():
        yield f"## {FAMILIES[family]}"
        for entry in entries:
            name = _spelled(entry)
            text = f"### {name}\n\n" + _docstring(entry, f"`{name}{entry.parameters}`")
            yield text + ("" if family == "random_games" else _tables(parse_game(name)))


def _spelled(entry: Entry) -> str:
    return entry.name.replace("_", "-")


def _code(texts) -> list[str]:
    return [f"`{text}`" for text in texts]


def _docstring(entry: Entry, specs: str) -> str:
    """Format a docstring: specs, summary, formulas, and the reference in italics."""
    apart = ("Args:", "Reference:", ">>>")
    body = [part for part in entry.paragraphs if not part.startswith(apart)]
    reference = [f"*{entry.reference}*"] if entry.reference else []
    return "\n\n".join([specs, *body, *reference])


def _tables(game: Game) -> str:
    text = ""
    if len(game.sizes) == 2 and max(game.sizes) <= LARGEST_TABLE:
        rows = [f"| | {' | '.join(game.actions[1])} |", "|---" * (game.sizes[1] + 1) + "|"]
        for i, label in enumerate(game.actions[0]):
            cells = [", ".join(map(_exact, game.payoffs[:, i, j])) for j in range(game.sizes[1])]
            rows.append(f"| **{label}** | {' | '.join(cells)} |")
        text += "\n\n" + "\n".join(rows)
    found = [f"- {_equilibrium(game, known)}" for known in game.equilibria]
    return text + ("\n\n" + "\n".join(found) if found else "")


def _equilibrium(game: Game, known) -> str:
    about = f"{CONCEPTS[known.concept]}{f', {known.about}' if known.about else ''}"
    if known.concept != "nash":
        joints = [
            f"{_exact(weight)} ({', '.join(game.actions[n][a] for n, a in enumerate(joint))})"
            for joint, weight in known.weights.items()
        ]
        return f"{about}: {', '.join(joints)}"
    marginals = CorrelatedProfile(known.joint(game.sizes), game).marginals
    sides = [_mixed(*pair) for pair in zip(game.actions, marginals, strict=True)]
    if max(map(len, sides)) > LARGEST_TABLE:
        return f"{about} (`regrax games {game.name}` prints it)"
    return f"{about}: {'; '.join(', '.join(side) for side in sides)}"


def _mixed(labels: tuple[str, ...], strategy) -> list[str]:
    """Write a strategy as `1/2 on heads`, `1/2 on tails`, or a pure one as its action."""
    played = [(label, share) for label, share in zip(labels, strategy, strict=True) if share > 0]
    if len(played) == 1:
        return [played[0][0]]
    return [f"{_exact(share)} on {label}" for label, share in played]


def _exact(number) -> str:
    """Write a number as a short fraction if it is one."""
    fraction = Fraction(float(number)).limit_denominator(100)
    return str(fraction) if abs(fraction - float(number)) < 1e-9 else f"{float(number):.4g}"


def write_listings(app) -> None:
    """Write the fragments; leave a file alone if its text has not changed."""
    folder = Path(app.srcdir) / "reference" / "_generated"
    folder.mkdir(exist_ok=True)
    for make in (commands, learners, games):
        text = "\n\n".join(make()) + "\n"
        file = folder / f"{make.__name__}.md"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def setup(app):
    """Write the fragments before Sphinx reads the pages that include them."""
    app.connect("builder-inited", write_listings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
