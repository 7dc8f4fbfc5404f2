r"""Normal-form games of $N$ players: a frozen payoff tensor $u[n, a_1, \dots, a_N]$, with names for people to read."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax._checks import pytree
from regrax._tables import latex, to_csv, to_html, to_pandas


class Known(NamedTuple):
    """An equilibrium as the joint actions it plays, each with its probability."""

    concept: Literal["nash", "ce", "cce"]
    about: str
    weights: tuple[tuple[tuple[int, ...], float], ...]

    def joint(self, sizes: Sequence[int]) -> Float[np.ndarray, "*d"]:
        """The distribution over the joint actions of a game of these sizes.

        >>> pure("both defect", 1, 1).joint((2, 2)).tolist()
        [[0.0, 0.0], [0.0, 1.0]]
        """
        joint = np.zeros(tuple(sizes))
        for actions, weight in self.weights:
            joint[actions] += weight
        return joint


def pure(about: str, *actions: int) -> Known:
    """A Nash equilibrium in which every player plays one action.

    >>> pure("both defect", 1, 1).weights
    (((1, 1), 1.0),)
    """
    return Known("nash", about, ((actions, 1.0),))


def mixed(about: str, *strategies: Sequence[float]) -> Known:
    """A Nash equilibrium in mixed strategies, one for each player.

    >>> mixed("a coin", [0.5, 0.5], [0, 1]).weights
    (((0, 1), 0.5), ((1, 1), 0.5))
    """
    supports = [[(a, float(p)) for a, p in enumerate(side) if p > 0] for side in strategies]
    weights = tuple(
        (tuple(a for a, _ in chosen), prod(p for _, p in chosen))
        for chosen in itertools.product(*supports)
    )
    return Known("nash", about, weights)


def correlated(
    about: str,
    weights: Mapping[tuple[int, ...], float],
    concept: Literal["ce", "cce"] = "ce",
) -> Known:
    """A (coarse) correlated equilibrium from the probabilities of its joint actions.

    >>> correlated("traffic light", {(0, 1): 0.5, (1, 0): 0.5}).concept
    'ce'
    """
    return Known(concept, about, tuple((tuple(a), float(p)) for a, p in weights.items()))


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
        raise ValueError(f"players must name {len(sizes)} players, got {len(labels.players)}")
    if counts and counts != sizes:
        raise ValueError(f"actions must name {sizes} actions per player, got {counts}")


def _listed(what: str, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what} must be a list, got {value!r}")
    return value


def _check_text(what: str, value: Any) -> None:
    for label in _listed(what, value):
        if not isinstance(label, str):
            raise ValueError(f"{what} must be text, got {label!r}")
    label, count = Counter(value).most_common(1)[0] if value else ("", 0)
    if count > 1:
        raise ValueError(f"{what} must have different names, got {label!r} {count} times")


Payoffs = Float[Any, "N *d"]
"""Arrays of numpy or of jax."""
MAX_PLAYERS = 26
"""A letter for each in `einsum`."""
MAX_PAYOFFS = 50_000_000
"""That a spec or a file may ask for: 400 megabytes."""


@pytree("payoffs")
class Game:
    r"""A finite game: player $n$ is paid $u[n, a_1, \dots, a_N]$ when the players choose $a_1, \dots, a_N$.

    Payoffs given as lists or NumPy arrays are kept in double precision and never change; computations follow jax's
    default float. Fractions that no double equals are rounded for computing and kept in `exact`. As a pytree a game
    is its payoffs alone: `jit`, `vmap` and stacking see numbers, so games of one shape share a program whatever they
    are called, and what comes out of a transformation has no labels.

    Args:
        payoffs: a tensor of shape `(N, d_1, ..., d_N)`, one table per player.
        name: how the game prints; by default its sizes, as in `game(2, 2)`.
        players: a label per player; by default `player 1`, `player 2`, ...
        actions: for each player a label per action; by default `1`, `2`, ...
        comment: a text kept with the game and written to files.
        equilibria: equilibria known from theory, shown beside computed ones.

    >>> game = Game([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], name="pennies")
    >>> game, game.sizes
    (pennies, (2, 2))
    """

    payoffs: Payoffs
    labels: Labels = Labels()

    def __init__(
        self,
        payoffs: Any,
        *,
        name: str = "",
        players: Any = None,
        actions: Any = None,
        comment: str = "",
        equilibria: tuple[Known, ...] = (),
    ) -> None:
        payoffs, exact = (payoffs, None) if checks.is_jax(payoffs) else _frozen_and_exact(payoffs)
        _check_payoffs(payoffs)
        given = Labels(name, players or (), actions or (), comment, exact, tuple(equilibria))
        check_labels(given, payoffs.shape[1:])
        labels = given._replace(
            players=tuple(given.players), actions=tuple(map(tuple, given.actions))
        )
        self.__dict__.update(payoffs=payoffs, labels=labels)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a game never changes: {name} cannot be set")

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many actions each player has."""
        return tuple(self.payoffs.shape[1:])

    @property
    def name(self) -> str:
        """The name it was given, or its sizes."""
        return self.labels.name or f"game({', '.join(map(str, self.sizes))})"

    @property
    def players(self) -> tuple[str, ...]:
        """A label per player."""
        return self.labels.players or tuple(f"player {n + 1}" for n in range(len(self.sizes)))

    @property
    def actions(self) -> tuple[tuple[str, ...], ...]:
        """For each player a label per action."""
        return self.labels.actions or tuple(
            tuple(str(a + 1) for a in range(size)) for size in self.sizes
        )

    @property
    def exact(self) -> tuple[Fraction, ...] | None:
        """The payoffs as fractions, flattened, if some are not doubles."""
        return self.labels.exact

    @property
    def comment(self) -> str:
        """A text kept with the game."""
        return self.labels.comment

    @property
    def equilibria(self) -> tuple[Known, ...]:
        """Equilibria known from theory."""
        return self.labels.equilibria

    @cached_property
    def loss_tables(self) -> tuple[Float[Any, "d others"], ...]:
        """The losses of each player: its own action by the joint action of the others."""
        payoffs = checks.as_floats(self.payoffs)
        return tuple(-unfolded(payoffs[n], n) for n in range(len(self.sizes)))

    def own(self, player: int) -> Float[Any, "d others"]:
        """The payoffs of one player as a matrix: its own action by the joint action of the others."""
        return unfolded(checks.as_floats(self.payoffs)[player], player)

    def columns(self) -> dict[str, list[Any]]:
        """A row per joint action: a column per player, and the payoffs of each.

        >>> Game([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]).columns()["pays player 1"]
        [1.0, 0.0, 0.0, 1.0]
        """
        names = self.players
        labels = zip(*itertools.product(*self.actions), strict=True)
        pays = np.asarray(self.payoffs, float).reshape(len(names), -1).tolist()
        actions = dict(zip(names, map(list, labels), strict=True))
        return actions | {f"pays {name}": paid for name, paid in zip(names, pays, strict=True)}

    to_pandas, to_csv, _repr_html_ = to_pandas, to_csv, to_html

    def to_latex(self, digits: int = 4) -> str:
        """The payoffs as a LaTeX tabular: of two players the bimatrix, of others a row per joint action."""
        return latex(_bimatrix(self, digits) if len(self.sizes) == 2 else self.columns(), digits)

    def save(self, path: str | Path) -> None:
        """Write the game to a `.nfg`, `.json` or `.npz` file, which `regrax.games.load` reads."""
        from regrax.games.formats import save

        save(self, path)

    def __repr__(self) -> str:
        return self.name


