"""Games and play: identities between regret and gaps, hand-checkable cases, sampling, several players."""

import itertools

import jax
import numpy as np
import pytest

from regrax import games
from regrax.games import Game, joint_play, play, running_gaps
from regrax.learners import BlumMansour, FollowTheLeader, Hedge, RegretMatching, Uniform
from regrax.regret import external_regret, internal_regret, swap_regret

ROUNDING = 1e-12
GAPS = ("nash_gap", "cce_gap", "ce_gap", "swap_gap")


def all_gaps(joint, game, reduce="max"):
    return {name: np.asarray(getattr(games, name)(joint, game, reduce)) for name in GAPS}


def brute_force(joint, game, player):
    """The four gaps of one player straight from their definitions, over all deviation maps."""
    joint, payoffs, d = np.asarray(joint), game.payoffs[player], game.sizes[player]
    mixed = [joint.sum(tuple(m for m in range(joint.ndim) if m != n)) for n in range(joint.ndim)]

    def worth(distribution, sigma):
        paid = np.take(payoffs, sigma, axis=player)
        return float((distribution * paid).sum())

    product = mixed[0]
    for other in mixed[1:]:
        product = np.multiply.outer(product, other)
    same = tuple(range(d))
    constant = [(j,) * d for j in range(d)]
    single = [tuple(j if i == a else i for i in same) for a in same for j in same]
    every = itertools.product(same, repeat=d)
    return {
        "nash_gap": max(worth(product, s) for s in constant) - worth(product, same),
        "cce_gap": max(worth(joint, s) for s in constant) - worth(joint, same),
        "ce_gap": max(worth(joint, s) for s in single) - worth(joint, same),
        "swap_gap": max(worth(joint, s) for s in every) - worth(joint, same),
    }


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (2, 3, 4), (2, 2, 3, 2)])
def test_gaps_equal_brute_force_over_deviations(x64, sizes):
    game = games.random(*sizes, seed=5)
    weights = np.random.default_rng(0).exponential(size=sizes)
    joint = weights / weights.sum()
    found = all_gaps(joint, game, "none")
    for player in range(len(sizes)):
        for name, expected in brute_force(joint, game, player).items():
            assert found[name][player] == pytest.approx(expected, abs=ROUNDING)


def test_gaps_reduce_over_players(x64):
    game, joint = games.random(3, 4, seed=2), np.full((3, 4), 1 / 12)
    each, largest, total = (all_gaps(joint, game, r) for r in ("none", "max", "sum"))
    for name in GAPS:
        assert largest[name] == each[name].max()
        assert total[name] == pytest.approx(each[name].sum())


def test_gaps_are_ordered_and_nothing_is_clipped(x64):
    game = games.chicken()
    both_swerve_or_split = np.array([[1 / 3, 1 / 3], [1 / 3, 0.0]])
    assert float(games.ce_gap(both_swerve_or_split, game)) == pytest.approx(0, abs=ROUNDING)
    assert float(games.cce_gap(both_swerve_or_split, game)) < -0.1
    joint = np.array([[0.7, 0.1], [0.1, 0.1]])
    found = all_gaps(joint, game)
    assert found["cce_gap"] <= found["swap_gap"] + ROUNDING
    assert found["ce_gap"] <= found["swap_gap"] + ROUNDING <= 2 * found["ce_gap"] + 2 * ROUNDING


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (Hedge(0.4479), {"cce_gap": 0.09022, "ce_gap": 0.05915, "swap_gap": 0.09022}),
        (BlumMansour(Hedge(0.99436)), {"ce_gap": 0.06172}),
        (BlumMansour(Hedge(3 * 0.447904905)), {"ce_gap": 0.0501}),
        (Uniform(), {"cce_gap": 1 / 9, "ce_gap": 1 / 9, "swap_gap": 1 / 9}),
    ],
)
def test_weighted_rock_paper_scissors_at_twenty_rounds(x64, learner, expected):
    game = games.weighted_rps()
    found = all_gaps(play(game, learner, 20).joint, game)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=5e-6 if value != 0.0501 else 5e-5)


