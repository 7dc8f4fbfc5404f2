r"""Log rows: the fields of a row, and the conversion of many rows at a time to numbers.

| feedback | fields |
|---|---|
| full | `losses` (or `payoffs`, their negative) of every action, and `action`, or `policy` if no action was drawn |
| bandit | `loss` (or `payoff`) of `action`, and its probability: `propensity`, or its entry in `policy` |
| received | `loss` (or `payoff`) of `action` alone, with no information about the other actions |

Vectors are lists, or mappings from action names. By default `episode` is 0, `agent` is "agent" and `round` is one more
than in the previous row.

`read_block` converts one agent's rows together and raises at the first problem. `regrax.agents.audit.log` then bisects
the block until the bad row is isolated, so conversion is fast and every bad row still gets a reason.
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

MAX_ACTIONS = 1000
MAX_CONTEXTS = 1000
MAX_LOSS = 1e50  # so that sums and squares of many losses stay finite
MIN_PROPENSITY = 1e-9
MAX_ROUND = 1 << 53  # doubles do not represent every integer above this
LOSS_FIELDS = ("losses", "payoffs", "loss", "payoff")
VECTORS = ("policy", "losses", "payoffs")
Feedback = Literal["full", "bandit", "received"]
Name = str | int | float
Vector = list[float] | dict[str, float]


class Row(msgspec.Struct, gc=False):
    """The fields that are read from a row; all others are ignored."""

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
    parser: str | None = None  # the parser that read the answer
    player: Name | None = None  # in a game; by default the agent's name
    others: list[Name] | Name | None = None  # the other players' actions, in the game's order
    context: Name | None = None


Numbered = tuple[int, Row | str]  # line number, and the row or why it cannot be read


def convert_checked(value: Any, kind: Any) -> Any:
    """Convert a parsed value to a type; raise ValueError with the reason.

    >>> convert_checked({"losses": [0, 1]}, Row).losses
    [0.0, 1.0]
    """
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError as error:  # an unpaired surrogate
        raise ValueError(f"unreadable text: {short(error)}") from None
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(type_error(error)) from None


def type_error(error: Exception) -> str:
    """Rewrite msgspec's message about a wrong type so that the path comes first."""
    what, _, path = str(error).partition(" - at `$.")
    path = path.rstrip("`") or "a row"
    types = re.fullmatch(r"Expected `(.+?)(?: \| null)?`, got `(.+)`", what)
    if types is None:
        return f"{path}: {what}"
    return f"{path} must be of type {types[1]}, got {types[2]}"


@dataclass(frozen=True)
class Schema:
    """The form of an agent's rows, fixed by its first good row.

    Attributes:
        feedback: "full", "bandit" or "received".
        actions: names of the actions.
        named: True if rows refer to actions by name, False if by index.
        mixed: True if rows give full policies or the losses of every action.
        contexts: names of the contexts; empty if rows give none.
    """

    feedback: Feedback
    actions: tuple[str, ...]
    named: bool
    mixed: bool
    contexts: tuple[str, ...] = ()


def read_block(
    rows: list[Row], schema: Schema | None
) -> tuple[Schema, Float[np.ndarray, "n numbers"]]:
    """Convert one agent's rows to numbers, given the schema fixed by earlier rows.

    The columns are `played..., losses...` for full feedback, `action, loss, propensity, policy...` for bandit feedback
    and `action, loss` for received feedback, followed by the index of the context if rows give contexts.

    >>> read_block([Row(policy=[0.5, 0.5], losses=[0.0, 1.0])], None)[1].tolist()
    [[0.5, 0.5, 0.0, 1.0]]
    """
    given = [name for name in LOSS_FIELDS if _column(rows, name) is not None]
    if len(given) != 1:
        names = " and ".join(given) or "none"
        of = "losses, payoffs, loss and payoff"
        raise ValueError(f"a row must give exactly one of {of}, got {names}")
    name = given[0]
    is_full = name in VECTORS
    if schema is not None and (schema.feedback == "full") != is_full:
        before = "only the loss received" if is_full else "the losses of every action"
        raise ValueError(f"earlier rows of this agent give {before}, but this one gives {name}")
    contexts = schema.contexts if schema is not None else ()
    column = _column(rows, "context")
    if schema is not None and (column is None) != (not contexts):
        raise ValueError("either every row of an agent must give its context, or none")
    read = _full if is_full else _bandit
    schema, numbers = read(rows, name, schema)
    if column is None:
        return schema, numbers
    contexts, places = _numbered("context", column, contexts, MAX_CONTEXTS)
    return replace(schema, contexts=contexts), np.column_stack([numbers, places])


