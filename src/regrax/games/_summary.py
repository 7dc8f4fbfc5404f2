r"""What is left of a play when its rows are not kept: sums in constant memory, from which regrets and gaps follow."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from regrax import regret
from regrax.games._joint_play import ROUNDS_PER_SUM, joint_sum
from regrax.learners import Round, Seats, Sum, fold_rounds


class Summary(eqx.Module):
    r"""The sums of a play, one entry per player: $M_n = \sum_t \pi_{n,t} \ell_{n,t}^\top$, mean policies, joint play.

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
            raise ValueError(f"kind must be one of {', '.join(of)}, but is {kind!r}")
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

    def fold(kept: Any, here: Any, rows: Round) -> Any:
        weights = (here + jnp.arange(size) < count).astype(rows.policies[0].dtype)
        added = sums_of(rows, weights)
        return jax.tree.map(lambda x, y: x.add(y).settle(), kept, added, is_leaf=_is_sum)

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
