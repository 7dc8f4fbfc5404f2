r"""Normal-form games with $N$ players: an immutable payoff tensor $u[n, a_1, \dots, a_N]$ with labels.

At the end are helpers to define games: grids of joint actions, labels, and `named`, which registers a game's function.
"""

import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce, wraps
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks
from regrax._checks import pytree
from regrax._tables import html_table, latex, text_table, to_csv, to_html, to_pandas
from regrax._text import cell_text, fitted_table
from regrax.specs import register

Arguments = ParamSpec("Arguments")

MAX_PLAYERS = 26
"""Largest number of players: with two actions each, more have over a hundred million payoffs."""
MAX_SHOWN_ACTIONS = 12
"""Largest number of rows or columns of a bimatrix that is shown."""
MAX_CELLS = 200
"""Largest bimatrix in `to_text`; larger games have a row per joint action."""
CONCEPTS = {"nash": "Nash", "ce": "CE", "cce": "CCE"}
LABELS = ("name", "players", "actions", "comment")
MAX_PAYOFFS = 50_000_000
"""Largest number of payoffs in a spec or a file, which take 400 megabytes."""


class Known(NamedTuple):
    """An equilibrium known from theory: the joint actions it plays and their probabilities."""

    concept: Literal["nash", "ce", "cce"]
    about: str
    weights: Mapping[tuple[int, ...], float]

    def joint(self, sizes: Sequence[int]) -> Float[np.ndarray, "*d"]:
        """Return the equilibrium as a distribution over the joint actions of a game with these sizes.

        >>> pure("both defect", 1, 1).joint((2, 2)).tolist()
        [[0.0, 0.0], [0.0, 1.0]]
        """
        joint = np.zeros(tuple(sizes))
        for actions, weight in self.weights.items():
            joint[actions] = weight
        return joint


def pure(about: str, *actions: int) -> Known:
    """Build a Nash equilibrium in pure strategies.

    >>> pure("both defect", 1, 1).weights
    {(1, 1): 1.0}
    """
    return Known("nash", about, {actions: 1.0})


def mixed(about: str, *strategies: Any) -> Known:
    """Build a Nash equilibrium from the mixed strategy of each player.

    >>> mixed("a coin", [0.5, 0.5], [0, 1]).weights
    {(0, 1): 0.5, (1, 1): 0.5}
    """
    joint = np.asarray(reduce(np.multiply.outer, strategies), float)
    return Known("nash", about, {a: float(p) for a, p in np.ndenumerate(joint) if p > 0})


def uniform(about: str, *sizes: int) -> Known:
    """Build the Nash equilibrium in which every player plays all of its actions equally often.

    >>> uniform("both toss a coin", 2, 2).weights[0, 0]
    0.25
    """
    return mixed(about, *(np.full(size, 1 / size) for size in sizes))


