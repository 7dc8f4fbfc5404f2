r"""Rows to numbers: what a log's row may say, checked for many rows at once.

A row of full feedback gives `losses` (or `payoffs`, their negative) of every action and what was played: `action`, or
`policy` where no action was drawn. A row of bandit feedback gives the `loss` (or `payoff`) of the `action` played and
the probability it was played with: `propensity`, or its entry of `policy`; without that probability it is of received
feedback, which says nothing of other actions. Vectors are lists, or mappings from the names of actions. `episode` is 0,
`agent` is "agent" and `round` is one more than the last if they are not there.

`Row` says which types a field may have; `read_block` reads rows of one agent together and raises at the first thing
that is wrong; `regrax.agents.audit._log` halves what raised until the bad row stands alone, so one set of rules
serves speed and reasons.
"""

import re
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, Literal

import msgspec
import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.agents.audit._text import short

MAX_ACTIONS = 1000  # of one agent
MAX_LOSS = 1e50  # size of a loss: sums and squares of many stay finite
MIN_PROPENSITY = 1e-9
MAX_ROUND = 1 << 53  # beyond, a double cannot count

VECTORS = ("policy", "losses", "payoffs")
Feedback = Literal["full", "bandit", "received"]
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

    feedback: Feedback
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
    return (_full if full else _bandit)(rows, given[0], seat)


def read_round(row: Row, last: int) -> int:
    """The round of a row that comes after round `last` of its episode, which is -1 before the first."""
    if row.round is None:
        return max(last, 0) + 1
    number = round_number(row.round)
    if number <= last:
        raise ValueError(f"round must rise within an episode and agent, got {number} after {last}")
    return number


def round_number(value: float) -> int:
    """A round that a row says."""
    if not 0 <= value < MAX_ROUND or value != int(value):
        raise ValueError(f"round must be an integer >= 0, got {short(value)}")
    return int(value)


def label(kind: str, value: Name) -> str:
    """A name or an integer as text.

    >>> label("agent", "x"), label("agent", 3), label("agent", 3.0)
    ('x', '3', '3')
    """
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{kind} must be a name or an integer, got {short(value)}")
    return value if isinstance(value, str) else str(int(value))


def _full(rows: list[Row], name: str, seat: Seat | None) -> tuple[Seat, np.ndarray]:
    column = _column(rows, name)
    seat = seat or _seat("full", name, column[0])
    losses = _vectors(name, column, seat)
    policy, action = _column(rows, "policy"), _column(rows, "action")
    if policy is None and action is None:
        raise ValueError("a row must give the action or the policy that was played, got neither")
    played: Any = None if policy is None else _vectors("policy", policy, seat)
    if action is not None:  # what was drawn is what was played, and what regret counts
        played = np.eye(len(seat.actions))[_indices(action, seat)]
    return seat, np.hstack([played, losses])


def _bandit(rows: list[Row], name: str, seat: Seat | None) -> tuple[Seat, np.ndarray]:
    policy, action, chance = (_column(rows, n) for n in ("policy", "action", "propensity"))
    if action is None:
        raise ValueError(f"a row with {name} alone must give the action that received it")
    kind = "received" if policy is None and chance is None else "bandit"
    if seat is not None and seat.feedback != kind:
        neither = "a row with one action's loss must give its propensity or policy, got neither"
        earlier = "earlier rows of this agent give no propensity, but this one does"
        raise ValueError(earlier if kind == "bandit" else neither)
    if seat is not None and seat.mixed != (policy is not None):
        raise ValueError("either every row of a bandit agent gives its policy, or none does")
    columns = [_finite(name, _column(rows, name))]
    if policy is None:
        seat, played = _discovered(action, seat, kind)
        columns += [] if chance is None else [_propensities(chance, None)]
    else:
        seat = seat or _seat("bandit", "policy", policy[0])
        policies, played = _vectors("policy", policy, seat), _indices(action, seat)
        columns += [_propensities(chance, policies[np.arange(len(played)), played]), policies]
    return seat, np.column_stack([played, *columns])


