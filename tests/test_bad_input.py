"""Every kind of bad input meets one sentence that says what was expected and what it got."""

import contextlib
import inspect
from functools import cache

import jax
import numpy as np
import pytest

import regrax as rx
from regrax import games, learners, regret
from regrax.show import report

pytestmark = pytest.mark.usefixtures("as_users_run_it")
PENNIES = games.matching_pennies()
HALVES = np.full((2, 2), 0.5)
CALLS = r"""
Game([[[1, 2], [3]], [[1, 2], [3, 4]]])  ->  payoffs must be a rectangular table
Game("abc")  ->  payoffs must be a rectangular table of numbers
Game(5.0)  ->  payoffs must have shape \(N, d_1, ..., d_N\)
Game([[1, 2], [3, 4]])  ->  payoffs must have shape .*, got \(2, 2\)
Game(np.zeros((2, 0, 2)))  ->  payoffs must have shape .*, got \(2, 0, 2\)
Game([[[np.nan, 1], [1, 1]], [[1, 1], [1, 1]]])  ->  payoffs must be finite numbers, got nan at index \(0, 0, 0\)
zero_sum([[np.inf, 1]])  ->  payoffs must be finite numbers
zero_sum([1, 2])  ->  row must have shape \(rows, columns\), got \(2,\)
bimatrix([[1, 2]], [[1], [2]])  ->  column must have shape \(1, 2\)
symmetric([[1, 2]])  ->  row must have shape \(d, d\), got \(1, 2\)
play(PENNIES, Hedge(0.1), 0)  ->  rounds must be an integer >= 1, got 0
play(PENNIES, Hedge(0.1), 2.5)  ->  rounds must be an integer .* got 2.5
play(PENNIES, [], 5)  ->  expected one learner, or one for each of 2 players, got 0
play(PENNIES, [Uniform()] * 3, 5)  ->  one for each of 2 players, got 3
play(PENNIES, EuclideanFTRL(0.1, rx.Ball()), 5)  ->  must play on the simplex, but .* plays on the ball
Hedge(float("nan"))  ->  step_size must be finite numbers, got nan
Hedge(jax.numpy.array(-1.0))  ->  step_size must be above 0
Hedge(InverseSqrt(0.0))  ->  scale must be above 0
PerRound(0.5, -0.5)  ->  step_sizes must be above 0
EuclideanFTRL(0.1, rx.Ball(-1.0))  ->  radius must be above 0
rollout(Hedge(0.1), jax.numpy.array([[1.0, jax.numpy.nan]]))  ->  losses must be finite .* got nan at index \(0, 1\)
cce_gap(jax.numpy.full((2, 3), 1 / 6), PENNIES)  ->  joint must have shape \(2, 2\)
cce_gap(HALVES, PENNIES)  ->  joint must sum to 1 along its last axis, got 2
cce_gap(jax.numpy.array([[1.5, -0.5], [0.0, 0.0]]), PENNIES)  ->  joint must have no negative entries
cce_gap(HALVES / 2, PENNIES, "median")  ->  reduce must be one of max, sum, none
external_regret(HALVES, HALVES * jax.numpy.inf)  ->  losses must be finite numbers
swap_regret(HALVES * jax.numpy.nan, HALVES)  ->  policies must be finite numbers
best_action(HALVES * jax.numpy.nan)  ->  must be finite numbers
external_regret(HALVES * 2, HALVES)  ->  policies must sum to 1
external_regret([0, 3], HALVES)  ->  actions must be from 0 to 1, got 3
external_regret([0.0, 1.0], HALVES)  ->  actions must be integers, or policies
external_regret([0, 1, 1], HALVES)  ->  the shape \(3,\) of policies
game_from_json(b"{")  ->  a JSON game must be valid JSON
game_from_json(b"[]")  ->  must be an object with "payoffs"
game_from_json(b'{"payoffs": [[1, 2]], "x": 1}')  ->  got x
game_from_json(b'{"payoffs": [[1, null]]}')  ->  payoffs must be
game_from_npz(b"not an archive")  ->  an .npz game must be a NumPy archive
game_from_json(b'{"payoffs": [[1, 2]], "players": 5}')  ->  players
game_from_json(b'{"payoffs": [[1, 2]], "actions": [5]}')  ->  actions
game_from_json(b'{"payoffs": [[1, 2]], "name": [5]}')  ->  name
rollout(Uniform(), np.zeros(3))  ->  losses must have shape \(T, d\) with T, d >= 1
rollout(Uniform(), np.zeros((0, 3)))  ->  losses must have shape \(T, d\) with T, d >= 1
rollout(Uniform(), np.zeros((2, 0)))  ->  losses must have shape \(T, d\) with T, d >= 1
rollout(Uniform(), np.zeros((2, 2, 2)))  ->  losses must have shape \(T, d\) with T, d >= 1
external_regret(HALVES, np.zeros((2, 3)))  ->  losses must have shape
play(PENNIES, Hedge, 5)  ->  learners must be Learner objects or specs, got <class
play(PENNIES, None, 5)  ->  learners must be Learner objects or specs, got None
Hedge(InverseSqrt(1.0)).bound(2, 0)  ->  rounds must be at least 1, got 0
play(PENNIES, [5, 5], 5)  ->  learners must be Learner objects or specs, got 5
play(np.zeros((2, 2, 2)), "hedge(1)", 5)  ->  must be a Game or a spec, got ndarray
play(PENNIES, 'agent("python:os:getcwd")', 5)  ->  unknown learner 'agent'
play("folder/mine.nfg", "hedge(1)", 5)  ->  expected name
rx.animate(trajectory, frames=0)  ->  frames must be an integer >= 1, got 0
rx.animate(trajectory, seconds=0)  ->  seconds must be above 0, got 0
rx.plots.plot_phase("chicken", "hedge(0.1)", arrows=1)  ->  arrows must be an int
rx.plots.plot_gaps(None)  ->  gaps must be a dictionary of gaps by name, got None
rx.plots.plot_tournament(None)  ->  tournament must be the result of round_robin
audit_page(None, "")  ->  audit must be the result of audit_log, got None
compare_page(None)  ->  comparison must be the result of compare_logs
rx.specs.parse_game([])  ->  a spec must be a string.*, got \[\]
rx.ChatAgent(None)  ->  target must be a url or a function, got None
rx.TrainConfig(None)  ->  model must be one of linear, full, swap, transformer, got
rx.train(None, "x")  ->  config must be a TrainConfig, got None
rx.stationary(np.ones((2, 3)))  ->  matrix must have shape \(d, d\), got \(2, 3\)
rx.project_simplex([])  ->  point must have shape \(d,\), got \(0,\)
rx.joint_play([])  ->  played must be policies of shape \(T, d\) for each player
games.game_to_json(None)  ->  game must be a Game or a spec, got NoneType
games.game_from_nfg("NFG 1 R")  ->  data must be the bytes of an .nfg file, got
rx.evaluate("uniform()", objective, key=key, devices=["cpu"])  ->  must be a subset of jax.devices\(\), got \['cpu'\]
"""
"""Calls, and regular expressions for the messages of their errors."""


