r"""The sums that binary losses reach, as a lattice: the states of a worst case.

After $t$ rounds of losses in $\{0, 1/m, \dots, 1\}^d$ every sum is a multiple of $1/m$, at most $t$. Everything here
counts in units of $1/m$. Two symmetries merge states. If adding a constant to all sums changes no policy, a state is
the sums less their minimum. If relabelling actions relabels the policy, the sums are sorted as well, and
$\binom{T + d - 1}{d - 1}$ states are left for binary losses. States are ordered by their largest entry, so those of the
first $t$ rounds are a prefix.
"""

import math
from itertools import combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from regrax import _checks as checks


class Lattice(NamedTuple):
    """States, losses, and where each loss leads."""

    shifts: bool  # sums are stored less their minimum
    relabels: bool  # and sorted
    levels: int  # units per 1
    losses: Int[ndarray, "m d"]
    states: Int[ndarray, "n d"]
    counts: Int[ndarray, "rounds+1"]  # of states after 0, 1, ... rounds
    weights: Int[ndarray, "d"]  # that make one number of a state, its key
    keys: Int[ndarray, "n"]  # sorted
    ranks: Int[ndarray, "n"]  # index of the state with each key

    def find(self, sums: Int[ndarray, "k d"]) -> tuple[Int[ndarray, "k"], Int[ndarray, "k"]]:
        """The index of each row's state, and the shift that was taken off."""
        shift = np.zeros(len(sums), int)
        if self.shifts:
            shift = sums.min(1)
        if self.relabels:
            sums = np.sort(sums, 1)
        keys = (sums - shift[:, None]) @ self.weights
        return self.ranks[np.searchsorted(self.keys, keys)], shift

    def successors(self) -> tuple[Int[ndarray, "k m"], Float[ndarray, "k m"]]:
        """For each state before the last round and each loss: the next state, and minus the shift on the way."""
        before = self.states[: self.counts[-2]]
        indices = np.empty((len(before), len(self.losses)), np.int32)
        shifts = np.empty(indices.shape)
        for column, loss in enumerate(self.losses):
            indices[:, column], shifts[:, column] = self.find(before + loss)
        return indices, -shifts / self.levels


def lattice(
    losses: Int[ndarray, "m d"], rounds: int, *, shifts: bool = True, relabels: bool = True
) -> Lattice:
    """Build the lattice; raise before allocating if it does not fit in memory."""
    levels = int(losses.max())
    top = rounds * levels
    actions = losses.shape[1]
    if shifts:  # a loss and the same loss plus a constant lead to the same state
        losses = np.unique(losses - losses.min(1, keepdims=True), axis=0)
    shape = (top + 1,) * actions
    if shifts:
        shape = (2 * top + 1,) * (actions - 1)
    count = math.prod(shape)
    if relabels:
        count = math.comb(top + actions - 1, actions - 1)
    needed = float(count) * (24 * actions + 36 * len(losses) + rounds)  # with each round's choice
    checks.fits_in_memory(f"{count:,} sums of losses", needed, "have fewer rounds or actions")
    if relabels:
        gaps = combinations_with_replacement(range(top + 1), actions - 1)
        states = np.array([(0, *gap) for gap in gaps])
    else:
        states = np.indices(shape).reshape(len(shape), -1).T
        if shifts:
            states = np.pad(states, ((0, 0), (1, 0)), constant_values=top)
            states = states - states.min(1, keepdims=True)
            states = states[states.max(1) <= top]
    states = states[np.argsort(states.max(1), kind="stable")]
    counts = np.searchsorted(states.max(1), levels * np.arange(rounds + 1), "right")
    weights = (top + 1) ** np.arange(actions)
    ranks = np.argsort(states @ weights)
    keys = (states @ weights)[ranks]
    return Lattice(shifts, relabels, levels, losses, states, counts, weights, keys, ranks)


def grid_losses(actions: int, levels: int = 1) -> Int[ndarray, "m d"]:
    r"""All of $\{0, 1, \dots, m\}^d$."""
    return np.array(list(product(range(levels + 1), repeat=actions)))