@pytree("payoffs")
class Game:
    r"""A finite game: player $n$ receives $u[n, a_1, \dots, a_N]$ when the players choose $a_1, \dots, a_N$.

    Payoffs passed as lists or NumPy arrays are stored in double precision and cannot be changed. Fractions that doubles
    cannot represent are rounded for computation and stored in `exact`. As a pytree, a game consists of its payoffs
    alone: games of the same shape share a compiled program whatever their labels, and the result of a transformation
    has default labels.

    Args:
        payoffs: a tensor of shape `(N, d_1, ..., d_N)`, one table per player.
        name: the printed name; by default the sizes, as in `game(2, 2)`.
        players: a label per player; by default `player 1`, `player 2`, ...
        actions: a label per action, for all players or in a list for each; by default `1`, `2`, ...
        comment: a comment, saved to files with the game.
        equilibria: equilibria known from theory, shown next to computed ones.

    >>> game = Game([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], name="pennies")
    >>> game, game.sizes
    (pennies, (2, 2))
    """

    payoffs: Float[Any, "N *d"]
    comment: str = ""
    equilibria: tuple[Known, ...] = ()
    exact: tuple[Fraction, ...] | None = None
    """The flattened payoffs as fractions, if doubles cannot represent all of them."""

    def __init__(
        self,
        payoffs: Any,
        *,
        name: str = "",
        players: Any = None,
        actions: Any = None,
        comment: str = "",
        equilibria: Sequence[Known] = (),
    ) -> None:
        exact = None
        if not checks.is_jax(payoffs):
            doubles = _doubles(payoffs)
            exact = _exact(payoffs, doubles)
            payoffs = doubles
        count = payoffs.ndim - 1
        fits = payoffs.shape[:1] == (count,) and min(payoffs.shape) >= 1
        checks.shape("payoffs", payoffs, "(N, d_1, ..., d_N), one tensor per player", fits)
        checks.finite("payoffs", payoffs)
        checks.instance("name", name, str, "text")
        checks.instance("comment", comment, str, "text")
        fields = self.__dict__
        fields.update(payoffs=payoffs, exact=exact, comment=comment, equilibria=tuple(equilibria))
        if name:
            fields["name"] = name
        if players:
            fields["players"] = _texts("players", players, count)
        if actions:
            if isinstance(actions, list | tuple) and isinstance(actions[0], str):
                actions = [actions] * count
            _check_list("actions", actions, count)
            sizes = payoffs.shape[1:]
            names = [f"actions of player {n + 1}" for n in range(count)]
            fields["actions"] = tuple(map(_texts, names, actions, sizes))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a game is immutable: {name} cannot be set")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of actions of each player."""
        return tuple(self.payoffs.shape[1:])

    @cached_property
    def name(self) -> str:
        """The name, by default the sizes."""
        return f"game({', '.join(map(str, self.sizes))})"

    @cached_property
    def players(self) -> tuple[str, ...]:
        """A label per player."""
        return tuple(f"player {n + 1}" for n in range(len(self.sizes)))

    @cached_property
    def actions(self) -> tuple[tuple[str, ...], ...]:
        """Action labels of each player."""
        return tuple(tuple(str(a + 1) for a in range(size)) for size in self.sizes)

    @cached_property
    def loss_tables(self) -> tuple[Float[Any, "d others"], ...]:
        """Loss matrix of each player: its own actions by the joint actions of the others."""
        return tuple(-self.own(n) for n in range(len(self.sizes)))

    def own(self, player: int) -> Float[Any, "d others"]:
        """Return a player's payoff matrix: its own actions by the joint actions of the others."""
        return unfolded(checks.as_floats(self.payoffs)[player], player)

    def columns(self) -> dict[str, list[Any]]:
        """Return a table with a row per joint action: each player's action, and each player's payoff.

        >>> Game([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]).columns()["pays player 1"]
        [1.0, 0.0, 0.0, 1.0]
        """
        profiles = zip(*itertools.product(*self.actions), strict=True)
        table = dict(zip(self.players, map(list, profiles), strict=True))
        for player, payoffs in zip(self.players, np.asarray(self.payoffs, float), strict=True):
            table[f"pays {player}"] = payoffs.ravel().tolist()
        return table

    to_pandas = to_pandas
    to_csv = to_csv

    def to_latex(self, digits: int = 4) -> str:
        """Return the payoffs as a LaTeX tabular: a bimatrix for two players, otherwise a row per joint action."""
        return latex(self._table(digits), digits)

    def bimatrix(self, digits: int = 4) -> dict[str, list[str]]:
        """Return a table of a two-player game with a row per action of the first player, and the payoffs as text.

        >>> Game([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]).bimatrix()
        {'': ['1', '2'], '1': ['1, 0', '0, 1'], '2': ['0, 1', '1, 0']}
        """
        table = {"": list(self.actions[0])}
        for b, label in enumerate(self.actions[1]):
            pairs = np.asarray(self.payoffs, float)[:, :, b].T + 0.0  # no negative zeros
            table[label] = [f"{row:.{digits}g}, {column:.{digits}g}" for row, column in pairs]
        return table

    def _table(self, digits: int = 4) -> dict[str, list[Any]]:
        return self.bimatrix(digits) if len(self.sizes) == 2 else self.columns()

    def _heading(self) -> str:
        if len(self.sizes) != 2:
            return self.name
        return f"{self.name}: {self.players[0]} (rows), {self.players[1]} (columns)"

    def _repr_html_(self) -> str:
        if len(self.sizes) != 2 or max(self.sizes) > MAX_SHOWN_ACTIONS:
            return to_html(self)
        table = self.bimatrix()
        return html_table(table, zip(*table.values(), strict=True), self._heading())

    def __str__(self) -> str:
        """Return the payoffs as a bimatrix or a table of joint actions, or the sizes if that would be large.

        >>> print(zero_sum([[1, -1], [-1, 1]], name="pennies", players=["even", "odd"]))
        pennies: even (rows), odd (columns)
           1      2
        1  1, -1  -1, 1
        2  -1, 1  1, -1
        """
        if not checks.is_concrete(self.payoffs) or self.payoffs[0].size > MAX_SHOWN_ACTIONS**2:
            sizes = " x ".join(map(str, self.sizes))
            return f"{self.name}: {sizes} actions"
        table = self._table()
        return f"{self._heading()}\n{text_table(table, zip(*table.values(), strict=True))}"

    def to_dict(self) -> dict[str, Any]:
        """Return the labels, the payoffs and the known equilibria as plain numbers and texts.

        >>> zero_sum([[1, -1]]).to_dict()["payoffs"]
        [[[1.0, -1.0]], [[-1.0, 1.0]]]
        """
        equilibria = []
        for known in self.equilibria:
            profile = known.joint(self.sizes).tolist()
            about = {"concept": known.concept, "about": known.about}
            equilibria.append({**about, "profile": profile})
        return labels_of(self) | {"payoffs": self.payoffs.tolist(), "equilibria": equilibria}

    def to_text(self) -> str:
        """Return the payoffs and the known equilibria as tables that fit the terminal."""
        from regrax.games.profile import CorrelatedProfile

        columns = self.columns()
        title = ""
        if len(self.sizes) == 2 and prod(self.sizes) <= MAX_CELLS:
            columns = self.bimatrix()
            title = f"payoffs of {self.players[0]} (rows), {self.players[1]} (columns)"
        text = fitted_table(list(columns), list(zip(*columns.values(), strict=True)), title)
        rows = []
        for equilibrium in self.equilibria:
            profile = CorrelatedProfile(equilibrium.joint(self.sizes), self)
            if equilibrium.concept == "nash":
                play = " | ".join(map(cell_text, profile.strategies))
            else:
                joint = profile.likeliest()
                play = cell_text({f"({', '.join(actions)})": share for *actions, share in joint})
            rows.append([CONCEPTS[equilibrium.concept], equilibrium.about, play])
        if rows:
            text += "\n" + fitted_table(("equilibrium", "about", "play"), rows)
        return text

    def save(self, path: str | Path) -> None:
        """Write the game to a `.nfg`, `.json` or `.npz` file, which `regrax.games.load` reads."""
        from regrax.games.formats import save

        save(self, path)

    def __repr__(self) -> str:
        return self.name