def read_round(row: Row, last: int) -> int:
    """Return the round of a row that follows round `last` of its episode (-1 before the first)."""
    if row.round is None:
        return max(last, 0) + 1
    number = round_number(row.round)
    if number <= last:
        where = "within an agent's episode"
        raise ValueError(f"round must increase {where}, got {number} after {last}")
    return number


def round_number(value: float) -> int:
    """Check a round number and return it as an integer."""
    if not 0 <= value < MAX_ROUND or value != int(value):
        raise ValueError(f"round must be an integer >= 0, got {short(value)}")
    return int(value)


def label(kind: str, value: Name) -> str:
    """Convert a name or an integer to a string.

    >>> label("agent", "x"), label("agent", 3), label("agent", 3.0)
    ('x', '3', '3')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{kind} must be a name or an integer, got {short(value)}")
    return str(int(value))


def short(value: Any) -> str:
    """Format a value for an error message: ASCII, one line, at most 60 characters."""
    text = value if isinstance(value, Exception) else repr(value)[:200]
    line = " ".join(str(text).encode("ascii", "backslashreplace").decode().split())
    return line if len(line) <= 60 else line[:57] + "..."


def _full(rows: list[Row], name: str, schema: Schema | None) -> tuple[Schema, np.ndarray]:
    column = _column(rows, name)
    schema = schema or _first_schema("full", name, column[0])
    losses = _vectors(name, column, schema)
    policy = _column(rows, "policy")
    action = _column(rows, "action")
    if policy is None and action is None:
        raise ValueError("a row must give the action or the policy that was played, got neither")
    if policy is not None:
        played = _vectors("policy", policy, schema)
    if action is not None:  # regret is computed from the action that was actually drawn
        played = np.eye(len(schema.actions))[_indices(action, schema)]
    return schema, np.hstack([played, losses])  # pyright: ignore[reportPossiblyUnboundVariable]


def _bandit(rows: list[Row], name: str, schema: Schema | None) -> tuple[Schema, np.ndarray]:
    policy = _column(rows, "policy")
    action = _column(rows, "action")
    propensity = _column(rows, "propensity")
    if action is None:
        raise ValueError(f"a row with {name} alone must give the action that received it")
    feedback = "received" if policy is None and propensity is None else "bandit"
    if schema is not None and schema.feedback != feedback:
        reason = "earlier rows of this agent give no propensity, but this one does"
        if feedback == "received":
            reason = "a row with one action's loss must give its propensity or policy, got neither"
        raise ValueError(reason)
    if schema is not None and schema.mixed != (policy is not None):
        raise ValueError("either every row of a bandit agent must give its policy, or none")
    losses = _numbers(name, _column(rows, name))
    if policy is not None:
        schema = schema or _first_schema("bandit", "policy", policy[0])
        policies = _vectors("policy", policy, schema)
        played = _indices(action, schema)
        chances = _propensities(propensity, policies[np.arange(len(played)), played])
        return schema, np.column_stack([played, losses, chances, policies])
    schema, played = _discover(action, schema, feedback)
    if propensity is None:
        return schema, np.column_stack([played, losses])
    return schema, np.column_stack([played, losses, _propensities(propensity, None)])


def _column(rows: list[Row], name: str) -> Any:
    """Return a field of every row, or None if no row has it."""
    column = list(map(attrgetter(name), rows))
    missing = column.count(None)
    if missing == len(column):
        return None
    if missing:
        raise ValueError(f"{name} is missing")
    return column


def _first_schema(feedback: Feedback, name: str, vector: Vector) -> Schema:
    if not 1 <= len(vector) <= MAX_ACTIONS:
        raise ValueError(f"{name} must have between 1 and {MAX_ACTIONS} entries, got {len(vector)}")
    if isinstance(vector, dict):
        return Schema(feedback, tuple(vector), named=True, mixed=True)
    return Schema(feedback, tuple(map(str, range(len(vector)))), named=False, mixed=True)


def _vectors(name: str, column: list[Any], schema: Schema) -> np.ndarray:
    d = len(schema.actions)
    first = "as in this agent's first row"
    if set(map(type, column)) != {dict if schema.named else list}:
        form = f"a mapping from {short(list(schema.actions))}" if schema.named else "a list"
        raise ValueError(f"{name} must be {form}, {first}")
    if set(map(len, column)) != {d}:
        raise ValueError(f"{name} must have {d} entries, {first}, got {len(column[0])}")
    if schema.named:
        try:
            column = [[vector[action] for action in schema.actions] for vector in column]
        except KeyError as error:
            missing = f"got none for {short(error.args[0])}"
            raise ValueError(f"{name} must have an entry for every action, {missing}") from None
    vectors = _numbers(name, list(chain.from_iterable(column))).reshape(-1, d)
    if name == "policy":
        checks.distributions(name, vectors)
    return vectors


def _numbers(name: str, values: list[Any]) -> np.ndarray:
    """Check that values are finite numbers, and return payoffs as losses."""
    numbers = np.array(values, float)
    if not np.all(np.abs(numbers) <= MAX_LOSS):  # also false for nan
        raise ValueError(f"{name} must be finite numbers with absolute value at most {MAX_LOSS:g}")
    return -numbers if name.startswith("payoff") else numbers


def _indices(column: list[Any], schema: Schema) -> np.ndarray:
    names: Any = schema.actions if schema.named else range(len(schema.actions))
    places = {name: place for place, name in enumerate(names)}  # 1.0 matches 1
    indices = list(map(places.get, column))
    if None in indices:
        known = f"an integer from 0 to {len(names) - 1}"
        if schema.named:
            known = f"one of {short(list(names))}"
        raise ValueError(f"action must be {known}, got {short(column[0])}")
    return np.array(indices)


def _discover(
    column: list[Any], schema: Schema | None, feedback: Feedback
) -> tuple[Schema, np.ndarray]:
    """Number actions in order of first appearance, when they are known only from being played."""
    known = schema.actions if schema else ()
    actions, played = _numbered("action", column, known, MAX_ACTIONS)
    return Schema(feedback, actions, named=True, mixed=False), played


def _numbered(
    kind: str, column: list[Any], known: tuple[str, ...], limit: int
) -> tuple[tuple[str, ...], np.ndarray]:
    """Number names in order of first appearance, after the known ones."""
    places = {name: place for place, name in enumerate(known)}
    names = [label(kind, value) for value in column]
    numbers = [places.setdefault(name, len(places)) for name in names]
    if len(places) > limit:
        more = f"got one more: {short(names[0])}"
        raise ValueError(f"an agent must have at most {limit} {kind}s, {more}")
    return tuple(places), np.array(numbers)


def _propensities(column: Any, of_policy: Any) -> np.ndarray:
    """Return the probability of each action, from the propensities or the policies, which must agree."""
    chance = of_policy if column is None else _numbers("propensity", column)
    if not np.all((chance >= MIN_PROPENSITY) & (chance <= 1 + checks.TOLERANCE)):
        raise ValueError(f"propensity must be from {MIN_PROPENSITY:g} to 1, got {chance[0]:g}")
    if of_policy is not None and not np.all(np.abs(of_policy - chance) <= checks.TOLERANCE):
        right = f"the policy's {of_policy[0]:g} for that action"
        raise ValueError(f"propensity must equal {right}, got {chance[0]:g}")
    return np.minimum(chance, 1.0)
