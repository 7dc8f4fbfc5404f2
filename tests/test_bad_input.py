"""Every kind of bad input meets one sentence that says what was expected and what it got."""

import jax.numpy as jnp
import numpy as np
import pytest

from regrax import games
from regrax.domains import Ball
from regrax.games import (
    Game,
    bimatrix,
    cce_gap,
    game_from_json,
    game_from_npz,
    play,
    symmetric,
    zero_sum,
)
from regrax.learners import EuclideanFTRL, Hedge, InverseSqrt, PerRound, Uniform, rollout
from regrax.regret import best_action, external_regret, swap_regret

pytestmark = pytest.mark.usefixtures("as_users_run_it")
PENNIES = games.matching_pennies()
HALVES = jnp.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Game([[[1, 2], [3]], [[1, 2], [3, 4]]]), "payoffs must be a rectangular table"),
        (lambda: Game("abc"), "payoffs must be a rectangular table of numbers"),
        (lambda: Game(5.0), r"payoffs must have shape \(N, d_1, ..., d_N\)"),
        (lambda: Game([[1, 2], [3, 4]]), r"payoffs must have shape .*, got \(2, 2\)"),
        (
            lambda: Game(np.zeros((2, 0, 2))),
            r"payoffs must have shape .*, got \(2, 0, 2\)",
        ),
        (
            lambda: Game([[[np.nan, 1], [1, 1]], [[1, 1], [1, 1]]]),
            r"payoffs must be finite numbers, got nan at index \(0, 0, 0\)",
        ),
        (lambda: zero_sum([[np.inf, 1]]), "payoffs must be finite numbers"),
        (lambda: zero_sum([1, 2]), r"row must have shape \(rows, columns\), got \(2,\)"),
        (lambda: bimatrix([[1, 2]], [[1], [2]]), r"column must have shape \(1, 2\)"),
        (lambda: symmetric([[1, 2]]), r"row must have shape \(d, d\), got \(1, 2\)"),
        (
            lambda: Game(PENNIES.payoffs, players=["one"]),
            "players must name 2 players, got 1",
        ),
        (
            lambda: Game(PENNIES.payoffs, actions=[["a"], ["b"]]),
            r"actions must name \(2, 2\) actions",
        ),
        (
            lambda: play(PENNIES, Hedge(0.1), 0),
            "rounds must be an integer >= 1, got 0",
        ),
        (lambda: play(PENNIES, Hedge(0.1), 2.5), "rounds must be an integer .* got 2.5"),
        (
            lambda: play(PENNIES, [], 5),
            "learners must be one, or one for each of 2 players, got 0",
        ),
        (lambda: play(PENNIES, [Uniform()] * 3, 5), "one for each of 2 players, got 3"),
        (
            lambda: play(PENNIES, EuclideanFTRL(0.1, Ball()), 5),
            r"learners on the simplex, but euclidean_ftrl\(0.1, ball\(1.0\)\) plays on the ball",
        ),
        (lambda: Hedge(-0.1), "step_size must be above 0, got -0.1"),
        (lambda: Hedge(float("nan")), "step_size must be finite numbers, got nan"),
        (lambda: Hedge(jnp.array(-1.0)), "step_size must be above 0"),
        (lambda: Hedge(InverseSqrt(0.0)), "scale must be above 0"),
        (lambda: PerRound(0.5, -0.5), "step_sizes must be above 0"),
        (lambda: EuclideanFTRL(0.1, Ball(-1.0)), "radius must be above 0"),
        (
            lambda: rollout(Hedge(0.1), jnp.array([[1.0, jnp.nan]])),
            r"losses must be finite .* got nan at index \(0, 1\)",
        ),
        (lambda: cce_gap(jnp.full((2, 3), 1 / 6), PENNIES), r"joint must have shape \(2, 2\)"),
        (
            lambda: cce_gap(HALVES, PENNIES),
            "joint must sum to 1 along its last axis, got 2",
        ),
        (
            lambda: cce_gap(jnp.array([[1.5, -0.5], [0.0, 0.0]]), PENNIES),
            "joint must have no negative entry",
        ),
        (lambda: cce_gap(HALVES / 2, PENNIES, "median"), 'reduce must be "max", "sum" or "none"'),
        (lambda: external_regret(HALVES, HALVES * jnp.inf), "losses must be finite numbers"),
        (lambda: swap_regret(HALVES * jnp.nan, HALVES), "policies must be finite numbers"),
        (lambda: best_action(HALVES * jnp.nan), "must be finite numbers"),
        (lambda: external_regret(HALVES * 2, HALVES), "policies must sum to 1"),
        (lambda: game_from_json(b"{"), "a JSON game must be valid JSON"),
        (lambda: game_from_json(b"[]"), 'must be an object with "payoffs"'),
        (lambda: game_from_json(b'{"payoffs": [[1, 2]], "x": 1}'), "got x"),
        (lambda: game_from_json(b'{"payoffs": [[1, null]]}'), "payoffs must be"),
        (lambda: game_from_json(b"[" * 100_000), "a JSON game must be valid JSON"),
        (lambda: game_from_npz(b"not an archive"), "an .npz game must be a NumPy archive"),
    ],
)
def test_bad_input_is_told_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "losses", [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 0)), np.zeros((2, 2, 2))]
)
def test_losses_of_the_wrong_shape(losses):
    with pytest.raises(ValueError, match=r"losses must have shape \(T, d\) with T, d >= 1"):
        rollout(Uniform(), losses)


def test_policies_and_losses_of_different_shapes():
    with pytest.raises(ValueError, match="losses must have shape"):
        external_regret(np.full((2, 2), 0.5), np.zeros((2, 3)))


def test_something_else_than_a_learner_in_a_seat():
    with pytest.raises(
        ValueError, match="learners must be Learner objects or specs of them, got 5"
    ):
        play(PENNIES, [5, 5], 5)
    with pytest.raises(ValueError, match="game must be a Game or the spec of one, got ndarray"):
        play(np.zeros((2, 2, 2)), "hedge(1)", 5)
    with pytest.raises(ValueError, match="unknown learner 'agent'"):
        play(PENNIES, 'agent("python:os:getcwd")', 5)
    with pytest.raises(ValueError, match="expected name"):
        play("folder/mine.nfg", "hedge(1)", 5)


def test_labels_of_the_wrong_kind_in_files():
    with pytest.raises(ValueError, match="players"):
        game_from_json(b'{"payoffs": [[1, 2]], "players": 5}')
    with pytest.raises(ValueError, match="actions"):
        game_from_json(b'{"payoffs": [[1, 2]], "actions": [5]}')
    with pytest.raises(ValueError, match="name"):
        game_from_json(b'{"payoffs": [[1, 2]], "name": [5]}')
