"""Gaps against brute force over every deviation of every player."""

import itertools
from functools import reduce

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.strategies import distributions, numbers

from regrax import games

ROUNDING = 1e-10  # of payoffs up to 100


def by_enumeration(joint, payoffs, player):
    """The gaps of one player straight from their definitions, over all maps of its actions."""
    marginals = [
        joint.sum(tuple(m for m in range(joint.ndim) if m != n)) for n in range(joint.ndim)
    ]
    product = reduce(np.multiply.outer, marginals)
    actions = range(joint.shape[player])

    def gain(distribution, sigma):
        return float((distribution * (np.take(payoffs, sigma, axis=player) - payoffs)).sum())

    constant = [(j,) * len(actions) for j in actions]
    single = [tuple(j if i == a else i for i in actions) for a in actions for j in actions]
    return {
        "nash_gap": max(gain(product, sigma) for sigma in constant),
        "cce_gap": max(gain(joint, sigma) for sigma in constant),
        "ce_gap": max(gain(joint, sigma) for sigma in single),
        "swap_gap": max(
            gain(joint, sigma) for sigma in itertools.product(actions, repeat=len(actions))
        ),
    }


@pytest.mark.parametrize("sizes", [(3, 2), (2, 3, 2)])
@given(data=st.data())
def test_gaps_equal_brute_force_over_deviations(x64, sizes, data):
    players, cells = len(sizes), int(np.prod(sizes))
    payoffs = data.draw(numbers(players, *sizes))
    joint = data.draw(distributions(cells)).reshape(sizes)
    game, played = games.Game(payoffs), jnp.asarray(joint)
    each = [by_enumeration(joint, payoffs[n], n) for n in range(players)]
    together = games.joint_gaps(played, game)
    for name, largest in together.items():
        expected = [gaps[name] for gaps in each]
        found = getattr(games, name)(played, game, "none")
        np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING)
        assert float(largest) == pytest.approx(max(expected), abs=ROUNDING)
