"""What people read of a game and no program computes with: names, exact fractions, equilibria known from theory."""

from fractions import Fraction
from typing import Any, NamedTuple

from regrax.games._known_equilibria import Known


class Labels(NamedTuple):
    """Everything of a game but its payoffs; what is empty has a default that follows from the game's sizes."""

    name: str = ""
    players: tuple[str, ...] = ()
    actions: tuple[tuple[str, ...], ...] = ()
    comment: str = ""
    exact: tuple[Fraction, ...] | None = (
        None  # flattened like the payoffs, if a double cannot hold one of them
    )
    equilibria: tuple[Known, ...] = ()


def check_labels(labels: Labels, sizes: tuple[int, ...]) -> None:
    """Raise unless the labels are text and there is one for every player and action."""
    _check_text("name", [labels.name])
    _check_text("comment", [labels.comment])
    _check_text("players", labels.players)
    for names in _listed("actions", labels.actions):
        _check_text("actions of a player", names)
    counts = tuple(map(len, labels.actions))
    if labels.players and len(labels.players) != len(sizes):
        raise ValueError(f"players must name {len(sizes)} players, but names {len(labels.players)}")
    if counts and counts != sizes:
        raise ValueError(f"actions must name {sizes} actions per player, but names {counts}")


def _listed(what: str, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what} must be a list, but is {value!r}")
    return value


def _check_text(what: str, value: Any) -> None:
    for label in _listed(what, value):
        if not isinstance(label, str):
            raise ValueError(f"{what} must be text, but one is {label!r}")
