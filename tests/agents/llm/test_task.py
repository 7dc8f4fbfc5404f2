"""Tasks: frozen, JSON and back, templates that are checked, answers that are parsed, losses from anywhere."""

import json
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from regrax import exploration
from regrax.agents.llm import (
    SCENARIOS,
    Episode,
    Task,
    draw_losses,
    environment,
    regret_reward,
    scenario,
)

pytestmark = pytest.mark.usefixtures("as_users_run_it")


@pytest.mark.parametrize("feedback", ["full", "bandit"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_is_told_and_read_back(name, feedback):
    task = scenario(name, 3, feedback=feedback)
    losses, actions = np.arange(3 * task.d).reshape(3, task.d) / 4, [0, 1, 0]
    text = task.text(losses, actions)
    assert all(action in text for action in task.actions)
    assert Task.from_json(task.to_json()) == task
    assert hash(Task.from_json(task.to_json())) == hash(task)


def test_losses_come_from_distributions_games_and_arrays(tmp_path):
    gaussian = Task(3, 4)
    np.testing.assert_array_equal(
        draw_losses(gaussian, 5, seed=1, step=2), draw_losses(gaussian, 5, seed=1, step=2)
    )
    assert (draw_losses(gaussian, 5, seed=1) != draw_losses(gaussian, 5, seed=2)).any()
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
    ({"actions": 1, "rounds": 2}, "actions must be an integer >= 2"),
    ({"actions": ("a", "a"), "rounds": 2}, "actions must be at least 2 different names"),
    ({"actions": "ab", "rounds": 2}, "actions must be names or how many"),
    ({"actions": 2, "rounds": 0}, "rounds must be an integer >= 1"),
    ({"actions": 2, "rounds": 2, "feedback": "some"}, "feedback must be one of full, bandit"),
    ({"actions": 2, "rounds": 2, "ask": "{losses}"}, r"ask may hold \{round\}, got \{losses\}"),
    ({"actions": 2, "rounds": 2, "tell": "none"}, r"tell must hold \{losses\}"),
    ({"actions": 2, "rounds": 2, "answer": "{action}!"}, r"answer must end with \{action\}"),
    ({"actions": 2, "rounds": 2, "parser": "("}, "parser must be first, last, exact or a regular"),
    ({"actions": 2, "rounds": 2, "parser": "x"}, "parser must have a group"),
    ({"actions": None, "rounds": 2}, "actions must be names or how many"),
    ({"actions": 10**9, "rounds": 2}, "actions must be at most 1,000, got 1000000000"),
    ({"actions": 2, "rounds": 10**9}, "rounds must be at most 100,000"),
    ({"actions": 2, "rounds": 2, "decimals": 400}, "decimals must be at most 12"),
    ({"actions": 2, "rounds": 2, "chat": "yes"}, "chat must be true or false, got 'yes'"),
    ({"actions": 2, "rounds": 2, "between": 3}, "between must be text, got 3"),
    ({"actions": 2, "rounds": 2, "opening": "{d:>99}"}, r"opening may hold .*, got \{d:>99\}"),
    ({"actions": 2, "rounds": 2, "losses": None}, "losses must be a distribution's spec or num"),
    ({"actions": 2, "rounds": 2, "losses": [[1.0, 2.0], [3.0]]}, "losses must be a distribution's"),
    ({"actions": 2, "rounds": 2, "losses": [[1.0, 2.0]]}, r"losses must have shape \(n, 2, 2\)"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_bad_tasks_teach(fields, message):
    with pytest.raises(ValueError, match=message):
        Task(**fields)


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
    ],
)
def test_answers_are_parsed(parser, text, action):
    assert scenario("routes", parser=parser).parse(text) == action


def test_an_environment_counts_what_does_not_parse_and_loses_nothing():
    task = Task(("A", "B"), 3, losses=[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    one = environment(task)()
    assert "Round 1" in one.reset(seed=3, prompt="ignored")
    assert "is none of A, B" in one.choose("perhaps")
    one.choose("A")
    one.choose("I would say B")
    assert one.invalid == 1
    assert (
        one.get_reward() == -2.0
    )  # B in round 2, and the round that was not played counts as the worst
    assert environment(task, reward="squared")().get_reward() == 0.0
    public = [name for name in dir(one) if not name.startswith("_")]
    assert public == ["choose", "get_reward", "invalid", "reset"]


def test_a_plain_reward_reads_messages_too():
    task = Task(2, 2)
    losses = [[[0.0, 1.0], [1.0, 0.0]]]
    assert regret_reward([[{"role": "assistant", "content": "A\nB"}]], losses, task) == [1.0]


def test_exploration_tells_agents_apart():
    rng = np.random.default_rng(0)
    losses = rng.normal(size=(200, 20, 3)) + np.array([0.0, 1.0, 2.0])
    uniform, constant = rng.integers(3, size=(200, 20)), np.full((200, 20), 2)
    greedy = np.concatenate([np.zeros((200, 1), int), losses.cumsum(1).argmin(-1)[:, :-1]], 1)
    assert exploration(uniform, losses).minimum_fraction > 0.5
    assert exploration(constant, losses).suffix_failure > 0.9
    assert exploration(greedy, losses).greedy_fraction == pytest.approx(0.95)
    assert json.dumps(exploration(greedy, losses, bandit=True)._asdict())


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("agents.llm", "policies", "llm"), ("torch", "regret_loss", "torch")],
)
def test_an_extra_that_is_not_installed_is_one_line(package, name, extra):
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'regrax\[{extra}\]'"):
        getattr(import_module(f"regrax.{package}"), name)