@pytest.mark.parametrize("key", [None, 3])
@pytest.mark.parametrize(
    "sizes", [(3, 4), (2, 3, 2), pytest.param((2, 2, 2, 2), marks=pytest.mark.slow)]
)
def test_a_gap_is_regret_over_rounds(x64, sizes, key):
    """With expected losses for policies, with sampled actions for the actions: the same identity."""
    game, rounds = games.random(*sizes, seed=1), 300
    learners = [Hedge(0.2), RegretMatching(), BlumMansour(Hedge(0.5)), FollowTheLeader()][
        : len(sizes)
    ]
    path = play(game, learners, rounds, key=None if key is None else jax.random.key(key))
    for name, regret in (
        ("cce_gap", external_regret),
        ("ce_gap", internal_regret),
        ("swap_gap", swap_regret),
    ):
        regrets = [float(regret(p, l)) for p, l in zip(path.played, path.losses, strict=True)]
        gaps = getattr(games, name)(path.joint, game, "none")
        np.testing.assert_allclose(gaps, np.array(regrets) / rounds, atol=ROUNDING)


@pytest.mark.parametrize("key", [None, 3])
def test_running_gaps_are_the_gaps_of_every_prefix(x64, key):
    game = games.random(3, 2, 2, seed=4)
    path = play(game, Hedge(0.3), 9, key=None if key is None else jax.random.key(key))
    running = running_gaps(path, game)
    for t in (1, 4, 9):
        prefix = all_gaps(joint_play([rows[:t] for rows in path.played]), game)
        for name in GAPS:
            assert float(running[name][t - 1]) == pytest.approx(float(prefix[name]), abs=ROUNDING)


@pytest.mark.parametrize("rounds", [1, 7, 256, 700])
def test_joint_play_is_the_mean_of_outer_products(x64, rounds):
    rng = np.random.default_rng(0)
    rows = [rng.dirichlet(np.ones(d), rounds) for d in (2, 3, 4)]
    expected = np.einsum("ta,tb,tc->abc", *rows) / rounds
    np.testing.assert_allclose(joint_play(rows), expected, atol=ROUNDING)


def test_expected_losses_by_hand(x64):
    game = games.bimatrix([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    path = play(game, Uniform(), 1)
    np.testing.assert_allclose(path.losses[0], [[-1.5, -3.5]])
    np.testing.assert_allclose(path.losses[1], [[-6.0, -7.0]])
    assert path.actions is None
    assert path.rounds == 1


def test_three_player_losses_by_hand(x64):
    game = games.random(2, 3, 4, seed=8)
    path = play(game, Hedge(0.3), 5)
    p = [np.asarray(rows[4]) for rows in path.policies]
    expected = -np.einsum("abc,a,c->b", game.payoffs[1], p[0], p[2])
    np.testing.assert_allclose(path.losses[1][4], expected, atol=ROUNDING)


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


def test_a_game_never_changes_and_does_not_follow_the_callers_array():
    table = np.ones((2, 2, 2))
    game = Game(table)
    table[:] = 5
    assert game.payoffs.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0, 0, 0] = 2


def test_a_single_player_game_is_a_decision_problem(x64):
    path = play(Game([[1.0, 2.0, 5.0]]), Hedge(1.0), 50)
    assert path.joint.shape == (3,)
    assert float(path.joint[2]) > 0.9


@pytest.mark.parametrize("suffix", [".json", ".nfg", ".npz"])
def test_files_give_the_same_game_back(suffix):
    form = games.FORMATS[suffix]
    for game in (games.battle_of_the_sexes(), games.random(2, 3, 4, seed=3)):
        back = form.read(form.write(game))
        np.testing.assert_array_equal(back.payoffs, game.payoffs)
        assert (back.name, back.players, back.actions) == (game.name, game.players, game.actions)


def test_prisoners_who_mix_are_far_from_equilibrium(x64):
    assert float(games.cce_gap(np.full((2, 2), 0.25), games.prisoners_dilemma())) > 0.5