def unfolded(tensor: Any, player: int) -> Any:
    """Reshape a tensor over joint actions to a matrix: the player's actions by the joint actions of the others."""
    others = [n for n in range(tensor.ndim) if n != player]
    return tensor.transpose(player, *others).reshape(tensor.shape[player], -1)


def labels_of(game: Game) -> dict[str, Any]:
    """Return the name, the labels and the comment of a game."""
    return {name: getattr(game, name) for name in LABELS}


def precise_payoffs(game: Game) -> np.ndarray:
    """Return the payoffs as doubles, or as fractions if doubles cannot represent all of them."""
    if game.exact is None:
        return np.asarray(game.payoffs, float)
    return np.array(game.exact, object).reshape(game.payoffs.shape)


def _doubles(payoffs: Any) -> Float[np.ndarray, "*any"]:
    try:
        array = np.asarray(payoffs)
        if array.dtype.kind not in "biufO":  # complex numbers, dates and text are not payoffs
            raise ValueError(f"got values of type {array.dtype}")
        array = np.array(array, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"payoffs must be a rectangular table of numbers: {error}") from None
    array.setflags(write=False)
    return array


def _exact(payoffs: Any, doubles: Float[np.ndarray, "*any"]) -> tuple[Fraction, ...] | None:
    """Return the payoffs as fractions if doubles cannot represent all of them, otherwise None."""
    is_array = isinstance(payoffs, np.ndarray) and payoffs.dtype != object
    if is_array or not np.isfinite(doubles).all():
        return None
    values = np.array(payoffs, object).ravel().tolist()
    if values == doubles.ravel().tolist():
        return None
    return tuple(
        Fraction(value if isinstance(value, Fraction | int) else float(value)) for value in values
    )


def _check_list(what: str, value: Any, count: int) -> None:
    checks.instance(what, value, list | tuple, "a list")
    if len(value) != count:
        raise ValueError(f"{what} must have {count} entries, got {len(value)}")


def _texts(what: str, labels: Any, count: int) -> tuple[str, ...]:
    _check_list(what, labels, count)
    for label in labels:
        checks.instance(what, label, str, "text")
    label, times = Counter(labels).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{what} must have different names, got {label!r} {times} times")
    return tuple(labels)


