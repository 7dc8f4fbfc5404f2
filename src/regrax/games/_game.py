r"""Normal-form games of $N$ players: a frozen payoff tensor $u[n, a_1, \dots, a_N]$, with names for people to read."""

from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.games._known_equilibria import Known

Payoffs = Float[Array, "N *d"] | Float[np.ndarray, "N *d"]


class Game(eqx.Module):
    r"""A finite game: player $n$ is paid $u[n, a_1, \dots, a_N]$ when the players choose $a_1, \dots, a_N$.

    Payoffs given as lists or NumPy arrays are kept in double precision and never change; computations follow jax's
    default float. Fractions that no double equals are rounded for computing and kept in `exact`. `name` is how the game
    prints; `players` and `actions` are labels, `comment` a text; `equilibria` are those that theory knows.

    >>> game = Game([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], name="pennies")
    >>> game, game.sizes
    (pennies, (2, 2))
    """

    payoffs: Payoffs
    name: str = eqx.field(static=True)
    players: tuple[str, ...] = eqx.field(static=True)
    actions: tuple[tuple[str, ...], ...] = eqx.field(static=True)
    comment: str = eqx.field(static=True)
    exact: "Exact | None" = eqx.field(static=True)
    equilibria: tuple[Known, ...] = eqx.field(static=True)

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
        self.payoffs, self.exact = (
            (payoffs, None) if isinstance(payoffs, jax.Array) else _frozen_and_exact(payoffs)
        )
        _check_payoffs(self.payoffs)
        self.equilibria = tuple(equilibria)
        self.comment = _names("comment", [comment])[0]
        sizes = self.payoffs.shape[1:]
        players = players or [f"player {n + 1}" for n in range(len(sizes))]
        actions = actions or [[str(a + 1) for a in range(d)] for d in sizes]
        self.players = _names("players", players)
        self.actions = tuple(
            _names("actions of a player", labels) for labels in _list("actions", actions)
        )
        self.name = _names("name", [name])[0] or _default_name(sizes)
        if len(self.players) != len(sizes):
            raise ValueError(
                f"players must name {len(sizes)} players, but names {len(self.players)}"
            )
        if tuple(map(len, self.actions)) != sizes:
            counts = tuple(map(len, self.actions))
            raise ValueError(f"actions must name {sizes} actions per player, but names {counts}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many actions each player has."""
        return tuple(self.payoffs.shape[1:])

    def own(self, player: int) -> Float[Array, "d others"]:
        """The payoffs of one player as a matrix: its own action by the joint action of the others."""
        tensor = jnp.moveaxis(jnp.asarray(self.payoffs[player], float), player, 0)
        return tensor.reshape(tensor.shape[0], -1)

    @property
    def title(self) -> str:
        """The name it was given, empty if it was given none."""
        return "" if self.name == _default_name(self.sizes) else self.name

    def __repr__(self) -> str:
        return self.name


class Exact:
    """Payoffs as fractions, flattened like the payoff tensor; hashed once, as jax asks for it at every call."""

    def __init__(self, values: tuple[Fraction, ...]) -> None:
        self.values = values
        self._hash = hash(values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Exact) and self.values == other.values)


def _default_name(sizes: tuple[int, ...]) -> str:
    return f"game({', '.join(map(str, sizes))})"


def _list(what: str, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what} must be a list, but is {value!r}")
    return value


def _names(what: str, value: Any) -> tuple[str, ...]:
    for label in _list(what, value):
        if not isinstance(label, str):
            raise ValueError(f"{what} must be text, but one is {label!r}")
    return tuple(value)


def _frozen(payoffs: Any) -> Float[np.ndarray, "*any"]:
    try:
        array = np.array(payoffs, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"payoffs must be a rectangular table of numbers: {error}") from None
    array.setflags(write=False)
    return array


def _frozen_and_exact(payoffs: Any) -> tuple[Float[np.ndarray, "*any"], Exact | None]:
    """Doubles, and the fractions they round if some are not doubles; `float` of a fraction rounds correctly."""
    array = _frozen(payoffs)
    if not isinstance(payoffs, np.ndarray) or payoffs.dtype == object:
        given = np.array(payoffs, object).ravel()
        if any(isinstance(value, Fraction) and value != float(value) for value in given):
            return array, Exact(tuple(_fraction(value) for value in given))
    return array, None


def _fraction(value: Any) -> Fraction:
    return Fraction(value if isinstance(value, Fraction | int) else float(value))


def _check_payoffs(payoffs: Payoffs) -> None:
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