def _bimatrix(game: Game, digits: int) -> dict[str, list[str]]:
    """The first player's actions, and a column of both payoffs for each action of the second."""
    pays = np.asarray(game.payoffs, float)
    cells = [
        [f"{a:.{digits}g}, {b:.{digits}g}" for a, b in column] for column in pays.transpose(2, 1, 0)
    ]
    columns = zip(game.actions[1], cells, strict=True)
    return {"": list(game.actions[0]), **dict(columns)}


def unfolded(tensor: Any, player: int) -> Any:
    """A tensor over joint actions as a matrix: the player's own action by the joint action of the others."""
    others = [n for n in range(tensor.ndim) if n != player]
    return tensor.transpose(player, *others).reshape(tensor.shape[player], -1)


def _frozen(payoffs: Any) -> Float[np.ndarray, "*any"]:
    try:
        given = np.asarray(payoffs)
        if given.dtype.kind not in "biufO":  # no complex numbers, dates or texts
            raise ValueError(f"got values of type {given.dtype}")
        array = np.array(given, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"payoffs must be a rectangular table of numbers: {error}") from None
    array.setflags(write=False)
    return array


def _frozen_and_exact(
    payoffs: Any,
) -> tuple[Float[np.ndarray, "*any"], tuple[Fraction, ...] | None]:
    """Doubles, and the fractions they round if some are not doubles; `float` of a fraction rounds correctly."""
    array = _frozen(payoffs)
    lossless = isinstance(payoffs, np.ndarray) and payoffs.dtype != object
    if not lossless and np.isfinite(array).all():
        given = np.array(payoffs, object).ravel()
        if any(isinstance(value, Fraction | int) and value != float(value) for value in given):
            return array, tuple(_fraction(value) for value in given)
    return array, None


