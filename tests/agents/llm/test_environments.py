"""Environments and rewards for other trainers."""

import asyncio
import importlib
import json
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import regrax as rx
from regrax import exploration
from regrax.agents.llm import Task, environment, parallel_environment, regret_reward

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


@pytest.mark.extras
@pytest.mark.parametrize(
    "source",
    [
        "chicken",
        "random(2, 3, 2, seed=1)",
        Task(3, 5, losses="drifting"),
        Task(2, 4, losses='in-game("matching-pennies", "uniform()", "best_response()")'),
    ],
    ids=str,
)
def test_pettingzoo_accepts_games_and_tasks(source):
    api = pytest.importorskip("pettingzoo.test", reason="pettingzoo is not installed")
    api.parallel_api_test(parallel_environment(source, rounds=7), num_cycles=20)


@pytest.mark.extras
def test_parallel_play_pays_the_game_and_reports_regret():
    pytest.importorskip("pettingzoo", reason="pettingzoo is not installed")
    game = rx.games.chicken()
    env = parallel_environment(game, rounds=3)
    env.reset(seed=0)
    joint = np.array([(0, 1), (1, 1), (0, 0)])
    rows = []
    for actions in joint:
        chosen = dict(zip(env.agents, actions, strict=True))
        seen, rewards, ended, truncated, infos = env.step(chosen)
        for player, agent in enumerate(seen):
            assert rewards[agent] == game.payoffs[(player, *actions)]
            assert seen[agent][actions[player]] == rewards[agent]
        rows.append(list(seen.values()))
    assert all(truncated.values())
    assert not any(ended.values())
    assert env.agents == []
    first, second = np.asarray(game.payoffs)
    expected = (first[:, joint[:, 1]].T, second[joint[:, 0]])
    for player, payoffs in enumerate(expected):
        np.testing.assert_array_equal(np.array(rows)[:, player], payoffs)
        paid = payoffs[np.arange(3), joint[:, player]].sum()
        assert infos[f"player_{player}"]["regret"] == pytest.approx(payoffs.sum(0).max() - paid)


@pytest.mark.extras
@pytest.mark.parametrize("answers", [["A", "B", "A"], ["?", "A", "B", "A"], ["?"] * 9], ids=str)
def test_verifiers_plays_a_task(answers, tmp_path, monkeypatch):
    vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed")
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    (tmp_path / "regrax_decisions.py").write_text(
        "from regrax.agents.llm import Task, verifiers_environment\n"
        "TASK = Task(('A', 'B'), 3, losses='biased-gaussian(1.0)')\n"
        "Decisions, DecisionEnv = verifiers_environment(TASK)\n"
        "__all__ = ['Decisions', 'DecisionEnv']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "regrax_decisions", raising=False)
    env = load_environment(resolve_env_config({"taskset": {"id": "regrax_decisions"}}))
    task = importlib.import_module("regrax_decisions").TASK
    third = list(env.taskset.take(4))[2]
    assert third.data.seed == third.data.idx == 2

    heard = []
    replies = iter(answers)

    async def turn(message=None):
        heard.append(message)
        return vf.Segment([], root_reply=next(replies))

    recorded = vf.TraceTask(type="DecisionTask", data=third.data)
    trace = vf.Trace(task=recorded, agent=vf.AgentInfo(config=env.config.player))
    conversation = nullcontext(SimpleNamespace(turn=turn, trace=trace))
    player = SimpleNamespace(interaction=lambda task: conversation)
    asyncio.run(env.run(third, SimpleNamespace(player=player)))
    game = environment(task)()
    game.reset(seed=2)
    for answer in answers:
        game.choose(answer)
    assert trace.rewards["regret"].value == pytest.approx(game.get_reward())
    assert len(heard) == min(len(answers), task.rounds + 1)