def zero_sum(row: Any, **labels: Any) -> Game:
    r"""Build a two-player zero-sum game, $u_2 = -u_1$, from the first player's payoff matrix.

    >>> zero_sum([[1, -1], [-1, 1]]).payoffs[1].tolist()
    [[-1.0, 1.0], [1.0, -1.0]]
    """
    row = _matrix("row", row)
    return Game(np.stack([row, -row]), **labels)


def bimatrix(row: Any, column: Any, **labels: Any) -> Game:
    """Build a two-player game from a payoff matrix per player, both indexed by (row action, column action).

    >>> bimatrix([[3, 0], [5, 1]], [[3, 5], [0, 1]]).sizes
    (2, 2)
    """
    row = _matrix("row", row)
    column = _matrix("column", column)
    checks.shape("column", column, f"{row.shape}, the shape of row", row.shape == column.shape)
    return Game(np.stack([row, column]), **labels)


def symmetric(row: Any, **labels: Any) -> Game:
    r"""Build a symmetric two-player game, $u_2 = u_1^\top$; `row` is indexed by (own action, other's action).

    >>> symmetric([[3, 0], [5, 1]]).payoffs[1].tolist()
    [[3.0, 5.0], [0.0, 1.0]]
    """
    row = _matrix("row", row)
    checks.shape("row", row, "(d, d)", row.shape[0] == row.shape[1])
    return Game(np.stack([row, row.T]), **labels)


def _matrix(name: str, value: Any) -> Any:
    """Check a payoff matrix; keep fractions as an object array, so that `Game` can store them."""
    doubles = _doubles(value)
    checks.shape(name, doubles, "(rows, columns)", doubles.ndim == 2)
    matrix = np.array(value)
    if matrix.dtype == object:
        return matrix
    return doubles


def check_sizes(*sizes: int) -> None:
    """Raise an error unless every size is an integer >= 1 and the payoff tensor fits in memory."""
    if not sizes:
        raise ValueError(
            "a game needs a number of actions for each player, as in random(10, 10), got none"
        )
    for size in sizes:
        checks.at_least("actions", size, 1)
    if len(sizes) > MAX_PLAYERS or len(sizes) * prod(sizes) > MAX_PAYOFFS:
        raise ValueError(
            f"a game may have at most {MAX_PLAYERS} players and {MAX_PAYOFFS:,} payoffs, "
            f"got {len(sizes)} players with {max(sizes)} actions"
        )


def choices(*sizes: int) -> Int[np.ndarray, "N *d"]:
    """Return an array whose entry `n` is the action of player `n` at every joint action.

    >>> choices(2, 2).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    check_sizes(*sizes)
    return np.indices(sizes)


def same_choices(name: str, players: int, actions: int, minimum: int = 1) -> Any:
    """Return the `choices` of players with the same number of actions; `name` is used in error messages."""
    checks.at_least(name, players, minimum)
    return choices(*[actions] * players)


def numbers(highest: int, lowest: int = 0) -> list[str]:
    """Return labels for integer actions."""
    return [str(number) for number in range(lowest, highest + 1)]


def split_prize(
    scores: Float[np.ndarray, "N *d"] | Int[np.ndarray, "N *d"],
) -> Float[np.ndarray, "N *d"]:
    """Split a prize of 1 among the players with the highest score.

    >>> split_prize(np.array([[1, 2], [1, 5]])).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    best = scores == scores.max(0)
    return best / best.sum(0)


def named(make: Callable[Arguments, Game]) -> Callable[Arguments, Game]:
    """Register a zoo function, and name every game that it returns after the spec of the call.

    Parameters without a default come first, in order; the others follow by keyword if they differ from the default.

    >>> from regrax.games import random
    >>> random(2, 3, seed=7).name
    'random(2, 3, seed=7)'
    """

    @wraps(make)
    def make_named(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Game:
        game = make(*arguments, **keywords)
        call = inspect.signature(make).bind(*arguments, **keywords)
        texts = []
        for argument, value in call.arguments.items():
            default = call.signature.parameters[argument].default
            if default is inspect.Parameter.empty:
                texts += map(str, np.ravel(value))  # an integer, or a tuple of them
            elif value != default:
                texts.append(f"{argument}={value}")
        name = make.__name__.replace("_", "-")
        if texts:
            name += f"({', '.join(texts)})"
        game.__dict__["name"] = name  # safe: nothing else refers to this immutable object yet
        return game

    return register("game")(make_named)
