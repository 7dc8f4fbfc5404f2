"""Types of command-line options, and parsing of learners, games and log layouts."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from regrax._files import new_file, output_file

if TYPE_CHECKING:
    from regrax.games import Game
    from regrax.learners import Learner

FIGURES = (".pdf", ".png", ".svg")
OUTPUT = Group("Output", sort_key=80)
LOG_FORMAT = Group("Log format", sort_key=70)


def _check_output(_: Any, path: Path | None) -> None:
    if path is not None and str(path) != "-":
        output_file(path)


def _check_new(_: Any, path: Path | None) -> None:
    if path is not None and str(path) != "-":
        new_file(path)


def _check_figure(_: Any, path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in FIGURES:
        raise ValueError(f"a plot file must end in {', '.join(FIGURES)}, got {path}")
    _check_output(_, path)


# checked while parsing, so that no results are lost because a file cannot be written
Output = Annotated[Path | None, Parameter(validator=_check_output, group=OUTPUT)]
NewOutput = Annotated[Path | None, Parameter(validator=_check_new, group=OUTPUT)]
Figure = Annotated[Path | None, Parameter(validator=_check_figure, group=OUTPUT)]
Folder = Annotated[Path, Parameter(group=OUTPUT)]
Json = Annotated[bool, Parameter(group=OUTPUT, help="Print one JSON object.")]


OUTSIDE = {
    "agent": "regrax.agents:outside_agent",
    "checkpoint": "regrax.checkpoints:Checkpoint",
    "llm": "regrax.agents.llm:llm",
}
"""Learners that run code or read files; only the command line accepts their names in a spec."""


def read_learner(spec: str) -> "Learner":
    """Build a learner, a checkpoint, an external agent or a language model from its spec."""
    from regrax.specs import parse_learner

    outside = {}
    for name, path in OUTSIDE.items():
        if name in spec:
            module, _, function = path.partition(":")
            outside[name] = getattr(import_module(module), function)
    return parse_learner(spec, outside)


def read_game(text: str) -> "Game":
    """Load a game from a file, or build it from its spec."""
    return read_games(text, 1)[0]


def read_games(text: str, seeds: int) -> "list[Game]":
    """Load a game from a file, or build it from its spec, once per seed if it is random."""
    from regrax.games import FORMATS, load
    from regrax.specs import draw_games

    path = Path(text)
    if path.suffix.lower() in FORMATS:
        return [load(path)]
    if len(path.name) < 256 and path.is_file():
        raise ValueError(f"a game file must end in {', '.join(FORMATS)}, got {path}")
    return draw_games(text, seeds)


@Parameter(name="*", group=LOG_FORMAT)
@dataclass(frozen=True)
class LogOptions:
    """Options for reading logs written by other tools.

    Args:
        game: Spec or file of the game; its payoffs give the loss of every action.
        layout: TOML file that maps the fields of a row to paths in a record.
        fields: Paths of fields, as in episode=game_id payoff=info.reward.
        format: Tool that wrote the log: verifiers or textarena.
        rows: Field that lists the rounds of an episode.
        messages: Field with chat messages; each assistant message is an answer.
        actions: Names of the actions to look for in answers.
        parsers: Parsers for the answers, from think, regex, json, name and number.
        regex: Regular expression whose last match is the answer.
    """

    game: str | None = None
    layout: Path | None = None
    fields: tuple[str, ...] = ()
    format: str = ""
    rows: str = ""
    messages: str = ""
    actions: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()
    regex: str | None = None

    def read(self) -> dict[str, Any]:
        """Return the layout and the game as keyword arguments for `audit_log` and `compare_logs`."""
        from regrax.agents.audit import layout_of, read_layout

        settings: dict[str, Any] = {"fields": {}}
        for field in self.fields:
            name, equals, path = field.partition("=")
            if not equals or not path:
                raise ValueError(f"--fields must be name=path, got {field}")
            settings["fields"][name] = path
        for name in ("actions", "parsers", "format", "rows", "messages", "regex"):
            settings[name] = getattr(self, name)
        settings = {name: value for name, value in settings.items() if value}
        layout = None
        if self.layout is not None:
            layout = read_layout(self.layout, settings)
        elif settings:
            layout = layout_of(settings, "the options")
        game = None
        if self.game is not None:
            game = read_game(self.game)
        return {"layout": layout, "game": game}
