"""The kernel of the page against the Python library: trajectories, equilibria, steps, files."""

import itertools
import json
import math

import jax
import numpy as np
import pytest
from scipy.optimize import linprog
from tests.show.explorer.golden import (
    AGREE,
    KINDS,
    ROUNDS,
    SPECS,
    begun,
    disagreement,
    games,
    play_question,
    question,
    seats_of,
)

import regrax as rx

QUICK = ("weighted-rps", "chicken", "jordan")
ALONE = [(spec, "chicken") for spec in SPECS] + [(spec, "jordan") for spec in KINDS]


def _check_play(kernel, cases):
    asked = []
    players = []
    for spec, name in cases:
        learners, seats = seats_of(spec, games()[name].sizes)
        players.append(learners)
        asked.append(play_question(games()[name], seats))
    certain = 0
    for (spec, name), learners, answer in zip(cases, players, kernel(*asked), strict=True):
        assert "found" in answer, (spec, name, answer)
        apart, rounds = disagreement(games()[name], learners, answer["found"])
        assert apart <= AGREE, (spec, name, rounds)
        certain += rounds
    assert certain > 0.5 * ROUNDS * len(cases)


def test_learners_play_as_in_python(kernel, x64):
    _check_play(kernel, ALONE)


@pytest.mark.slow
def test_learners_play_as_in_python_on_the_whole_zoo(kernel, x64):
    cases = list(itertools.product(SPECS, games()))
    assert len(cases) > 400
    _check_play(kernel, cases)


START = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]


@pytest.mark.parametrize(
    "spec",
    [spec if spec in KINDS else pytest.param(spec, marks=pytest.mark.slow) for spec in SPECS],
)
def test_starts_play_as_in_python(kernel, x64, spec):
    game = games()["shapley"]
    learners, seats = seats_of(spec, game.sizes)
    (answer,) = kernel(play_question(game, seats, starts=START))
    for side, start in zip(answer["found"]["policies"], START, strict=True):
        assert [column[0] for column in side] == pytest.approx(start, abs=1e-15)
    apart, _ = disagreement(game, learners, answer["found"], **begun(learners, START))
    assert apart <= AGREE


def _random_games(count):
    """Small games of two and three players, with few distinct payoffs in every other one, so that ties are frequent."""
    rng = np.random.default_rng(0)
    shapes = [(2, 2), (3, 3), (2, 3), (4, 4), (6, 6), (2, 2, 2), (3, 2, 3), (4, 3, 3)]
    for index in range(count):
        sizes = shapes[index % len(shapes)]
        shape = (len(sizes), *sizes)
        ties = index % 2
        yield rx.Game(rng.integers(0, 4, shape).astype(float) if ties else rng.normal(size=shape))


def _value(profile, objective):
    return profile.welfare if objective == "welfare" else float(profile.payoffs.min())


def _check_equilibria(kernel, chosen):
    cases = list(itertools.product(chosen, ("ce", "cce"), ("welfare", "minimum")))
    asked = [
        question("correlated", game, concept=concept, objective=objective)
        for game, concept, objective in cases
    ]
    for (game, concept, objective), answer in zip(cases, kernel(*asked), strict=True):
        assert "found" in answer, (game.payoffs, concept, objective, answer)
        found = rx.CorrelatedProfile(np.reshape(answer["found"]["joint"], game.sizes), game)
        span = float(np.ptp(game.payoffs)) or 1.0
        assert found.gap(concept) <= 1e-7 * span
        best = _value(rx.solve(game, concept, objective), objective)
        assert _value(found, objective) == pytest.approx(best, abs=1e-7 * span)


def test_correlated_equilibria_are_as_good_as_those_of_solve(kernel):
    zoo = games()
    _check_equilibria(kernel, [*(zoo[name] for name in QUICK), *_random_games(16)])


@pytest.mark.slow
def test_correlated_equilibria_are_as_good_on_the_whole_zoo(kernel):
    _check_equilibria(kernel, [*games().values(), *_random_games(120)])


def test_nash_equilibria_are_those_of_python_and_none_gains(kernel):
    chosen = [game for game in games().values() if len(game.sizes) == 2]
    chosen += [game for game in _random_games(24) if len(game.sizes) == 2]
    asked = [question("nash", game) for game in chosen]
    for game, answer in zip(chosen, kernel(*asked), strict=True):
        found = [np.multiply.outer(*one["strategies"]) for one in answer["found"]]
        span = float(np.ptp(game.payoffs)) or 1.0
        assert found, game.payoffs
        assert all(rx.CorrelatedProfile(joint, game).gap("nash") <= 1e-7 * span for joint in found)
        best = max(rx.CorrelatedProfile(joint, game).welfare for joint in found)
        exact = rx.solve(game, "nash", "welfare").welfare
        assert best == pytest.approx(exact, abs=1e-7 * span)
        listed = [one.joint for one in rx.nash_equilibria(game)]
        # Python may list mixtures of extreme ones as well where a game is degenerate
        for joint in found:
            assert any(np.abs(joint - other).max() < 1e-6 for other in listed)


