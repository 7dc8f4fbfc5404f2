"""Runs whose answers cost money: nothing is asked twice, budgets hold, and a stopped run continues."""

import hashlib
import itertools
import json
import subprocess
import sys
import threading
import time

import pytest
from tests.chat_server import say, send, server

from regrax.agents import AnswerCache, BudgetReached, ChatAgent, play_episodes
from regrax.cli import main
from regrax.games import matching_pennies
from regrax.learners import Hedge

pytestmark = pytest.mark.usefixtures("as_users_run_it")
USAGE = {"prompt_tokens": 90, "completion_tokens": 10}


def decided(handler, question):
    """Answer with an action that depends on the question only."""
    choice = hashlib.sha256(question.encode()).digest()[0] % 2
    say(handler, ["heads", "tails"][choice], usage=USAGE)


def play_with(url, episodes=4, rounds=3, **options):
    agent = ChatAgent(url, retries=0, temperature=options.pop("temperature", None))
    list(play_episodes(matching_pennies(), [agent, Hedge(0.1)], rounds, episodes, **options))
    return agent


def rows(log):
    """The rows of a log without times."""
    parsed = [json.loads(line) for line in log.read_text().splitlines()]
    for row in parsed:
        for tried in row.get("exchange", {}).get("tries", ()):
            del tried["seconds"]
    return parsed


def test_answers_in_the_cache_are_not_requested_again(tmp_path):
    options = {"cache": tmp_path / "answers", "log": tmp_path / "log"}
    with server(decided) as (url, requests):
        play_with(url, **options)
        before = rows(tmp_path / "log")
        assert len(requests) == 12
        agent = play_with(url, **options, resume=True)
        assert len(requests) == 12
        assert rows(tmp_path / "log") == before
        assert len(agent.exchanges) == 12
        first, second = (AnswerCache(tmp_path / "answers") for _ in range(2))
        play_with(url, cache=second)
        assert len(requests) == 12
        assert second.spent() == first.spent() == (12, 1200, 0.0)
        play_with(url, episodes=5, **options, resume=True)
        assert len(requests) == 15
        play_with(url, episodes=5, cache=tmp_path / "other")
        assert len(requests) == 30


@pytest.mark.parametrize(("temperature", "asked"), [(0.0, 3), (0.1, 12)])
def test_only_temperature_zero_shares_answers(tmp_path, temperature, asked):
    with server(decided) as (url, requests):
        play_with(url, temperature=temperature, cache=tmp_path / "answers", concurrency=1)
    assert len(requests) == asked


def test_parallel_episodes_are_logged_in_order(tmp_path):
    last = itertools.count(1)

    def slow_at_first(handler, question):
        time.sleep(0.2 / next(last))
        decided(handler, question)

    with server(slow_at_first) as (url, _):
        for count in (1, 4):
            play_with(url, log=tmp_path / f"{count}", concurrency=count)
    assert rows(tmp_path / "1") == rows(tmp_path / "4")
    assert [row["episode"] for row in rows(tmp_path / "4")] == sorted([*range(4)] * 6)


def test_a_demanded_pause_is_made():
    times = []

    def busy(handler, question):
        times.append(time.monotonic())
        if len(times) == 1:
            send(handler, b"", status=429, headers=[("Retry-After", "1")])
        else:
            decided(handler, question)

    with server(busy) as (url, _):
        play_with(url, episodes=1, rounds=1)
    assert times[1] - times[0] >= 1


