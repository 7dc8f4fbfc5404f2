r"""A game as an environment: the losses of what is played, and what is kept of rounds: joint play, sums or rows."""

from collections.abc import Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks, _fast_paths as fast_paths, regret
from regrax._tables import sketch, to_csv, to_html, to_latex, to_pandas
from regrax.games._game import Game, unfolded

Tables = tuple[Any, ...]
"""A table of losses per player, its own action by the joint action of the others; many games on a last axis.

Of a large zero-sum game, the payoffs of the first player and None: one table to read in every round instead of two."""


def loss_tables(game: Game) -> Tables:
    """The losses of each player, its own action by the joint action of the others."""
    payoffs = checks.as_floats(game.payoffs)
    if _is_mirrored(payoffs):
        return payoffs[0], None
    return _tables(payoffs)


def _tables(payoffs: Any) -> Tables:
    return tuple(-unfolded(own, n) for n, own in enumerate(payoffs))


def _is_mirrored(payoffs: Any) -> bool:
    large = len(payoffs) == 2 and payoffs[0].size >= fast_paths.MIN_MIRRORED_ENTRIES
    return large and checks.is_concrete(payoffs) and not np.any(payoffs[0] + payoffs[1])


def sizes_of(tables: Tables) -> tuple[int, ...]:
    """How many actions each player has."""
    return tuple(tables[0].shape[1] if table is None else len(table) for table in tables)


def game_losses(tables: Tables, shown: tuple[Any, ...], _: None) -> tuple[Any, ...]:
    r"""$\ell_n = -u_n(\cdot, \pi_{-n})$ for every player $n$; many games are on the last axis."""
    if tables[-1] is None:
        return -(tables[0] @ shown[1]), shown[0] @ tables[0]
    seats = range(len(tables))
    return tuple(_product(tables[n], [shown[m] for m in seats if m != n]) for n in seats)


def _product(table: Any, others: Sequence[Float[Any, "_ *n"]]) -> Any:
    """A player's losses against the policies of the others, in the form that XLA is fastest at."""
    if table.ndim == 2:
        return table @ outer(others)
    from regrax.simplex import products

    return products(table, outer(others)) if others else table[:, 0]


def outer(vectors: Sequence[Any]) -> Any:
    """The product distribution of several players, flattened with the first player slowest."""
    first = np.ones(1) if not vectors else vectors[0]
    return reduce(lambda x, y: (x[:, None] * y[None]).reshape(-1, *y.shape[1:]), vectors[1:], first)


ROUNDS_PER_SUM = 240
"""Rounds whose joint play is held and summed at once, a divisor of the engine's segments."""
SUMS_AT_ONCE = 16
"""Such sums that are held at once outside of `jit`."""
MIN_ROUNDS_PER_SUM = 32
"""If no such divisor of the rounds is larger, rounds of zeros are added. So many are summed in single precision."""
ROUNDS_PER_SINGLE_SUM = 40
"""Rounds per partial sum in single precision; six of them are added up in it: off by 7e-7 at most."""


