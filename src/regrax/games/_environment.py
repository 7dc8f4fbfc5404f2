"""A game as an environment: from what every seat plays to what every seat loses."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.games._game import Game, unfolded
from regrax.learners import Vectors
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
