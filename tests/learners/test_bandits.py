"""Bandits and Python agents in a rollout and in a game, and what learners reject."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import regrax as rx
from regrax.games import matching_pennies, random, weighted_rps

KEY = jax.random.key(0)


def test_in_a_game_a_bandit_sees_the_loss_of_its_own_action(x64):
    """Feeding the actions and losses of the trajectory to the learner by hand gives the trajectory's policies."""
    learner = rx.TsallisINF()
    run = rx.play(random(3, 4, seed=1), [rx.Exp3(0.2), learner], 15, key=KEY)
    state, update = learner.init(4), jax.jit(lambda *seen: learner.update(*seen))
    for policy, loss, action in zip(run.policies[1], run.losses[1], run.actions[1], strict=True):
        np.testing.assert_allclose(learner.policy(state), policy, atol=1e-12)
        state = update(state, (jnp.asarray(action), jnp.asarray(loss[action])))


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rx.rollout(rx.Exp3(0.1), jnp.ones((3, 2))), r"exp3\(0.1\) .* needs a key"),
        (lambda: rx.play(matching_pennies(), [rx.Hedge(0.1), rx.TsallisINF()], 5), "needs a key"),
        (lambda: rx.Exp3(0.1, 1.5), "exploration must be between 0 and 1, got 1.5"),
        (lambda: rx.Exp3(-0.1), "step_size must be above 0"),
        (lambda: rx.Exp3IX(0.1, 0.0), "gamma must be above 0"),
        (lambda: rx.TsallisINF(-1.0), "scale must be above 0"),
        (lambda: rx.ImportanceWeighted(rx.Exp3(0.1)), "learn from loss vectors, but exp3"),
        (lambda: rx.ImportanceWeighted(rx.Hedge(0.1), -1), "exploration must be between 0 and 1"),
        (lambda: rx.BlumMansour(rx.Exp3(0.1)), "base must learn from loss vectors"),
        (lambda: rx.Delayed(rx.Hedge(0.1), 0), "delay must be an integer >= 1, got 0"),
        (lambda: rx.Delayed(rx.TsallisINF(), 2), "base must learn from loss vectors"),
        (lambda: rx.TreeSwap(rx.Hedge(0.1), 0, 4), "depth must be an integer >= 1"),
        (lambda: rx.TreeSwap(rx.Hedge(0.1), 2, 1), "branching must be an integer >= 2"),
        (lambda: rx.BlumMansour(rx.Agent(len)), r"traceable by jax, but agent\(len\) runs in"),
        (lambda: rx.Agent("hedge"), "function must be callable with past losses, got 'hedge'"),
    ],
)
def test_bad_input_raises_a_one_sentence_error(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def hedge(past):
    weights = np.exp(-0.3 * past.sum(0))
    return weights / weights.sum()


def test_an_agent_that_plays_hedge_is_hedge(x64):
    losses = np.random.default_rng(0).random((10, 3))
    np.testing.assert_allclose(
        rx.rollout(rx.Agent(hedge), losses), rx.rollout(rx.Hedge(0.3), losses), atol=1e-12
    )


@pytest.mark.parametrize("key", [None, KEY], ids=["expected", "sampled"])
def test_an_agent_plays_a_game(x64, key):
    game = weighted_rps()
    outside = rx.play(game, [rx.Agent(hedge), rx.BlumMansour(rx.Hedge(0.5))], 12, key=key)
    inside = rx.play(game, [rx.Hedge(0.3), rx.BlumMansour(rx.Hedge(0.5))], 12, key=key)
    for one, other in zip(jax.tree.leaves(outside), jax.tree.leaves(inside), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_agent_is_called_once_per_round_on_a_copy():
    asked = []

    def greedy(past):
        asked.append(past.copy())
        past[:] = 100.0
        return [1.0, 0.0]

    rx.rollout(rx.Agent(greedy), jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert [rows.tolist() for rows in asked] == [[], [[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.5, 0.7], r"policy of agent\(answers\) in round 1 must sum to 1 .*, got 1.2"),
        ([1.5, -0.5], "must have no negative entries, got -0.5"),
        ([0.5, np.nan], r"must be finite numbers, got nan at index \(1,\)"),
        ([1.0], r"must have shape \(2,\), got \(1,\)"),
        (1.0, r"must have shape \(2,\), got \(\)"),
        (["a", "b"], r"must be a list of numbers, got \['a', 'b'\]"),
        ([[1.0], [2.0, 3.0]], "must be a list of numbers"),
        ({"rock": 1.0}, "must be a list of numbers"),
    ],
)
def test_answers_of_an_agent_are_checked(answer, message):
    def answers(past):
        return answer

    for call in (
        lambda: rx.rollout(rx.Agent(answers), np.ones((3, 2))),
        lambda: rx.play(matching_pennies(), [rx.Uniform(), rx.Agent(answers)], 3),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_an_agent_is_not_traced():
    message = r"agent\(hedge\) runs in Python and cannot be traced by jit, vmap or grad"
    with pytest.raises(ValueError, match=message):
        jax.vmap(lambda losses: rx.rollout(rx.Agent(hedge), losses))(jnp.ones((2, 3, 2)))
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda key: rx.play(weighted_rps(), rx.Agent(hedge), 3, key=key))(KEY)
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda: rx.rollout(rx.Agent(hedge), np.ones((2, 3))))()


def test_rounding_in_an_agents_answer_is_normalised():
    policies = rx.rollout(rx.Agent(lambda past: [1.00004, -0.00004]), np.ones((2, 2)))
    np.testing.assert_array_equal(policies, [[1.0, 0.0]] * 2)