def joint_play(played: Sequence[Any]) -> Float[Any, "*d"]:
    r"""$\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$, a distribution over joint actions.

    >>> import numpy as np
    >>> joint_play([np.eye(2), np.eye(2)]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    if len(played) == 0 or any(np.ndim(part) != 2 for part in played):
        shapes = [np.shape(part) for part in played]
        raise ValueError(f"played must be policies of shape (T, d) for each player, got {shapes}")
    if not checks.are_concrete(played):
        return _traced_sum(played) / len(played[0])
    rows = [np.asarray(part) for part in played]
    checks.at_least("rounds", len(rows[0]), 1)
    entries = np.prod([part.shape[1] for part in rows])
    if rows[0].dtype == np.float32 and entries >= fast_paths.MIN_SINGLE_ENTRIES:
        total = _single_sums(rows)
    else:
        few = len(rows[0]) <= MIN_ROUNDS_PER_SUM  # whose sum in single precision keeps its digits
        total = _double_sum(rows, None if few else float)
    return np.asarray(total / len(rows[0]), rows[0].dtype)


def _single_sums(rows: Sequence[np.ndarray]) -> Float[np.ndarray, "*d"]:
    """`joint_sum` of few rounds at a time in single precision, so that few roundings add up; their sums in double."""
    if len(rows[0]) > ROUNDS_PER_SUM:
        return reduce(partial(np.add, dtype=float), map(_single_sums, _cut(rows, ROUNDS_PER_SUM)))
    return reduce(
        lambda x, y: np.add(x, y, out=x), map(joint_sum, _cut(rows, ROUNDS_PER_SINGLE_SUM))
    )


def _cut(rows: Sequence[np.ndarray], rounds: int) -> Iterator[list[np.ndarray]]:
    """So many rounds at a time, of all players."""
    return ([part[t : t + rounds] for part in rows] for t in range(0, len(rows[0]), rounds))


def joint_sum(rows: Sequence[Any]) -> Any:
    """The sum over rounds of the product of what the players play; several sums if there are axes before."""
    *before, _, _ = rows[0].shape
    if len(rows) == 1:
        return rows[0].sum(-2)
    others = [part.swapaxes(-1, -2) for part in rows[:-1]]
    return (reduce(_products, others) @ rows[-1]).reshape(
        *before, *(part.shape[-1] for part in rows)
    )


def _products(x: Any, y: Any) -> Any:
    """Of every entry with every entry, rounds last, as they then are in memory too: numpy multiplies long rows."""
    *before, _, rounds = x.shape
    x, y = x[..., None, :].copy(), y[..., None, :, :].copy()
    return (x * y).reshape(*before, x.shape[-3] * y.shape[-2], rounds)


def _double_sum(played: Sequence[Any], precision: type | None = float) -> Float[np.ndarray, "*d"]:
    """`joint_sum` of rows that are there: products in `precision`, or that of the rows, their sums in double."""
    rows = [np.asarray(part) for part in played]
    parts = _cut(rows, SUMS_AT_ONCE * ROUNDS_PER_SUM)
    return np.asarray(sum(_sum_of_sums([np.asarray(p, precision) for p in part]) for part in parts))


def _sum_of_sums(rows: Sequence[np.ndarray]) -> Float[np.ndarray, "*d"]:
    """By `ROUNDS_PER_SUM` rounds at a time: more would start threads for small products."""
    count = len(rows[0]) // ROUNDS_PER_SUM
    rest = joint_sum([part[count * ROUNDS_PER_SUM :] for part in rows])
    if not count:
        return rest
    whole = [p[: count * ROUNDS_PER_SUM].reshape(count, -1, p.shape[1]) for p in rows]
    return joint_sum(whole).sum(0, dtype=float) + rest


def _traced_sum(played: Sequence[Any]) -> Any:
    import jax.numpy as jnp
    from jax import lax

    from regrax.learners import Sum

    rounds = len(played[0])
    size = max(n for n in range(1, min(ROUNDS_PER_SUM, rounds) + 1) if rounds % n == 0)
    if size < MIN_ROUNDS_PER_SUM < rounds:
        size = ROUNDS_PER_SUM
        played = [jnp.pad(rows, ((0, -rounds % size), (0, 0))) for rows in played]
    sums = joint_sum([rows.reshape(-1, size, rows.shape[1]) for rows in played])

    def add(total: Any, part: Any) -> tuple[Any, None]:
        return total.add(part).settle(), None

    return lax.scan(add, Sum.zeros(*sums.shape[1:], dtype=sums.dtype), sums)[0].value


class Summary(NamedTuple):
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

    rounds: int
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


def summary_of(joint: Float[np.ndarray, "*d"], game: Game, rounds: int) -> Summary:
    r"""What joint play tells, as losses follow from it: $M_n = T \sum_a \mu(a)\, e_{a_n} \ell_n(a_{-n})^\top$."""
    own = [unfolded(joint, n) for n in range(joint.ndim)]
    losses = _tables(checks.as_floats(game.payoffs))
    matrices = tuple(rounds * p @ l.T for p, l in zip(own, losses, strict=True))
    return Summary(rounds, matrices, tuple(p.sum(1) for p in own), joint)


Rows = Float[Any, "T _"]


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
    actions: tuple[Int[Any, "T"], ...] | None
    joint: Float[Any, "*d"]

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.policies[0].shape[0]

    @property
    def played(self) -> tuple[Rows, ...]:
        """The rows that joint play averages: policies, or sampled actions as one-hot rows."""
        from regrax.learners import Round

        return Round(self.policies, self.losses, self.actions).played

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
        pairs = zip(self.played, self.losses, strict=True)
        joint = _double_sum(self.played) / self.rounds
        averages = tuple(unfolded(joint, n).sum(1) for n in range(joint.ndim))
        return Summary(self.rounds, tuple(_double_sum(pair) for pair in pairs), averages, joint)
