"""Equilibria that theory gives: kept with a game as data, shown beside its payoffs, and checked by tests."""

import itertools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float


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
