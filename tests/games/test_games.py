"""Play: hand-checkable losses, joint play, sampling, several players and `vmap`."""

import jax
import numpy as np
import pytest

from regrax import games
from regrax.games import Game, joint_play, play
from regrax.learners import FollowTheLeader, Hedge, Uniform

ROUNDING = 1e-12


@pytest.mark.parametrize("rounds", [1, 7, 256, 700])
def test_joint_play_is_the_mean_of_outer_products(x64, rounds):
    rng = np.random.default_rng(0)
    rows = [rng.dirichlet(np.ones(d), rounds) for d in (2, 3, 4)]
    expected = np.einsum("ta,tb,tc->abc", *rows) / rounds
    np.testing.assert_allclose(joint_play(rows), expected, atol=ROUNDING)


def test_three_player_losses_by_hand(x64):
    game = games.random(2, 3, 4, seed=8)
    path = play(game, Hedge(0.3), 5)
    p = [np.asarray(rows[4]) for rows in path.policies]
    for player, tables in enumerate(("abc,b,c->a", "abc,a,c->b", "abc,a,b->c")):
        others = [p[n] for n in range(3) if n != player]
        expected = -np.einsum(tables, game.payoffs[player], *others)
        np.testing.assert_allclose(path.losses[player][4], expected, atol=ROUNDING)
    assert path.actions is None
    assert path.rounds == 5


def test_sampled_play_follows_the_policies_and_the_seed(x64):
    game, rounds = games.matching_pennies(), 4000
    first, again, other = (play(game, Uniform(), rounds, key=jax.random.key(s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.actions[0], again.actions[0])
    assert not np.array_equal(first.actions[0], other.actions[0])
    np.testing.assert_allclose(first.joint, 0.25, atol=5 * np.sqrt(0.25 * 0.75 / rounds))
    one, two = (np.asarray(a) for a in first.actions)
    np.testing.assert_allclose(first.losses[0][np.arange(rounds), one], np.where(one == two, -1, 1))


def test_an_action_of_zero_weight_is_never_drawn(x64):
    game = games.zero_sum([[1.0, 0.0], [0.0, 0.0]])
    path = play(game, FollowTheLeader(), 200, key=jax.random.key(0))
    drawn = np.take_along_axis(
        np.asarray(path.policies[0]), np.asarray(path.actions[0])[:, None], 1
    )
    assert drawn.min() > 0


@pytest.mark.slow
def test_play_is_a_vmap_over_seeds_games_and_learners(x64):
    game = games.weighted_rps()
    keys = jax.random.split(jax.random.key(0), 3)
    seeds = jax.jit(jax.vmap(lambda k: play(game, Hedge(0.3), 10, key=k).joint))(keys)
    np.testing.assert_allclose(
        seeds[1], play(game, Hedge(0.3), 10, key=keys[1]).joint, atol=ROUNDING
    )
    steps = np.array([0.1, 0.5])
    swept = jax.jit(jax.vmap(lambda k: play(game, [Hedge(k), Uniform()], 10).joint))(steps)
    np.testing.assert_allclose(
        swept[1], play(game, [Hedge(0.5), Uniform()], 10).joint, atol=ROUNDING
    )
    payoffs = np.stack([games.random(3, 2, seed=s).payoffs for s in range(3)])
    many = jax.jit(jax.vmap(lambda u: play(Game(u), Hedge(0.3), 10).joint))(payoffs)
    np.testing.assert_allclose(
        many[2], play(games.random(3, 2, seed=2), Hedge(0.3), 10).joint, atol=ROUNDING
    )


def test_a_single_player_game_is_a_decision_problem(x64):
    path = play(Game([[1.0, 2.0, 5.0]]), Hedge(1.0), 50)
    assert path.joint.shape == (3,)
    assert float(path.joint[2]) > 0.9