def test_a_degenerate_game_has_only_its_extreme_equilibria(kernel):
    row = np.array([[3, 1, 2, 2], [1, 3, 2, 2], [2, 2, 1, 3], [2, 2, 3, 1]], float)
    (answer,) = kernel({"what": "nash", "payoffs": [row.tolist(), (4 - row).tolist()]})
    assert len(answer["found"]) == 4


def test_pure_equilibria_of_three_players(kernel):
    chosen = [game for game in games().values() if len(game.sizes) == 3]
    asked = [question("nash", game) for game in chosen]
    for game, answer in zip(chosen, kernel(*asked), strict=True):
        played = [
            tuple(int(np.argmax(side)) for side in one["strategies"]) for one in answer["found"]
        ]
        assert played == rx.pure_equilibria(game)


def _gains(game, concept):
    """What every deviation gains at every joint action, a row per deviation."""
    for player, table in enumerate(np.asarray(game.payoffs, float)):
        mine = np.indices(game.sizes)[player]
        told = [mine == action for action in range(game.sizes[player])]
        for instead in range(game.sizes[player]):
            gain = np.take(table, [instead], player) - table
            yield from (gain * where for where in told) if concept == "ce" else [gain]


def _support(game, concept, direction):
    """The largest u . payoffs over equilibria, by scipy."""
    gains = np.array([gain.ravel() for gain in _gains(game, concept)])
    cost = -np.tensordot(direction, np.asarray(game.payoffs)[:2], 1).ravel()
    solved = linprog(cost, gains, np.zeros(len(gains)), np.ones((1, cost.size)), [1.0])
    return -solved.fun


@pytest.mark.parametrize("name", ["chicken", "battle-of-the-sexes", "shapley", "jordan"])
@pytest.mark.parametrize("concept", ["ce", "cce"])
def test_polygons_of_payoffs_reach_as_far_as_any_equilibrium(kernel, name, concept):
    game = games()[name]
    (answer,) = kernel(question("polygon", game, concept=concept))
    corners = np.array(answer["found"])
    for angle in np.linspace(0, 2 * math.pi, 13):
        direction = [math.cos(angle), math.sin(angle)]
        reach = float((corners @ direction).max())
        assert reach == pytest.approx(_support(game, concept, direction), abs=1e-7)


@pytest.mark.slow
def test_the_step_comes_from_a_table_that_knows_its_error(kernel):
    sizes = [(d, T) for d in (2, 6, 12) for T in (2, 15, 16, 33, 4321)]
    asked = [{"what": "step", "actions": d, "horizon": T} for d, T in sizes]
    for (d, T), answer in zip(sizes, kernel(*asked), strict=True):
        assert answer["found"] == pytest.approx(rx.theory.step_size(d, T), rel=4e-12)


BOUNDED = ("hedge(0.4479)", "optimistic_hedge(0.3)", "regret_matching()", "regret_matching_plus()")


@pytest.mark.parametrize("spec", [*BOUNDED, "blum_mansour(hedge(0.9944))"])
def test_bounds_are_those_of_python(kernel, spec):
    sizes = [(2, 1, 1.0), (3, 20, 2.5), (6, 5000, 0.3)]
    asked = [{"actions": d, "rounds": T, "width": w} for d, T, w in sizes]
    answers = kernel(*({"what": "bound", "spec": spec, **size} for size in asked))
    for (d, T, w), answer in zip(sizes, answers, strict=True):
        expected = rx.specs.parse_learner(spec).bound(d, T, w)
        assert answer["found"] == pytest.approx(expected, rel=1e-12)


def test_the_complementary_error_function(kernel):
    points = np.linspace(-6, 8, 141).tolist()
    (answer,) = kernel({"what": "erfc", "points": points})
    expected = [math.erfc(x) for x in points]
    assert answer["found"] == pytest.approx(expected, rel=1e-13)


def test_elimination_holds_where_a_chain_almost_splits(kernel, x64):
    rng = np.random.default_rng(3)
    chains = [rng.dirichlet(np.ones(d), d) for d in (2, 3, 6)]
    chains.append(np.array([[1 - 1e-12, 1e-12, 0], [2e-12, 0.5, 0.5], [0, 0.5, 0.5]]))
    chains.append(np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 0]]))
    asked = [{"what": "stationary", "columns": columns.tolist()} for columns in chains]
    for columns, answer in zip(chains, kernel(*asked), strict=True):
        expected = np.asarray(rx.stationary(np.asarray(columns).T))
        assert answer["found"] == pytest.approx(expected.tolist(), rel=1e-12)