def exact_payoffs(game: Game) -> np.ndarray:
    """The payoffs as fractions: those given where they still round to the payoffs, else what the doubles are."""
    payoffs = np.asarray(game.payoffs, float)
    given = game.exact or (None,) * payoffs.size
    values = [
        Fraction(double) if kept is None or float(kept) != double else kept
        for kept, double in zip(given, payoffs.ravel().tolist(), strict=True)
    ]
    return np.array(values, object).reshape(payoffs.shape)


def _fraction(value: Any) -> Fraction:
    return Fraction(value if isinstance(value, Fraction | int) else float(value))


def _check_payoffs(payoffs: Any) -> None:
    players = payoffs.shape[0] if payoffs.ndim else 0
    fits = players >= 1 and payoffs.ndim == players + 1 and min(payoffs.shape) >= 1
    checks.shape("payoffs", payoffs, "(N, d_1, ..., d_N), one tensor a player", fits)
    checks.finite("payoffs", payoffs)


def zero_sum(row: Any, **labels: Any) -> Game:
    r"""Two players, $u_2 = -u_1$; `row` is the first player's payoff matrix.

    >>> zero_sum([[1, -1], [-1, 1]]).payoffs[1].tolist()
    [[-1.0, 1.0], [1.0, -1.0]]
    """
    row = _matrix("row", row)
    return Game(np.stack([row, -row]), **labels)


def bimatrix(row: Any, column: Any, **labels: Any) -> Game:
    """Two players with a payoff matrix each, both indexed by (row action, column action).

    >>> bimatrix([[3, 0], [5, 1]], [[3, 5], [0, 1]]).sizes
    (2, 2)
    """
    row, column = _matrix("row", row), _matrix("column", column)
    checks.shape("column", column, f"{row.shape}, the shape of row", row.shape == column.shape)
    return Game(np.stack([row, column]), **labels)


def symmetric(row: Any, **labels: Any) -> Game:
    r"""Two players in the same position, $u_2 = u_1^\top$; `row` pays one's own action (row) against the other's.

    >>> symmetric([[3, 0], [5, 1]]).payoffs[1].tolist()
    [[3.0, 5.0], [0.0, 1.0]]
    """
    row = _matrix("row", row)
    checks.shape("row", row, "(d, d)", row.shape[0] == row.shape[1])
    return Game(np.stack([row, row.T]), **labels)


def _matrix(name: str, value: Any) -> Any:
    """A matrix of doubles; one that holds fractions is left as it is, for `Game` to keep them."""
    matrix = _frozen(value)
    checks.shape(name, matrix, "(rows, columns)", matrix.ndim == 2)
    given = np.array(value)
    return given if given.dtype == object else matrix
