"""Options of commands that read logs: how the records of other harnesses become rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class LogOptions:
    """How to read a log that is not in regrax's own form.

    Args:
        game: The game that was played, a spec or a file: its payoffs tell every action's loss from what the players
            did.
        layout: A TOML file that says where records keep what a row is made of.
        fields: The same for single fields, as in episode=game_id payoff=info.reward.
        format: Records of a known harness: verifiers or textarena.
        rows: The field that lists an episode's rounds.
        messages: The field that holds chat messages; each message of the assistant is an answer.
        actions: The names of the actions to look for in answers given in words.
        parsers: Which parsers read answers, among think, regex, json, name and number.
        regex: A regular expression whose last match is the answer.
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
        """The layout and the game, as `audit_log` takes them."""
        from regrax.agents.audit import layout_of, read_layout
        from regrax.cli._text import read_game

        single = [entry.partition("=") for entry in self.fields]
        if not all(equals and path for _, equals, path in single):
            raise ValueError(f"--fields must be name=path, got {' '.join(self.fields)}")
        given: dict[str, Any] = {"fields": {name: path for name, _, path in single}}
        for name in ("actions", "parsers", "format", "rows", "messages", "regex"):
            given[name] = getattr(self, name)
        given = {name: value for name, value in given.items() if value}
        layout = layout_of(given, "the options") if given else None
        layout = read_layout(self.layout, given) if self.layout else layout
        return {"layout": layout, "game": read_game(self.game) if self.game else None}


def interval(low: float | None, high: float | None) -> str:
    """An interval as text, nothing where there is none."""
    return "" if low is None else f"{low:.5g} to {high:.5g}"
