r"""Rows to numbers: what a log's row may say, checked for many rows at once.

A row of full feedback gives `losses` (or `payoffs`, their negative) of every action and what was played: `action`, or
`policy` where no action was drawn. A row of bandit feedback gives the `loss` (or `payoff`) of the `action` played and
the probability it was played with: `propensity`, or its entry of `policy`; without that probability it is of received
feedback, which says nothing of other actions. Vectors are lists, or mappings from the names of actions. `episode` is 0,
`agent` is "agent" and `round` is one more than the last if they are not there.

`Row` says which types a field may have; `read_block` reads rows of one agent together and raises at the first thing
that is wrong; `regrax.audit._log` halves what raised until the bad row stands alone, so one set of rules
serves speed and reasons.
"""

import re
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

import msgspec
import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.audit._text import short

MAX_ACTIONS = 1000  # of one agent
MAX_LOSS = 1e50  # size of a loss: sums and squares of many stay finite
MIN_PROPENSITY = 1e-9
MAX_ROUND = 1 << 53  # beyond, a double cannot count

VECTORS = ("policy", "losses", "payoffs")
Name = str | int | float
Vector = list[float] | dict[str, float]


class Row(msgspec.Struct, gc=False):
    """A row of a log, as far as it is read; other fields are ignored."""

    episode: Name | None = None
    agent: Name | None = None
    round: int | float | None = None
    policy: Vector | None = None
    action: Name | None = None
    losses: Vector | None = None
    payoffs: Vector | None = None
    loss: float | None = None
    payoff: float | None = None
    propensity: float | None = None
    answered: Any = None
    parser: str | None = None  # that understood the answer
    player: Name | None = None  # in a game; by default the agent's name
    others: list[Name] | Name | None = None  # the other players' actions, in the game's order


def typed(row: Any) -> Row | str:
    """The row that a parsed value is, or why it is none.

    >>> typed({"losses": [0, "1"]})
    'losses[1] must be float, got str'
    """
    try:
        return msgspec.convert(row, Row)
    except (msgspec.ValidationError, OverflowError) as error:
        return reason(error)
    except UnicodeEncodeError as error:  # halves of characters
        return f"not text that can be read: {short(error)}"


def reason(error: Exception) -> str:
    """What msgspec says of a wrong type, with the path first."""
    what, _, path = str(error).partition(" - at `$.")
    path = path.rstrip("`") or "a row"
    found = re.fullmatch(r"Expected `(.+?)(?: \| null)?`, got `(.+)`", what)
    return f"{path} must be {found[1]}, got {found[2]}" if found else f"{path}: {what}"


@dataclass(frozen=True)
class Seat:
    """What an agent's first good row fixes for all others: its feedback, and the names of its actions."""

    feedback: Literal["full", "bandit", "received"]
    actions: tuple[str, ...]
    named: bool  # vectors are mappings from names, actions are names
    mixed: bool  # bandit rows come with whole policies


def read_block(rows: list[Row], seat: Seat | None) -> tuple[Seat, Float[np.ndarray, "n numbers"]]:
    """Rows of one agent as numbers; `seat` is what rows before them fixed.

    Full feedback: `played..., losses...`. Bandit: `action, loss, propensity, policy...`. Received: `action, loss`.

    >>> read_block([Row(policy=[0.5, 0.5], losses=[0.0, 1.0])], None)[1].tolist()
    [[0.5, 0.5, 0.0, 1.0]]
    """
    given = [n for n in ("losses", "payoffs", "loss", "payoff") if _column(rows, n) is not None]
    if len(given) != 1:
        kinds = " and ".join(given) or "none"
        raise ValueError(f"a row must give one of losses, payoffs, loss and payoff, got {kinds}")
    full = given[0] in ("losses", "payoffs")
    if seat is not None and (seat.feedback == "full") != full:
        was = "losses of every action" if seat.feedback == "full" else "only the loss received"
        raise ValueError(f"earlier rows of this agent give {was}, but this one gives {given[0]}")
    sign = -1.0 if given[0].startswith("payoff") else 1.0
    read = _full if full else _bandit
    return read(rows, given[0], sign, seat)


def read_round(row: Row, last: int) -> int:
    """The round of a row that comes after round `last` of its episode, which is -1 before the first."""
    if row.round is None:
        return max(last, 0) + 1
    if not 0 <= row.round < MAX_ROUND or row.round != int(row.round):
        raise ValueError(f"round must be an integer >= 0, got {short(row.round)}")
    if row.round <= last:
        raise ValueError(
            f"round must rise within an episode and agent, got {row.round:.0f} after {last}"
        )
    return int(row.round)


def _full(rows: list[Row], name: str, sign: float, seat: Seat | None) -> tuple[Seat, np.ndarray]:
    column = _column(rows, name)
    named, actions = _names(name, column, seat)
    seat = seat or Seat("full", actions, named, True)
    losses = sign * _vectors(name, column, seat)
    policy, action = _column(rows, "policy"), _column(rows, "action")
    if policy is None and action is None:
        raise ValueError("a row must give the action or the policy that was played, got neither")
    mixed = np.zeros((0, 0)) if policy is None else _policies(policy, seat)
    # an action that was drawn is what was played, and what regret counts
    played = mixed if action is None else np.eye(len(actions))[_indices(action, seat)]
    return seat, np.hstack([played, losses])