@pytest.mark.parametrize("line", CALLS.strip().splitlines())
def test_bad_input_raises_a_one_sentence_error(line):
    call, message = line.split("  ->  ")
    names = dict(globals())
    for package in (games, learners, regret, report):
        names |= vars(package)
    names |= good()
    with pytest.raises(ValueError, match=message) as caught:
        eval(call, names)
    assert "\n" not in str(caught.value)


@cache
def good():
    """Arguments by their names, for calls in which one is replaced."""
    played = games.play("weighted-rps", "hedge(0.1)", 5)
    return {
        "actions": 3,
        "game": "weighted-rps",
        "horizon": 5,
        "joint": played.joint,
        "key": jax.random.key(0),
        "learner": "hedge(0.1)",
        "learners": "hedge(0.1)",
        "losses": played.losses[0],
        "matrix": np.eye(3),
        "model": rx.LinearAttention.hedge(3, 0.4),
        "objective": rx.RegretObjective(3, 5),
        "policies": played.policies[0],
        "rounds": 5,
        "trajectory": played,
    }


BAD = (None, "", "x", 0, -1, [], [[1, 2], [3]], {}, object())
TAUGHT = (ValueError, TypeError, OSError, ImportError)


def required(function):
    """The names of arguments that have no default."""
    given = inspect.signature(function).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in given if one.default is one.empty and one.kind in named]


@pytest.mark.parametrize("name", [name for name in rx.__all__ if name != "__version__"])
def test_no_public_name_fails_by_accident(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(rx, name)
    names = required(function) if callable(function) else []
    for changed in names:
        for bad in BAD:
            given = {name: good().get(name, 1) for name in names} | {changed: bad}
            with contextlib.suppress(*TAUGHT):
                function(**given)
