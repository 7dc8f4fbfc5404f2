"""Agents from a spec: what can be written, what is wrong with it, and Python functions as players."""

import pytest

from regrax.agents import outside_agent, play_episodes
from regrax.games import matching_pennies, play
from regrax.learners import Hedge

pytestmark = pytest.mark.usefixtures("as_users_run_it")
LOCAL = "http://127.0.0.1"


def as_learner(spec):
    """Build an agent; its spec is a call of `outside_agent` by another name."""
    return eval(spec, {"agent": outside_agent})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ('agent("ftp://x")', "must be http"),
        ('agent("http://")', "must be http"),
        ('agent("http://x:99999")', "must be http"),
        ('agent("http://exa mple")', "must be http"),
        ('agent("http://user:pass@x")', "must not contain a password"),
        (f'agent("{LOCAL}", timeout=0)', "timeout must be above 0"),
        (f'agent("{LOCAL}", timeout=1e300)', "timeout must be at most 86400 s"),
        (f'agent("{LOCAL}", retries=-1)', "retries must be an integer"),
        (f'agent("{LOCAL}", api_key_env="NO_SUCH_VARIABLE")', "variable that is set"),
        (f'agent("{LOCAL}", history="none")', "must be one of full, bandit"),
        (f'agent("{LOCAL}", prompt="$nonsense")', "prompt may contain only"),
        (f'agent("{LOCAL}", prompt="5 $ each")', "prompt may contain only"),
        (f'agent("{LOCAL}", max_tokens=0)', "max_tokens must be an integer"),
        (f'agent("{LOCAL}", parsers="json,tea")', "parsers must be among .*, got 'tea'"),
        (f'agent("{LOCAL}", regex="(")', "regex must be a regular expression"),
        ("agent(3)", "must be a url, python:module:function or chat:module:function, got 3"),
        ('agent("python:json")', "must be python:module:function"),
        ('agent("python:no_such_module:f")', "cannot be imported: ModuleNotFoundError"),
        ('agent("python:json:nothing")', "json has no function nothing"),
    ],
)
def test_bad_specs_teach(spec, message):
    with pytest.raises(ValueError, match=message):
        as_learner(spec)


@pytest.mark.parametrize(
    "spec",
    [
        'agent("http://127.0.0.1:8000")',
        'agent("https://x/v1", model="m", timeout=5.0)',
        'agent("python:numpy:argmin")',
        'agent("https://x", system="Be brief.", history="bandit", temperature=0.5, max_tokens=9)',
        'agent("https://x", parsers="json,name", regex="a+")',
        'agent("https://x", api_key_env="HOME", retries=0, prompt="$actions", shown=3)',
    ],
)
def test_an_agent_prints_its_spec(spec):
    assert str(as_learner(spec)) == spec


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """Work in a folder with a module of agents."""
    (tmp_path / "mine.py").write_text(
        "import os\n"
        "def good(losses):\n    return len(losses) % 2\n"
        "def bad(losses):\n    return 1 / (2 - len(losses))\n"
        "def wrong(losses):\n    return [0.5, 0.6]\n"
        "def endless(losses):\n    while len(losses) == 2: pass\n    return 0\n"
        "def leave(losses):\n    os._exit(3)\n"
        "def say(messages):\n    return 'I pick tails'\n"
        "def refuse(messages):\n    raise SystemExit('no')\n"
        "def number(messages):\n    return 3\n"
    )
    (tmp_path / "prompt.txt").write_text("Round $round: choose.")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("python:mine:bad", "in round 1: the answer is neither"),
        ("python:mine:wrong", "in round 1: a distribution must"),
        ("python:math:sqrt", "math:sqrt in round 1 failed: TypeError"),
        ("python:mine:endless", "mine:endless in round 3 took more than 2 s and was stopped"),
        ("python:mine:leave", "mine:leave in round 1 failed: its process ended with code 3"),
        ("chat:mine:refuse", "failed: SystemExit: no"),
        ("chat:mine:number", "return a string, got int"),
    ],
)
def test_an_error_of_a_function_stops_play(functions, target, message):
    with pytest.raises(ValueError, match=message):
        play(matching_pennies(), outside_agent(target, retries=0, timeout=2.0), 5)


def test_a_function_may_be_a_player_or_a_chat_model(functions):
    played = play(matching_pennies(), as_learner('agent("python:mine:good")'), 3)
    assert played.policies[0].argmax(1).tolist() == [0, 1, 0]
    agent = as_learner('agent("chat:mine:say", prompt="@prompt.txt")')
    (played,) = play_episodes(matching_pennies(), [agent, Hedge(0.1)], 2)
    assert played.policies[0].argmax(1).tolist() == [1, 1]
    assert agent.exchanges[1]["question"] == "Round 2: choose."
    with pytest.raises(FileNotFoundError):
        as_learner('agent("chat:mine:say", system="@nothing.txt")')