@pytest.mark.parametrize("form", ["payoff", "outcome"])
def test_nfg_files_are_read_as_in_python(kernel, form):
    from regrax.games import game_to_nfg

    chosen = [rx.games.weighted_rps(), rx.games.jordan(), rx.games.random(2, 3, 2, seed=1)]
    asked = [
        {"what": "game", "name": "game.nfg", "text": game_to_nfg(game, form).decode()}
        for game in chosen
    ]
    for game, answer in zip(chosen, kernel(*asked), strict=True):
        found = answer["found"]
        assert found["payoffs"] == [np.ravel(table).tolist() for table in game.payoffs]
        assert found["players"] == list(game.players)
        assert [tuple(labels) for labels in found["actions"]] == list(game.actions)


def test_json_files_are_read_and_bad_ones_refused_with_the_reason(kernel):
    good = json.dumps({"payoffs": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]], "players": ["<b>", "two"]})
    bad = {
        "{": "valid JSON",
        "{}": 'object with "payoffs"',
        '{"payoffs": [[[1, 0], [0]], [[0, 1], [1, 0]]]}': "rectangular",
        '{"payoffs": [[[1, "x"], [0, 1]], [[0, 1], [1, 0]]]}': "numbers",
        '{"payoffs": [[1, 2]]}': "2 or 3 players",
        json.dumps({"payoffs": np.zeros((2, 7, 7)).tolist()}): "1 to 6 actions",
        json.dumps({"payoffs": np.zeros((2, 2, 2)).tolist(), "players": ["a"]}): "2 names, got 1",
    }
    asked = [{"what": "game", "name": "a.json", "text": text} for text in (good, *bad)]
    first, *rest = kernel(*asked, {"what": "game", "name": "a.png", "text": ""})
    assert first["found"]["players"][0] == "<b>"
    for reason, answer in zip([*bad.values(), ".nfg, .json or .safetensors"], rest, strict=True):
        assert reason in answer["error"]


def test_broken_nfg_files_name_the_line(kernel):
    texts = ['NFG 1 R "a" { "x" "y" }\n{ 2 2 }\n1 2 oops', "NFG 2 R", 'NFG 1 R "a']
    answers = kernel(*({"what": "game", "name": "a.nfg", "text": text} for text in texts))
    assert "expected a number at line 3, got oops" in answers[0]["error"]
    assert all("expected" in answer["error"] for answer in answers)


def test_checkpoints_play_as_in_python(kernel, tmp_path, x64):
    models = {
        "linear": rx.LinearAttention(3, key=jax.random.key(1), scale=0.3),
        "full": rx.FullLinearAttention(3, key=jax.random.key(2), scale=0.3),
        "swap": rx.SwapAttention(3, key=jax.random.key(3), scale=0.3),
    }
    asked = []
    for name, model in models.items():
        rx.save_model(tmp_path / name, model)
        data = (tmp_path / f"{name}.safetensors").read_bytes()
        asked.append({"what": "checkpoint", "name": f"{name}.safetensors", "bytes": list(data)})
    game = rx.games.weighted_rps()
    for (name, model), answer in zip(models.items(), kernel(*asked), strict=True):
        layer = answer["found"]
        seat = {"kind": layer["kind"], "layer": layer}
        (found,) = kernel(play_question(game, [seat] * 2, 50))
        learner = model.calibrated() if name == "swap" else model
        expected = rx.play(game, learner, 50).policies[0]
        assert np.abs(np.array(found["found"]["policies"][0]).T - expected).max() < AGREE


def test_what_is_no_checkpoint_is_refused(kernel):
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    whole = len(header).to_bytes(8, "little") + header + bytes(8)
    asked = [b"short", bytes(20), b"\xff" * 40, whole, whole[:-4]]
    answers = kernel(*({"what": "checkpoint", "name": "a", "bytes": list(data)} for data in asked))
    assert "too short" in answers[0]["error"]
    assert "linear or swap layer" in answers[3]["error"]
    assert all("error" in answer for answer in answers)


def test_drawn_actions_come_again_with_their_seed(kernel):
    shapley = rx.games.shapley()
    asked = [play_question(shapley, ["hedge(0.3)"] * 2, 300, seed=seed) for seed in (1, 1, 2)]
    one, again, other = kernel(*asked)
    assert one == again
    assert one != other
    joint = np.array(one["found"]["joint"]) * 300
    assert np.abs(joint - np.round(joint)).max() < 1e-9
    assert joint.sum() == pytest.approx(300)
