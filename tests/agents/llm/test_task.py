"""Tasks: frozen, JSON and back, templates that are checked, answers that are parsed, losses from anywhere."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from regrax.agents.llm import SCENARIOS, Episode, Task, draw_losses, scenario


@pytest.mark.parametrize("feedback", ["full", "bandit"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_is_told_and_read_back(name, feedback):
    task = scenario(name, 3, feedback=feedback)
    losses, actions = np.arange(3 * task.d).reshape(3, task.d) / 4, [0, 1, 0]
    text = task.text(losses, actions)
    assert all(action in text for action in task.actions)
    assert Task.from_json(task.to_json()) == task
    assert hash(Task.from_json(task.to_json())) == hash(task)


def test_a_transcript_needs_an_action_per_round():
    task = Task(2, 3, feedback="bandit")
    with pytest.raises(ValueError, match="one entry for each of 3 rounds, got 2"):
        task.text(np.zeros((3, 2)), [0, 1])


def test_losses_come_from_distributions_games_and_arrays(tmp_path):
    gaussian = Task(3, 4)
    first = draw_losses(gaussian, 5, seed=1, step=2)
    np.testing.assert_array_equal(first, draw_losses(gaussian, 5, seed=1, step=2))
    assert (first != draw_losses(gaussian, 5, seed=2, step=2)).any()
    assert (first != draw_losses(gaussian, 5, seed=1, step=3)).any()
    table = Task(2, 2, losses=[[0.0, 1.0], [2.0, 3.26]])
    assert draw_losses(table, 2, seed=0)[1].tolist() == [[0.0, 1.0], [2.0, 3.3]]
    game = Task(3, 4, losses='in-game("rock-paper-scissors", "uniform()", "hedge(0.5)")')
    assert draw_losses(game, 6, seed=0).shape == (6, 4, 3)
    for task in (gaussian, table, game):
        task.save(tmp_path / "task.json")
        assert Task.load(tmp_path / "task.json") == task


def test_opponents_react():
    game = 'in-game("matching-pennies", "uniform()", "best_response()")'
    same = Episode(Task(2, 30, losses=game), seed=0)
    for _ in range(30):
        same.step(0)
    assert same.losses[1:, 0].tolist() == [1.0] * 29  # once it is seen, it is answered for ever
    assert same.regret == pytest.approx(30 + same.losses[0, 0] - 1 - same.losses[:, 1].sum())


BAD = [
    ({"actions": 1}, "actions must be an integer >= 2"),
    ({"actions": ("a", "a")}, "actions must be between 2 and 1,000 distinct names"),
    ({"actions": "ab"}, "actions must be a list of names or a count"),
    ({"rounds": 0}, "rounds must be an integer >= 1"),
    ({"feedback": "some"}, "feedback must be one of full, bandit"),
    ({"ask": "{losses}"}, r"ask may contain \{round\}, got"),
    ({"tell": "none"}, r"tell must contain \{losses\}"),
    ({"answer": "{action}!"}, r"answer must end with \{action\}"),
    ({"parser": "("}, "parser must be first, last, exact or a regular"),
    ({"parser": "x"}, "parser must be .* with a group"),
    ({"parser": "(a)" * 1000}, "parser must be first, last, exact or a"),
    ({"actions": None}, "actions must be a list of names or a count"),
    ({"actions": 10**9}, "actions must be at most 1,000, got 1000000000"),
    ({"rounds": 10**9}, "rounds must be at most 100,000"),
    ({"decimals": 400}, "decimals must be at most 12"),
    ({"chat": "yes"}, "chat must be true or false, got 'yes'"),
    ({"between": 3}, "between must be a string, got 3"),
    ({"opening": "{d:>99}"}, r"opening may contain \{d\}, "),
    ({"losses": None}, "losses must be a distribution's spec or num"),
    ({"losses": [[1.0, 2.0], [3.0]]}, "losses must be a distribution's"),
    ({"losses": [[1.0, 2.0]]}, r"losses must have shape \(n, 2, 2\)"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_bad_tasks_teach(fields, message):
    with pytest.raises(ValueError, match=message):
        Task(**{"actions": 2, "rounds": 2, **fields})


@pytest.mark.parametrize(
    "text", ["[]", "{", "[" * 100_000, '{"format": "other"}', '{"format": "regrax task 1", "x": 1}']
)
def test_bad_files_teach(text):
    with pytest.raises(ValueError, match="a task "):
        Task.from_json(text)


@pytest.mark.parametrize(
    ("parser", "text", "action"),
    [
        ("first", "the bridge, not the tunnel", 1),
        ("last", "not the bridge: the tunnel", 2),
        ("exact", " bridge ", 1),
        ("exact", "the bridge", None),
        (r"choose (\w+)", "I choose tunnel", 2),
        ("first", "bridges", None),
        ("first", "<think>the bridge? no</think> tunnel", 2),
        ("last", "<think>the bridge", None),
        (r"choose (\w+)", "<think>choose bridge</think>choose tunnel", 2),
        ("first", "not the bridge: <answer>tunnel</answer>", 2),
        ("exact", "So: <answer>bridge</answer> <answer> tunnel </answer>.", 2),
    ],
)
def test_answers_are_parsed(parser, text, action):
    assert scenario("routes", parser=parser).parse(text) == action


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("agents.llm", "policies", "llm"), ("torch", "regret_loss", "torch")],
)
def test_an_extra_that_is_not_installed_is_one_line(package, name, extra):
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'regrax\[{extra}\]'"):
        getattr(import_module(f"regrax.{package}"), name)
