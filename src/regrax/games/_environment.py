r"""A game as an environment: the losses of what is played, and what is kept of rounds: sums or rows."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from regrax import _checks as checks, regret
from regrax._tables import sketch, to_csv, to_html, to_latex, to_pandas
from regrax.games._game import Game, unfolded
from regrax.learners import Round, Seats, Sum, Vectors, fold_rounds
from regrax.simplex import products

Tables = tuple[Any, ...]
"""A table of losses per player, its own action by the joint action of the others; many games on a last axis."""


def loss_tables(game: Game) -> tuple[Any, ...]:
    """The losses of each player, its own action by the joint action of the others."""
    payoffs = checks.as_floats(game.payoffs)
    return tuple(-unfolded(payoffs[n], n) for n in range(len(game.sizes)))


def game_losses(tables: Tables, shown: Vectors, _: None) -> Vectors:
    r"""$\ell_n = -u_n(\cdot, \pi_{-n})$ for every player $n$; many games are on the last axis."""
    seats = range(len(tables))
    return tuple(_product(tables[n], [shown[m] for m in seats if m != n]) for n in seats)


def _product(table: Any, others: Sequence[Float[Array, "_ *n"]]) -> Array:
    """A player's losses against the policies of the others, in the form that XLA is fastest at."""
    if table.ndim == 2:
        return table @ outer(others)
    return products(table, outer(others) if others else jnp.ones((1, 1)))


def outer(vectors: Sequence[Any]) -> Any:
    """The product distribution of several players, flattened with the first player slowest."""
    first = jnp.ones(1) if not vectors else vectors[0]
    return reduce(lambda x, y: (x[:, None] * y[None]).reshape(-1, *y.shape[1:]), vectors[1:], first)


ROUNDS_PER_SUM = 240
"""Rounds whose joint play is held and summed at once, a divisor of the engine's segments."""
MIN_ROUNDS_PER_SUM = 32
"""If no such divisor of the rounds is larger, rounds of zeros are added."""
SUMS_AT_ONCE = 16
"""Such sums that are held at once outside of `jit`."""


def joint_play(played: Sequence[Any]) -> Float[Array, "*d"] | Float[np.ndarray, "*d"]:
    r"""$\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$, a distribution over joint actions.

    >>> import numpy as np
    >>> joint_play([np.eye(2), np.eye(2)]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    rounds = len(played[0])
    if checks.are_concrete(played):
        rows = [np.asarray(part) for part in played]
        chunks = range(0, rounds, SUMS_AT_ONCE * ROUNDS_PER_SUM)
        sums = sum(_double_sum([p[c : c + chunks.step] for p in rows]) for c in chunks)
        return np.asarray(sums / rounds, rows[0].dtype)
    return _traced_sum(played) / rounds


def joint_sum(rows: Sequence[Any]) -> Any:
    """The sum over rounds of the product of what the players play; several sums if there are axes before."""
    *before, _, _ = rows[0].shape
    if len(rows) == 1:
        return rows[0].sum(-2)
    products = reduce(_products, rows[:-1]).swapaxes(-1, -2)
    return (products @ rows[-1]).reshape(*before, *(part.shape[-1] for part in rows))


def _products(x: Any, y: Any) -> Any:
    return (x[..., None] * y[..., None, :]).reshape(*x.shape[:-1], x.shape[-1] * y.shape[-1])


def _double_sum(rows: Sequence[np.ndarray]) -> Float[np.ndarray, "*d"]:
    """Sums of `ROUNDS_PER_SUM` rounds, added in double precision."""
    count = len(rows[0]) // ROUNDS_PER_SUM
    if not count:
        return joint_sum(rows)
    rest = joint_sum([part[count * ROUNDS_PER_SUM :] for part in rows])
    parts = [
        part[: count * ROUNDS_PER_SUM].reshape(count, ROUNDS_PER_SUM, part.shape[1])
        for part in rows
    ]
    return joint_sum(parts).sum(0, dtype=float) + rest


def _traced_sum(played: Sequence[Float[Array, "T _"]]) -> Float[Array, "*d"]:
    rounds = len(played[0])
    size = max(n for n in range(1, min(ROUNDS_PER_SUM, rounds) + 1) if rounds % n == 0)
    if size < MIN_ROUNDS_PER_SUM < rounds:
        size = ROUNDS_PER_SUM
        played = [jnp.pad(rows, ((0, -rounds % size), (0, 0))) for rows in played]
    sums = joint_sum([rows.reshape(-1, size, rows.shape[1]) for rows in played])

    def add(total: Sum, part: Float[Array, "*d"]) -> tuple[Sum, None]:
        return total.add(part).settle(), None

    return lax.scan(add, Sum.zeros(*sums.shape[1:], dtype=sums.dtype), sums)[0].value


class Summary(eqx.Module):
    r"""The sums of a play, one entry per player: $M_n = \sum_t \pi_{n,t} \ell_{n,t}^\top$, mean policies, joint play.

    Attributes:
        rounds: how many were played, $T$.
        matrices: $M_n$, of shape `(d_n, d_n)`, per player.
        averages: the mean policy, of shape `(d_n,)`, per player.
        joint: joint play $\mu_T$, of shape `(d_1, ..., d_N)`.

    >>> from regrax.games import matching_pennies, play
    >>> from regrax.learners import Uniform
    >>> found = play(matching_pennies(), Uniform(), 1000, keep="summary")
    >>> found.payoffs.tolist(), found.regrets("swap").tolist()
    ([0.0, 0.0], [0.0, 0.0])
    """

    rounds: int = eqx.field(static=True)
    matrices: tuple[Float[Any, "_ _"], ...]
    averages: tuple[Float[Any, "_"], ...]
    joint: Float[Any, "*d"]

    @property
    def payoffs(self) -> Float[np.ndarray, "N"]:
        r"""$-\mathrm{tr} M_n / T$: what each player was paid per round."""
        return np.array([-np.trace(matrix) for matrix in self.matrices]) / self.rounds

    def regrets(self, kind: str = "external") -> Float[np.ndarray, "N"]:
        """Every player's regret, `"external"`, `"internal"` or `"swap"`."""
        of = {
            "external": regret.external_of,
            "internal": regret.internal_of,
            "swap": regret.swap_of,
        }
        if kind not in of:
            raise ValueError(f"kind must be one of {', '.join(of)}, got {kind!r}")
        return np.array([of[kind](regret.gains_of(matrix)) for matrix in self.matrices])


