"""Compiled programs see numbers only: the second game of a shape compiles nothing, whatever it is called."""

import jax
import jax.numpy as jnp
import pytest

import regrax as rx
from regrax.games import Game, random

pytestmark = pytest.mark.usefixtures("as_users_run_it")


welfare = jax.jit(lambda game: game.payoffs.sum())


def measures(game):
    """What a stranger asks of a game in a loop."""
    welfare(game)
    found = rx.play(game, [rx.Hedge(0.3), rx.RegretMatching()], 8)
    joint = found.joint
    gaps = [gap(joint, game) for gap in (rx.nash_gap, rx.cce_gap, rx.ce_gap, rx.swap_gap)]
    return gaps, rx.joint_gaps(joint, game), rx.running_gaps(found, game)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2)])
def test_a_loop_over_named_games_compiles_once(compilations, sizes):
    with compilations() as first:
        measures(random(*sizes))
    assert first[0] > 0
    with compilations() as count:
        for seed in range(1, 4):
            measures(random(*sizes, seed=seed))
        labelled = Game(random(*sizes).payoffs, name="mine", players=("Ann", "Bob"), comment="why")
        measures(labelled)
    assert count == [0]


def test_games_of_different_names_stack_and_lose_their_labels():
    stacked = jax.tree.map(
        lambda *tables: jnp.stack(tables), *(random(2, 2, seed=s) for s in range(3))
    )
    found = jax.vmap(lambda game: rx.play(game, rx.Hedge(0.3), 5).joint)(stacked)
    assert found.shape == (3, 2, 2)
    assert jax.tree.map(lambda x: x, random(2, 2)).name == "game(2, 2)"
