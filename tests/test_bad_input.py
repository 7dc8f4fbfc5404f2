"""Every kind of bad input meets one sentence that says what was expected and what it got."""

import contextlib
import inspect
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import regrax as rx
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
from regrax.show import report

pytestmark = pytest.mark.usefixtures("as_users_run_it")
PENNIES = games.matching_pennies()
HALVES = np.full((2, 2), 0.5)
SHAPE = r"losses must have shape \(T, d\) with T, d >= 1"


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
            lambda: play(PENNIES, Hedge(0.1), 0),
            "rounds must be an integer >= 1, got 0",
        ),
        (lambda: play(PENNIES, Hedge(0.1), 2.5), "rounds must be an integer .* got 2.5"),
        (
            lambda: play(PENNIES, [], 5),
            "expected one learner, or one for each of 2 players, got 0",
        ),
        (lambda: play(PENNIES, [Uniform()] * 3, 5), "one for each of 2 players, got 3"),
        (
            lambda: play(PENNIES, EuclideanFTRL(0.1, Ball()), 5),
            r"must play on the simplex, but euclidean_ftrl\(0.1, ball\(1.0\)\) plays on the ball",
        ),
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
            "joint must have no negative entries",
        ),
        (lambda: cce_gap(HALVES / 2, PENNIES, "median"), "reduce must be one of max, sum, none"),
        (lambda: external_regret(HALVES, HALVES * jnp.inf), "losses must be finite numbers"),
        (lambda: swap_regret(HALVES * jnp.nan, HALVES), "policies must be finite numbers"),
        (lambda: best_action(HALVES * jnp.nan), "must be finite numbers"),
        (lambda: external_regret(HALVES * 2, HALVES), "policies must sum to 1"),
        (lambda: external_regret([0, 3], HALVES), "actions must be from 0 to 1, got 3"),
        (lambda: external_regret([0.0, 1.0], HALVES), "actions must be integers, or policies"),
        (lambda: external_regret([0, 1, 1], HALVES), r"the shape \(3,\) of policies"),
        (lambda: game_from_json(b"{"), "a JSON game must be valid JSON"),
        (lambda: game_from_json(b"[]"), 'must be an object with "payoffs"'),
        (lambda: game_from_json(b'{"payoffs": [[1, 2]], "x": 1}'), "got x"),
        (lambda: game_from_json(b'{"payoffs": [[1, null]]}'), "payoffs must be"),
        (lambda: game_from_npz(b"not an archive"), "an .npz game must be a NumPy archive"),
        (lambda: game_from_json(b'{"payoffs": [[1, 2]], "players": 5}'), "players"),
        (lambda: game_from_json(b'{"payoffs": [[1, 2]], "actions": [5]}'), "actions"),
        (lambda: game_from_json(b'{"payoffs": [[1, 2]], "name": [5]}'), "name"),
        (lambda: rollout(Uniform(), np.zeros(3)), SHAPE),
        (lambda: rollout(Uniform(), np.zeros((0, 3))), SHAPE),
        (lambda: rollout(Uniform(), np.zeros((2, 0))), SHAPE),
        (lambda: rollout(Uniform(), np.zeros((2, 2, 2))), SHAPE),
        (lambda: external_regret(HALVES, np.zeros((2, 3))), "losses must have shape"),
        (lambda: play(PENNIES, Hedge, 5), "learners must be Learner objects or specs, got <class"),
        (lambda: play(PENNIES, None, 5), "learners must be Learner objects or specs, got None"),
        (lambda: Hedge(InverseSqrt(1.0)).bound(2, 0), "rounds must be at least 1, got 0"),
        (lambda: play(PENNIES, [5, 5], 5), "learners must be Learner objects or specs, got 5"),
        (lambda: play(np.zeros((2, 2, 2)), "hedge(1)", 5), "must be a Game or a spec, got ndarray"),
        (lambda: play(PENNIES, 'agent("python:os:getcwd")', 5), "unknown learner 'agent'"),
        (lambda: play("folder/mine.nfg", "hedge(1)", 5), "expected name"),
        (
            lambda: rx.animate(good()["trajectory"], frames=0),
            "frames must be an integer >= 1, got 0",
        ),
        (lambda: rx.animate(good()["trajectory"], seconds=0), "seconds must be above 0, got 0"),
        (lambda: rx.plots.plot_phase("chicken", "hedge(0.1)", arrows=1), "arrows must be an int"),
        (lambda: rx.plots.plot_gaps(None), "gaps must be a dictionary of gaps by name, got None"),
        (lambda: rx.plots.plot_tournament(None), "tournament must be the result of round_robin"),
        (lambda: report.audit_page(None, ""), "audit must be the result of audit_log, got None"),
        (lambda: report.compare_page(None), "comparison must be the result of compare_logs"),
        (lambda: rx.specs.parse_game([]), r"a spec must be a string.*, got \[\]"),
        (lambda: rx.ChatAgent(None), "target must be a url or a function, got None"),
        (lambda: rx.TrainConfig(None), "model must be one of linear, full, swap, transformer, got"),
        (lambda: rx.train(None, "x"), "config must be a TrainConfig, got None"),
        (lambda: rx.stationary(np.ones((2, 3))), r"matrix must have shape \(d, d\), got \(2, 3\)"),
        (lambda: rx.project_simplex([]), r"point must have shape \(d,\), got \(0,\)"),
        (lambda: rx.joint_play([]), r"played must be policies of shape \(T, d\) for each player"),
        (lambda: games.game_to_json(None), "game must be a Game or a spec, got NoneType"),
        (lambda: games.game_from_nfg("NFG 1 R"), "data must be the bytes of an .nfg file, got"),
        (
            lambda: rx.evaluate(
                "hedge(0.1)", good()["objective"], key=good()["key"], devices=["cpu"]
            ),
            r"devices must be a subset of jax.devices\(\), got \['cpu'\]",
        ),
    ],
)
def test_bad_input_raises_a_one_sentence_error(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@cache
def good():
    """Arguments by their names, for calls in which one is replaced."""
    played = play("weighted-rps", "hedge(0.1)", 5)
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