Sums = tuple[tuple, tuple, Any]


def sums_of(rows: Round, weights: Any = None) -> Sums:
    """The matrices, the sums of what was played and of its products; rounds of weight 0 do not count."""
    played = rows.played
    if weights is not None:
        played = tuple(part * weights[:, None] for part in played)
    matrices = tuple(p.T @ l for p, l in zip(played, rows.losses, strict=True))
    return matrices, tuple(p.sum(0) for p in played), joint_sum(played)


def summary_of(sums: Sums, rounds: int) -> Summary:
    """The summary that these sums over all rounds are."""
    matrices, totals, joint = sums
    averages = tuple(total / rounds for total in totals)
    return Summary(rounds, matrices, averages, joint / rounds)


def fold_sums(
    play: Callable[[Seats, Int[Any, ""]], tuple[Seats, Round]], seats: Seats, count: Any, size: int
) -> tuple[Seats, Sums]:
    """The sums of `count` rounds, played and added `size` at a time."""

    def fold(sums: Any, here: Any, rows: Round) -> Any:
        weights = (here + jnp.arange(size) < count).astype(rows.policies[0].dtype)
        added = sums_of(rows, weights)
        return jax.tree.map(lambda x, y: x.add(y).settle(), sums, added, is_leaf=_is_sum)

    shapes = jax.eval_shape(lambda seats: sums_of(play(seats, jnp.zeros((), int))[1]), seats)
    empty = jax.tree.map(lambda x: Sum.zeros(*x.shape, dtype=x.dtype), shapes)
    seats, kept = fold_rounds(play, seats, count, size, fold, empty)
    return seats, jax.tree.map(lambda x: x.value, kept, is_leaf=_is_sum)


def _is_sum(node: Any) -> bool:
    return isinstance(node, Sum)


def add_rows(rows: Round) -> Sums:
    """The sums of rows that were kept, in double precision, some rounds at a time."""
    total: Any = None
    for first in range(0, len(rows.policies[0]), ROUNDS_PER_SUM):
        part = jax.tree.map(lambda x: np.asarray(x[first : first + ROUNDS_PER_SUM]), rows)  # noqa: B023
        doubles = jax.tree.map(lambda x: x if x.dtype.kind == "i" else x.astype(float), part)
        added = sums_of(doubles)
        total = added if total is None else jax.tree.map(np.add, total, added)
    return total


Rows = Float[Array, "T _"] | Float[np.ndarray, "T _"]


class Trajectory(NamedTuple):
    r"""What was played and suffered, one entry per player, and the joint play $\mu_T$ it averages to.

    `played` is what counts: the policies, or, when actions were sampled, the actions as one-hot rows. Regret of
    `played` on `losses` divided by `T` is the gap of `joint`, player by player.

    Attributes:
        policies: of shape `(T, d_n)`, per player.
        losses: of every action, of shape `(T, d_n)`, per player.
        actions: drawn, of shape `(T,)`, per player; None when losses are expected.
        joint: joint play $\mu_T$, of shape `(d_1, ..., d_N)`.
    """

    policies: tuple[Rows, ...]
    losses: tuple[Rows, ...]
    actions: tuple[Int[Array, "T"] | Int[np.ndarray, "T"], ...] | None
    joint: Float[Array, "*d"] | Float[np.ndarray, "*d"]

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.policies[0].shape[0]

    @property
    def played(self) -> tuple[Rows, ...]:
        """The rows that joint play averages: policies, or sampled actions as one-hot rows."""
        return self._rows.played

    @property
    def _rows(self) -> Round:
        return Round(self.policies, self.losses, self.actions)

    def columns(self) -> dict[str, Any]:
        """A row per round (from 1), player and action (their indices): probability, loss, and whether it was drawn.

        >>> from regrax.games import play
        >>> play("matching-pennies", "hedge(0.1)", 2).columns()["probability"].tolist()
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
        """
        sizes = [rows.shape[1] for rows in self.policies]
        players = np.repeat(np.arange(len(sizes)), sizes)
        actions = np.concatenate([np.arange(size) for size in sizes])
        table = {
            "round": np.repeat(np.arange(1, self.rounds + 1), sum(sizes)),
            "player": np.tile(players, self.rounds),
            "action": np.tile(actions, self.rounds),
            "probability": np.hstack(self.policies).ravel(),
            "loss": np.hstack(self.losses).ravel(),
        }
        drawn = {} if self.actions is None else {"drawn": np.hstack(self.played).ravel() > 0}
        return {**table, **drawn}

    to_pandas, to_csv, to_latex = to_pandas, to_csv, to_latex

    def _repr_html_(self) -> str:
        return "".join(map(sketch, self.policies)) + to_html(self)

    def summary(self) -> Summary:
        """Payoffs, regrets and averages of the play, in double precision."""
        return summary_of(add_rows(self._rows), self.rounds)
