r"""The sums that losses on a grid can reach, which are the states of the worst-case recursion.

After $t$ rounds of losses in $\{0, 1/m, \dots, 1\}^d$ every sum is a multiple of $1/m$, at most $t$; this module counts
in units of $1/m$. If a policy ignores common shifts of the sums and is equivariant to relabelling actions, a state is
the sorted sums minus their minimum: $\binom{T + d - 1}{d - 1}$ states for binary losses. Otherwise every vector of sums
is a state. The rank of a state is a sum over its coordinates: $\sum_j \binom{x_j + j - 2}{j - 1}$ for
$x_1 = 0 \le x_2 \le \dots \le x_d$, which orders states by their largest entry, so that the states of the first $t$
rounds are a prefix. If every vector of sums is a state, its rank is the number whose digits are the sums.
"""

import math
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from regrax import _checks as checks


class Lattice(NamedTuple):
    """The states that losses can reach."""

    symmetric: bool  # states are sorted sums minus their minimum
    levels: int  # units per 1
    losses: Int[ndarray, "m d"]
    table: Int[ndarray, "d _"]  # contribution of each coordinate's value to a state's rank
    states: Int[ndarray, "n d"]  # by rank
    counts: Int[ndarray, "rounds"]  # number of states that can be reached before each round

    def rank(self, sums: Int[ndarray, "*batch d"]) -> Any:
        """Return the ranks of the states with these sums."""
        if self.symmetric:
            sums = np.sort(sums - sums.min(-1, keepdims=True))
        return self.table[np.arange(sums.shape[-1]), sums].sum(-1)

    def solve(self, best: Callable[[int, ndarray], ndarray]) -> Any:
        r"""Solve $W_T(S) = -\min_j S_j$, $W_t(S) = \mathrm{best}(t, \{W_{t+1}(S + \ell)\}_\ell)$, for $W_0(0)$.

        Values are in units of $1/m$. They are exact if `best` is exact, and can be floats, fractions or balls.

        Args:
            best: function of the number of rounds played, and of the later values for each state and each loss.
        """
        before = self.states[: self.counts[-1]]
        top = self.table.shape[1] - 1
        after = np.empty((len(before), len(self.losses)), np.int32)
        shift = np.zeros(after.shape, np.int32)
        for column, loss in enumerate(self.losses):
            sums = np.minimum(before + loss, top)  # sums above the top are never reached
            after[:, column] = self.rank(sums)
            if self.symmetric:
                shift[:, column] = sums.min(1)
        value = -self.states.min(1)
        for played in reversed(range(len(self.counts))):
            count = self.counts[played]
            value = best(played, value[after[:count]] - shift[:count])
        return value[0]


def build_lattice(losses: Int[ndarray, "m d"], rounds: int, *, symmetric: bool = True) -> Lattice:
    """Build the lattice, or raise before allocating if it does not fit in memory."""
    levels = int(losses.max())
    top = rounds * levels
    actions = losses.shape[1]
    if symmetric:  # a loss and the same loss plus a constant lead to the same state
        losses = np.unique(losses - losses.min(1, keepdims=True), axis=0)
        count = math.comb(top + actions - 1, actions - 1)
    else:
        count = (top + 1) ** actions
    needed = float(count) * (32 * actions + 36 * len(losses) + 2 * rounds)
    checks.fits_in_memory(f"{count:,} sums of losses", needed, "use fewer rounds or actions")
    values = np.arange(top + 1)
    if symmetric:
        table = [0 * values, values]
        while len(table) < actions:
            table.append(np.cumsum(table[-1]))
        gaps = combinations_with_replacement(range(top + 1), actions - 1)
        states = np.array([(0, *gap) for gap in gaps])
        states = states[np.lexsort(states.T)]  # by the largest entry first
        counts = np.searchsorted(states[:, -1], levels * np.arange(rounds), "right")
    else:
        table = [values * (top + 1) ** power for power in reversed(range(actions))]
        states = np.indices((top + 1,) * actions).reshape(actions, -1).T
        counts = np.full(rounds, count)
    return Lattice(symmetric, levels, losses, np.array(table), states, counts)


def binary_lattice(actions: int, rounds: int, limit: int) -> Lattice:
    """Build the lattice of binary losses, for at most `limit` actions."""
    checks.at_least("actions", actions, 2, limit)
    checks.at_least("rounds", rounds, 1)
    return build_lattice(grid_losses(actions), rounds)


def grid_losses(actions: int, levels: int = 1) -> Int[ndarray, "m d"]:
    r"""List all of $\{0, 1, \dots, m\}^d$."""
    return np.array(list(product(range(levels + 1), repeat=actions)))
