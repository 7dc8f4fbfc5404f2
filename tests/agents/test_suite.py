"""The benchmark of agents: what is best possible is right, and a stopped run continues."""

import hashlib
import itertools
import json

import jax
import numpy as np
import pytest
from tests.chat_server import say, server

from regrax.agents import benchmark, outside_agent
from regrax.agents.suite import OPPONENTS, TASKS, game_loss
from regrax.cli import main
from regrax.games import play
from regrax.learners import Hedge, Uniform, rollout
from regrax.regret import external_regret
from regrax.show.report import benchmark_page
from regrax.specs import parse_game, parse_learner

pytestmark = pytest.mark.usefixtures("as_users_run_it")
TASK = {task.name: task for task in TASKS}


def draw(name, count):
    return np.stack([TASK[name].draw(np.random.default_rng([7, n])) for n in range(count)])


def test_a_game_is_exploited_as_well_as_by_any_fixed_plan():
    payoffs = np.asarray(parse_game("weighted-rps").payoffs, float)
    losses = []
    for plan in itertools.product(range(3), repeat=5):
        total = 0.0
        for t, action in enumerate(plan):
            scores = np.exp(OPPONENTS["weighted-rps"] * payoffs[1][list(plan[:t])].sum(0))
            total -= payoffs[0][action] @ scores / scores.sum()
        losses.append(total)
    assert game_loss("weighted-rps", np.min, 5) == pytest.approx(min(losses))
    assert game_loss("weighted-rps", np.mean, 5) == pytest.approx(np.mean(losses))


@pytest.mark.slow
def test_uniform_play_against_hedge_loses_as_computed():
    def loss(key):
        played = play("chicken", [Uniform(), Hedge(OPPONENTS["chicken"])], 20, key=key)
        return (played.policies[0] * played.losses[0]).sum()

    losses = np.asarray(jax.vmap(loss)(jax.random.split(jax.random.key(0), 4000)))
    error = losses.std() / len(losses) ** 0.5
    assert abs(losses.mean() - game_loss("chicken", np.mean)) < 4 * error


@pytest.mark.parametrize("name", ["biased", "switching", "adversarial"])
def test_no_learner_is_better_than_the_best_policy(name):
    losses = draw(name, 150)
    task = TASK[name]
    uniform = np.full_like(losses, 1 / 3)
    best = task.best(losses)
    assert task.share(uniform, losses) == pytest.approx(0, abs=1e-12)
    assert task.share(best, losses) == pytest.approx(1)
    for spec in ("hedge(0.4479)", "hedge(2.0)", "regret_matching_plus()", "follow_the_leader()"):
        learner = parse_learner(spec)
        played = np.stack([rollout(learner, row) for row in losses])
        assert task.share(played, losses) < 1 + 1e-6


@pytest.mark.slow
def test_squared_regret_on_random_losses_agrees_with_the_share():
    losses = draw("random", 20_000)
    task = TASK["random"]
    leader = np.eye(3)[(losses.cumsum(1) - losses).argmin(-1)]
    uniform = np.full_like(losses, 1 / 3)
    squares = [
        np.square(external_regret(policies, losses))
        for policies in (uniform, leader, task.best(losses))
    ]
    first, own, last = (values.mean() for values in squares)
    assert task.share(leader, losses) == pytest.approx((first - own) / (first - last), abs=0.06)


@pytest.mark.slow
def test_the_benchmark_stops_resumes_and_writes_a_page(tmp_path, capsys):
    def decided(handler, question):
        names = question.split("choose one action: ")[1].split(". After")[0].split(", ")
        choice = names[hashlib.sha256(question.encode()).digest()[0] % len(names)]
        say(handler, choice, usage={"prompt_tokens": 1, "completion_tokens": 1})

    with server(decided) as (url, requests):
        command = ["bench-agents", f'agent("{url}")', "--out", str(tmp_path), "--episodes", "2"]
        with pytest.raises(SystemExit):
            main([*command, "--budget-tokens", "400"])
        assert "the budget of 400 tokens" in capsys.readouterr().err
        assert len(requests) <= 200
        main([*command, "--resume", "--json"])
        assert len(requests) == 8 * 2 * 20
    result = json.loads(capsys.readouterr().out)
    assert result == json.loads((tmp_path / "results.json").read_text())
    assert result["spent"]["tokens"] == 2 * 8 * 2 * 20
    own = {row["task"]: row for row in result["rows"] if not row["is_reference"]}
    assert list(own) == list(TASK)
    assert (tmp_path / "report.html").read_text().count("<tr>") == 2 + 8 + 22
    questions = [body["messages"][0]["content"] for _, _, body in requests]
    assert sum("the loss of the action you played" in question for question in questions) == 80


@pytest.mark.slow
def test_a_function_sees_only_its_own_losses_in_bandit_tasks(tmp_path, monkeypatch):
    (tmp_path / "looking.py").write_text(
        "import numpy as np\n"
        "def play(losses):\n"
        "    seen = np.isfinite(losses).sum(1)\n"
        "    assert len(set(seen)) < 2 and all(s in (1, 2, 3) for s in seen)\n"
        "    return len(losses) % losses.shape[1]\n"
    )
    monkeypatch.chdir(tmp_path)
    result = benchmark(outside_agent("python:looking:play"), tmp_path / "out", 1)
    assert "looking" in benchmark_page(result)
    lines = (tmp_path / "out/biased-bandit.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["action"] for row in rows] == [t % 3 for t in range(20)]
    with pytest.raises(ValueError, match="needs the loss of every action, which biased-bandit hid"):
        benchmark("hedge(0.4479)", tmp_path / "other", 1)