def _bandit(rows: list[Row], name: str, sign: float, seat: Seat | None) -> tuple[Seat, np.ndarray]:
    policy, action = _column(rows, "policy"), _column(rows, "action")
    if action is None:
        raise ValueError(f"a row with {name} alone must give the action that received it")
    loss, chance = sign * _finite(name, _column(rows, name)), _column(rows, "propensity")
    if policy is None and chance is None and (seat is None or seat.feedback == "received"):
        seat, played = _discovered(action, seat, "received")
        return seat, np.column_stack([played, loss])
    if seat is not None and seat.feedback == "received":
        raise ValueError("earlier rows of this agent give no propensity, but this one does")
    if seat is not None and seat.mixed != (policy is not None):
        raise ValueError("either every row of a bandit agent gives its policy, or none does")
    if policy is None:
        seat, played = _discovered(action, seat, "bandit")
        policies = np.zeros((len(rows), 0))
    else:
        named, actions = _names("policy", policy, seat)
        seat = seat or Seat("bandit", actions, named, True)
        policies, played = _policies(policy, seat), _indices(action, seat)
    chance = _propensities(chance, policies, played)
    return seat, np.column_stack([played, loss, chance, policies])


def _column(rows: list[Row], name: str) -> Any:
    """A field of every row, or None if no row has it."""
    column = list(map(attrgetter(name), rows))
    missing = column.count(None)
    if 0 < missing < len(column):
        raise ValueError(f"{name} is missing")
    return None if missing else column


def _names(name: str, column: list[Any], seat: Seat | None) -> tuple[bool, tuple[str, ...]]:
    """Whether vectors are mappings, and the actions' names."""
    if seat is not None:
        return seat.named, seat.actions
    first, named = column[0], isinstance(column[0], dict)
    if not 1 <= len(first) <= MAX_ACTIONS:
        raise ValueError(f"{name} must be of 1 to {MAX_ACTIONS} actions, got {len(first)} entries")
    return named, tuple(first) if named else tuple(map(str, range(len(first))))


def _vectors(name: str, column: list[Any], seat: Seat) -> np.ndarray:
    d = len(seat.actions)
    if set(map(type, column)) != {dict if seat.named else list}:
        form = f"a mapping from {short(list(seat.actions))}" if seat.named else "a list"
        raise ValueError(f"{name} must be {form} as in this agent's first row")
    if set(map(len, column)) != {d}:
        raise ValueError(
            f"{name} must have {d} entries as in this agent's first row, got {len(column[0])}"
        )
    rows = [_by_name(name, value, seat) for value in column] if seat.named else column
    return _finite(name, list(chain.from_iterable(rows))).reshape(-1, d)


def _by_name(name: str, value: Any, seat: Seat) -> list[float]:
    try:
        return [value[action] for action in seat.actions]
    except KeyError as missing:
        raise ValueError(
            f"{name} must have an entry for every action, got none for {short(missing.args[0])}"
        ) from None


def _policies(column: list[Any], seat: Seat) -> np.ndarray:
    policies = _vectors("policy", column, seat)
    checks.distributions("policy", policies)
    return policies


def _finite(name: str, values: list[Any]) -> np.ndarray:
    numbers = np.array(values, float)
    if not np.all(np.abs(numbers) <= MAX_LOSS):  # also false for nan
        raise ValueError(
            f"{name} must be finite numbers of size at most {MAX_LOSS:g}, got one that is not"
        )
    return numbers


def _indices(column: list[Any], seat: Seat) -> np.ndarray:
    if seat.named:
        places = {name: place for place, name in enumerate(seat.actions)}
        known = f"one of {short(list(seat.actions))}"
        fits = all(isinstance(value, str) and value in places for value in column)
        found = np.array([places[v] for v in column]) if fits else None
    else:
        known = f"an integer from 0 to {len(seat.actions) - 1}"
        found = _whole(column, len(seat.actions))
    if found is None:
        raise ValueError(f"action must be {known}, got {short(column[0])}")
    return found.astype(int)


def _discovered(
    column: list[Any], seat: Seat | None, feedback: Literal["bandit", "received"]
) -> tuple[Seat, np.ndarray]:
    """Actions known only from being played: names in the order of their first appearance."""
    places = {name: place for place, name in enumerate(seat.actions if seat else ())}
    for value in column:
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(f"action must be a name or an integer, got {short(value)}")
    names = [value if isinstance(value, str) else str(int(value)) for value in column]
    played = [places.setdefault(name, len(places)) for name in names]
    if len(places) > MAX_ACTIONS:
        raise ValueError(
            f"an agent must have at most {MAX_ACTIONS} actions, got one more: {short(names[0])}"
        )
    found = Seat(feedback, tuple(places), True, False) if seat is None else seat
    return replace(found, actions=tuple(places)), np.array(played)


def _propensities(column: Any, policies: np.ndarray, played: np.ndarray) -> np.ndarray:
    """The probability with which each action was played, given or read off the policy; both must agree."""
    mixed = policies.shape[1] > 0
    if column is None and not mixed:
        raise ValueError(
            "a row with one action's loss must give its propensity or policy, got neither"
        )
    of_policy = policies[np.arange(len(played)), played] if mixed else None
    chance = of_policy if column is None else _finite("propensity", column)
    assert chance is not None
    if not np.all((chance >= MIN_PROPENSITY) & (chance <= 1 + checks.TOLERANCE)):
        raise ValueError(f"propensity must be from {MIN_PROPENSITY:g} to 1, got {chance[0]:g}")
    if of_policy is not None and not np.all(np.abs(of_policy - chance) <= checks.TOLERANCE):
        raise ValueError(
            f"propensity must be the policy's {of_policy[0]:g} of that action, got {chance[0]:g}"
        )
    return np.minimum(chance, 1.0)


def _whole(column: list[Any], end: int) -> np.ndarray | None:
    """The numbers if all are whole, from 0 to below `end`."""
    if not all(type(v) is not str and 0 <= v < end for v in column):
        return None
    numbers = np.array(column, float)
    return numbers if np.all(numbers == np.floor(numbers)) else None