def test_a_budget_stops_a_run_that_can_be_resumed(tmp_path, capsys):
    arguments = ["--rounds", "3", "--episodes", "4", "--concurrency", "2", "--prices", "1", "10"]
    arguments += ["--log", str(tmp_path / "log.jsonl")]
    with server(decided) as (url, requests):
        command = ["play", "matching-pennies", "--learners", f'agent("{url}")', "hedge(0.1)"]
        for more in (["--budget-tokens", "599"], ["--budget-cost", "0.0015", "--resume"]):
            with pytest.raises(SystemExit):
                main([*command, *arguments, *more])
            assert "the budget of" in capsys.readouterr().err
        assert len(requests) == 7
        main([*command, *arguments, "--resume", "--json"])
        assert len(requests) == 12
    result = json.loads(capsys.readouterr().out)
    assert result["spent"] == {"answers": 12, "tokens": 1200, "cost": pytest.approx(12 * 190e-6)}
    tried = rows(tmp_path / "log.jsonl")[0]["exchange"]["tries"][0]
    assert (tried["tokens"], tried["cost"]) == ([90, 10], pytest.approx(190e-6))


def test_a_budget_needs_tokens_and_prices(tmp_path):
    with pytest.raises(ValueError, match="budget_cost needs prices"):
        AnswerCache(tmp_path / "answers", budget_cost=1.0)
    cache = AnswerCache(tmp_path / "answers", budget_tokens=100)
    with (
        server(lambda h, q: say(h, "heads")) as (url, requests),
        pytest.raises(ValueError, match="the server does not report tokens"),
    ):
        play_with(url, cache=cache, concurrency=1)
    assert len(requests) == 1
    assert issubclass(BudgetReached, ValueError)


def test_a_damaged_cache_is_reported(tmp_path, capsys):
    damaged = tmp_path / "answers"
    damaged.write_bytes(b"not a database" * 100)
    with pytest.raises(ValueError, match="cannot be used as a cache of answers: file is not a"):
        AnswerCache(damaged)
    log = tmp_path / "log.jsonl"
    log.write_text("")
    command = ["play", "matching-pennies", "--learners", 'agent("http://127.0.0.1:9")']
    with pytest.raises(SystemExit):
        main([*command, "--rounds", "3", "--log", str(log), "--resume"])
    assert "--resume needs the answers of the run" in capsys.readouterr().err


KILLS = 3
EPISODES = 200
CONCURRENCY = 8


@pytest.mark.slow
def test_a_run_killed_three_times_asks_nothing_twice(tmp_path):
    """Every seventh request is sent away; in the fourth run the server is stopped for a second and started again."""
    numbers = itertools.count(1)

    def slow(handler, question):
        if next(numbers) % 7 == 0:
            return send(handler, b"", status=429, headers=[("Retry-After", "1")])
        time.sleep(0.05)
        return decided(handler, question)

    def run(log, *more):
        command = [sys.executable, "-m", "regrax", "play", "matching-pennies"]
        command += ["--learners", f'agent("{url}")', "exp3(0.1)", "--rounds", "3", "--seed", "1"]
        command += ["--episodes", str(EPISODES), "--concurrency", str(CONCURRENCY)]
        return subprocess.Popen([*command, "--log", str(tmp_path / log), *more])

    answered = []
    with server(slow, answered=answered) as (url, _):
        port = int(url.rpartition(":")[2])
        assert run("undisturbed").wait(300) == 0
        asked = len(answered)
        assert asked == 3 * EPISODES
        for kill in range(KILLS):
            before = len(answered)
            process = run("killed", *["--resume"] * (kill > 0))
            while len(answered) < before + 120:
                time.sleep(0.01)
            process.kill()
            process.wait()
        process = run("killed", "--resume")
        before = len(answered)
        while len(answered) < before + 60:
            time.sleep(0.01)
    time.sleep(1)
    with server(slow, answered=answered, port=port):
        assert process.wait(300) == 0
    repeats = len(answered) - 2 * asked
    assert 0 <= repeats <= (KILLS + 1) * CONCURRENCY
    assert rows(tmp_path / "killed") == rows(tmp_path / "undisturbed")


def test_as_many_requests_as_allowed_are_in_flight():
    """A request is answered only when seven others wait with it: with fewer at a time the run would not end."""
    eight = threading.Barrier(8)

    def all_at_once(handler, question):
        eight.wait(30)
        decided(handler, question)

    with server(all_at_once) as (url, requests):
        play_with(url, episodes=16, concurrency=8)
    assert len(requests) == 48
