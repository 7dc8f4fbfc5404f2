"""Environments and rewards for other trainers."""

import json

import numpy as np
import pytest

from regrax import exploration
from regrax.agents.llm import Task, environment, regret_reward

pytestmark = pytest.mark.usefixtures("as_users_run_it")
LOSSES = [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]


def test_invalid_answers_are_counted_and_can_be_repeated():
    game = environment(Task(("A", "B"), 3, losses=LOSSES))()
    assert "Round 1" in game.reset(seed=3, prompt="ignored")
    assert "is none of A, B" in game.choose("perhaps")
    game.choose("A")
    game.choose("I would say B")
    assert game.invalid == 1
    assert game.get_reward() == -2.0  # B in round 2, and the largest loss in the unplayed round 3
    public = [name for name in dir(game) if not name.startswith("_")]
    assert public == ["choose", "get_reward", "invalid", "reset"]


@pytest.mark.parametrize("losses", [LOSSES, "gaussian", "biased-gaussian(1.0)"])
def test_silence_never_earns_more_than_play(losses):
    game = environment(Task(("A", "B"), 3, losses=losses))()
    for seed in range(5):
        game.reset(seed=seed)
        silent = game.get_reward()
        for name in ("A", "B"):
            game.reset(seed=seed)
            game.choose(name)
            partly = game.get_reward()
            game.reset(seed=seed)
            for _ in range(3):
                game.choose(name)
            assert silent <= partly <= game.get_reward()


def test_reward_columns_are_named_after_tasks():
    first, second = (environment(Task(2, 2, name=name)) for name in ("shop", "clinic"))
    assert (first.__name__, second.__name__) == ("shop", "clinic")
    assert environment(Task(2, 2), reward="squared")().get_reward() == 0.0


def test_plain_reward_reads_texts_and_messages():
    task, losses = Task(2, 2), [[[0.0, 1.0], [1.0, 0.0]]]
    for text in ("A\nB", "<think>B\nB\nB</think>A\nB", "A\nB\nA"):
        assert regret_reward([text], losses, task) == [1.0]
        assert regret_reward([[{"role": "assistant", "content": text}]], losses, task) == [1.0]
    assert regret_reward([""], losses, task) == [-1.0]


def test_exploration_tells_agents_apart():
    rng = np.random.default_rng(0)
    losses = rng.normal(size=(200, 20, 3)) + np.array([0.0, 1.0, 2.0])
    uniform, constant = rng.integers(3, size=(200, 20)), np.full((200, 20), 2)
    greedy = np.concatenate([np.zeros((200, 1), int), losses.cumsum(1).argmin(-1)[:, :-1]], 1)
    assert exploration(uniform, losses).minimum_fraction > 0.5
    assert exploration(constant, losses).suffix_failure > 0.9
    assert exploration(greedy, losses).greedy_fraction == pytest.approx(0.95)
    assert json.dumps(exploration(greedy, losses, bandit=True)._asdict())