def _column(rows: list[Row], name: str) -> Any:
    """A field of every row, or None if no row has it."""
    column = list(map(attrgetter(name), rows))
    missing = column.count(None)
    if 0 < missing < len(column):
        raise ValueError(f"{name} is missing")
    return None if missing else column


def _seat(feedback: Feedback, name: str, first: Any) -> Seat:
    """What an agent's first vector fixes."""
    if not 1 <= len(first) <= MAX_ACTIONS:
        raise ValueError(f"{name} must be of 1 to {MAX_ACTIONS} actions, got {len(first)} entries")
    named = isinstance(first, dict)
    return Seat(feedback, tuple(first if named else map(str, range(len(first)))), named, True)


def _vectors(name: str, column: list[Any], seat: Seat) -> np.ndarray:
    d = len(seat.actions)
    if set(map(type, column)) != {dict if seat.named else list}:
        form = f"a mapping from {short(list(seat.actions))}" if seat.named else "a list"
        raise ValueError(f"{name} must be {form} as in this agent's first row")
    if set(map(len, column)) != {d}:
        raise ValueError(
            f"{name} must have {d} entries as in this agent's first row, got {len(column[0])}"
        )
    try:
        rows = [[v[a] for a in seat.actions] for v in column] if seat.named else column
    except KeyError as missing:
        raise ValueError(
            f"{name} must have an entry for every action, got none for {short(missing.args[0])}"
        ) from None
    vectors = _finite(name, list(chain.from_iterable(rows))).reshape(-1, d)
    if name == "policy":
        checks.distributions(name, vectors)
    return vectors


def _finite(name: str, values: list[Any]) -> np.ndarray:
    """The numbers; payoffs as losses."""
    numbers = np.array(values, float)
    if not np.all(np.abs(numbers) <= MAX_LOSS):  # also false for nan
        raise ValueError(
            f"{name} must be finite numbers of size at most {MAX_LOSS:g}, got one that is not"
        )
    return -numbers if name.startswith("payoff") else numbers


def _indices(column: list[Any], seat: Seat) -> np.ndarray:
    names: Any = seat.actions if seat.named else range(len(seat.actions))  # 1.0 is found as 1 is
    places = {name: place for place, name in enumerate(names)}
    found = list(map(places.get, column))
    if None in found:
        known = (
            f"one of {short(list(names))}" if seat.named else f"an integer from 0 to {names[-1]}"
        )
        raise ValueError(f"action must be {known}, got {short(column[0])}")
    return np.array(found)


def _discovered(column: list[Any], seat: Seat | None, kind: Feedback) -> tuple[Seat, np.ndarray]:
    """Actions known only from being played: names in the order of their first appearance."""
    places = {name: place for place, name in enumerate(seat.actions if seat else ())}
    names = [label("action", value) for value in column]
    played = [places.setdefault(name, len(places)) for name in names]
    if len(places) > MAX_ACTIONS:
        raise ValueError(
            f"an agent must have at most {MAX_ACTIONS} actions, got one more: {short(names[0])}"
        )
    return Seat(kind, tuple(places), True, False), np.array(played)


def _propensities(column: Any, of_policy: Any) -> np.ndarray:
    """The probability with which each action was played, given or read off the policy; both must agree."""
    chance = of_policy if column is None else _finite("propensity", column)
    if not np.all((chance >= MIN_PROPENSITY) & (chance <= 1 + checks.TOLERANCE)):
        raise ValueError(f"propensity must be from {MIN_PROPENSITY:g} to 1, got {chance[0]:g}")
    if of_policy is not None and not np.all(np.abs(of_policy - chance) <= checks.TOLERANCE):
        raise ValueError(
            f"propensity must be the policy's {of_policy[0]:g} of that action, got {chance[0]:g}"
        )
    return np.minimum(chance, 1.0)
