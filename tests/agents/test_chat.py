"""Chat agents against a server on this machine: honest, slow, broken and hostile."""

import itertools
import json
import time

import jax
import numpy as np
import pytest
from tests.chat_server import say, send, server

from regrax.agents import ChatAgent, outside_agent, play_episodes
from regrax.agents.audit import audit_log
from regrax.agents.endpoint import MAX_ANSWER_BYTES
from regrax.cli import main
from regrax.games import matching_pennies, play
from regrax.learners import Hedge

pytestmark = pytest.mark.usefixtures("as_users_run_it")
SECRET = "sk-do-not-print-me-1234"


def ask(agent, losses=((0.5, 1.0),), actions=()):
    state = agent.init(2, 20)._replace(losses=np.array(losses), actions=actions)
    return np.asarray(agent.policy(state))


def ask_once(respond, retries=0, **more):
    with server(respond) as (url, requests):
        agent = ChatAgent(url, timeout=5.0, retries=retries, **more)
        return agent, ask(agent), requests


def play_logged(log, *learners, rounds, more=()):
    arguments = ["--learners", *learners, "--rounds", str(rounds), "--log", str(log), *more]
    main(["play", "matching-pennies", *arguments])
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_an_honest_agent_sees_the_history_and_is_believed():
    agent, policy, requests = ask_once(
        lambda h, q: say(h, "1"), temperature=0.5, max_tokens=16, system="Hi."
    )
    assert policy.tolist() == [0, 1]
    path, _, body = requests[0]
    assert path == "/v1/chat/completions"
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("default", 0.5, 16)
    assert body["messages"][0] == {"role": "system", "content": "Hi."}
    assert "1: 0.5, 1" in body["messages"][1]["content"]
    assert agent.unanswered == 0
    (tried,) = agent.exchanges[0]["tries"]
    assert (tried["answer"], tried["parser"]) == ("1", "json")
    assert tried["seconds"] >= 0


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def drip(*beginning):
    """Respond with a byte at a time after a beginning, in the headers or in the body."""

    def respond(handler, _):
        for data in [*beginning, *[b" "] * 100]:
            handler.wfile.write(data)
            handler.wfile.flush()
            time.sleep(0.02)

    return respond


def endless(handler, _):
    handler.wfile.write(HEAD + b"\r\n")
    while True:
        handler.wfile.write(b" " * 65536)


def cut_short(handler, _):
    handler.wfile.write(HEAD + b"Content-Length: 99\r\n\r\n{")
    handler.close_connection = True


def status(number):
    return lambda h, q: send(h, b"", number, headers=[("Location", "http://127.0.0.1:9/")])


HOSTILE = [
    (lambda h, q: send(h, b"{"), "the answer is not JSON"),
    (lambda h, q: send(h, b"\xff\xfe"), "the answer is not UTF-8 text"),
    (lambda h, q: send(h, b"[" * 100_000), "the answer is not JSON"),
    (lambda h, q: send(h, b"[]"), "no text at choices"),
    (lambda h, q: send(h, b'{"choices": [{"message": {"content": 1}}]}'), "no text at choices"),
    (lambda h, q: send(h, b'{"choices": [{"message": {}}]}'), "no text at choices"),
    (lambda h, q: send(h, b'{"choices": []}'), "no text at choices"),
    (lambda h, q: send(h, b"1", kind="text/html"), "content type of the answer is not JSON"),
    (status(500), "status 500"),
    (lambda h, q: h.wfile.write(b"nonsense\r\n\r\n"), "the connection failed"),
    (lambda h, q: None, "the connection failed"),
    (cut_short, "the connection failed"),
    (lambda h, q: send(h, b" " * (MAX_ANSWER_BYTES + 10)), "longer than 1,048,576 bytes"),
    (endless, "longer than 1,048,576 bytes"),
]
SLOW = [
    drip(HEAD + b"Content-Length: 1000\r\n\r\n"),
    drip(*[bytes([letter]) for letter in HEAD], b"X-Long: "),
    lambda h, q: time.sleep(1.0),
]
FINAL = [(status(302), "redirects"), (status(401), "status 401"), (status(404), "status 404")]


@pytest.mark.parametrize(
    ("respond", "problem", "options"),
    [
        *[(*case, {}) for case in HOSTILE],
        *[(case, r"no answer within 0.3 s", {"timeout": 0.3}) for case in SLOW],
        *[(*case, {"retries": 3}) for case in FINAL],  # no retry can help
    ],
)
def test_a_hostile_server_stops_play_with_the_reason(respond, problem, options):
    with server(respond) as (url, requests):
        agent = ChatAgent(url, **{"timeout": 5.0, "retries": 0, **options})
        with pytest.raises(ValueError, match=f"gave no answer: .*{problem}"):
            ask(agent)
    assert len(requests) == 1


@pytest.mark.parametrize("answer", ["I cannot choose.", None])
def test_a_refusal_is_a_round_played_uniformly(answer):
    agent, policy, requests = ask_once(lambda h, q: say(h, answer), retries=1)
    assert policy.tolist() == [0.5, 0.5]
    assert (len(requests), agent.unanswered) == (2, 1)
    (exchange,) = agent.exchanges
    assert exchange["answered"] is False
    assert "number can read the answer" in exchange["tries"][1]["problem"]


def test_failed_requests_are_repeated_and_not_logged():
    answers = iter(["no idea", 500, 429, "0"])

    def respond(handler, _):
        answer = next(answers)
        if isinstance(answer, int):
            send(handler, b"", status=answer, headers=[("Retry-After", "0")])
        else:
            say(handler, answer)

    agent, policy, requests = ask_once(respond, retries=1)
    assert (len(requests), agent.unanswered) == (4, 0)
    assert policy.tolist() == [1, 0]
    assert [tried["answer"] for tried in agent.exchanges[0]["tries"]] == ["no idea", "0"]


def test_an_agent_that_never_answers_stops_play():
    silent = "no usable answer for 5 rounds in a row; the last reason was: "
    with server(lambda h, q: say(h, "no")) as (url, requests):
        agent = outside_agent(url, retries=0)
        with pytest.raises(ValueError, match=silent):
            play(matching_pennies(), [agent, Hedge(0.1)], 20)
    assert len(requests) == 5
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:9 gave no answer: the conn"):
        play(matching_pennies(), outside_agent("http://127.0.0.1:9", retries=0), 20)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "MY_KEY"])
def test_a_key_is_sent_and_never_stored(monkeypatch, variable):
    monkeypatch.setenv(variable, SECRET)
    key = None if variable == "OPENAI_API_KEY" else variable
    agent, _, requests = ask_once(
        lambda h, q: say(h, f"your key is {h.headers['Authorization']}"), api_key_env=key
    )
    assert requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert "***" in agent.exchanges[0]["tries"][0]["answer"]
    assert SECRET not in repr(agent) + repr(vars(agent)) + str(agent)


def test_a_key_is_never_sent_over_plain_http_to_others(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    # 127.0.0.2 reaches this machine, but is not one of the names that are known to
    with server(lambda h, q: say(h, "1"), host="127.0.0.2") as (url, requests):
        assert ask(ChatAgent(url, retries=0)).tolist() == [0, 1]
    assert "Authorization" not in requests[0][1]
    with pytest.raises(ValueError, match="only over https or to this machine"):
        ChatAgent("http://example.org", api_key_env="OPENAI_API_KEY")
    ChatAgent("https://example.org", api_key_env="OPENAI_API_KEY")


def test_a_key_in_the_wrong_place_is_never_printed(capsys, tmp_path):
    log = tmp_path / "log"
    with pytest.raises(SystemExit):
        play_logged(log, f'agent("https://127.0.0.1", api_key_env="{SECRET}")', rounds=6)
    assert "api_key_env must name an environment variable that is set" in capsys.readouterr().err
    with server(lambda h, q: say(h, f"heads {h.path}")) as (url, requests):
        play_logged(log, f'agent("{url}?key={SECRET}")', rounds=6)
    assert SECRET in requests[0][0]
    for url in ("http://127.0.0.1:9", "ftp://127.0.0.1:9"):
        with pytest.raises(SystemExit):
            play_logged(tmp_path / "other", f'agent("{url}?key={SECRET}", retries=0)', rounds=6)
    out = capsys.readouterr()
    assert SECRET not in out.out + out.err + log.read_text()


def test_every_exchange_is_in_the_log_that_audit_reads(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    answers = iter(["0", f"no, {SECRET}", "[0.5, 0.5]"] + ["1"] * 9)
    log = tmp_path / "log.jsonl"
    with server(lambda h, q: say(h, next(answers))) as (url, _):
        rows = play_logged(log, f'agent("{url}", retries=0)', "hedge(0.1)", rounds=12)
    assert SECRET not in log.read_text() + capsys.readouterr().out
    own = [row for row in rows if "exchange" in row]
    assert len(own) == 12
    assert own[1]["answered"] is False
    assert own[1]["exchange"]["tries"][0]["answer"] == "no, ***"
    assert "This is round 2." in own[1]["exchange"]["question"]
    agents = audit_log(log).agents
    assert [agent.unanswered for agent in agents] == [1, 0]
    assert "no usable answer in 1 round (played uniformly)" in agents[0].notes


def test_the_log_has_the_rounds_before_an_agent_fell_silent(capsys, tmp_path):
    answers = iter(["0", "[0.5, 0.5]"] + ["no comment"] * 5)
    log = tmp_path / "log.jsonl"
    with server(lambda h, q: say(h, next(answers))) as (url, _), pytest.raises(SystemExit):
        play_logged(log, f'agent("{url}", retries=0)', "hedge(0.1)", rounds=12)
    assert "log.jsonl has the first 6 rounds" in capsys.readouterr().err
    agent, _ = audit_log(log).agents
    assert (agent.rounds, agent.unanswered) == (6, 4)


def test_each_player_has_its_own_exchanges(tmp_path):
    with server(lambda h, q: say(h, "0")) as (url, _):
        rows = play_logged(tmp_path / "log.jsonl", f'agent("{url}")', rounds=2)
    assert [row["exchange"]["question"].count("This is round 2") for row in rows] == [0, 0, 1, 1]


def test_templates_names_and_system_prompt_reach_the_model():
    game = matching_pennies()
    conversations = []
    prompt = "$player of $game, round $round of $rounds: $actions ($count). $feedback. $history $$"

    def model(messages):
        conversations.append(messages)
        return "tails"

    (played,) = play_episodes(game, [ChatAgent(model, prompt=prompt), Hedge(0.1)], 2)
    assert played.policies[0].tolist() == [[0, 1]] * 2
    first, second = (messages[0]["content"] for messages in conversations)
    about = "round 1 of 2 rounds: heads, tails (2). the loss of every action. none yet $"
    assert first == f"{game.players[0]} of {game.name}, {about}"
    assert "(round: heads, tails)\n1: 0, 0\nSums over all 1 rounds: 0, 0 $" in second


def test_a_bandit_history_shows_the_drawn_actions_loss_only():
    agent = ChatAgent(lambda messages: "0", history="bandit", names=("up", "down"), shown=2)
    ask(agent, np.array([[0.25, 9], [9, 0.5], [9, 0.75]]), (0, 1, 1))
    question = agent.exchanges[0]["question"]
    assert "9" not in question
    assert "(the last 2 rounds, round: action, its loss)\n2: down, 0.5\n3: down, 0.75" in question
    assert "Means over all 3 rounds: up 0.25 in 1, down 0.625 in 2" in question
    with pytest.raises(ValueError, match="so they must be sampled: pass a seed"):
        play(matching_pennies(), agent, 2)
    play(matching_pennies(), agent, 2, key=jax.random.key(0))


def test_each_episode_starts_from_the_beginning(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    answers = itertools.cycle(["heads", "Final answer: 1", "<think>hm</think>0", '{"action": 1}'])
    options = ["--episodes", "3", "--seed", "1", "--json", "--concurrency", "1"]
    with server(lambda h, q: say(h, next(answers))) as (url, requests):
        rows = play_logged(log, f'agent("{url}")', "exp3(0.1)", rounds=4, more=options)
    result = json.loads(capsys.readouterr().out)
    assert result["episodes"] == 3
    assert result["players"][0]["answers"] == {"name": 3, "number": 3, "think": 3, "json": 6}
    questions = [body["messages"][0]["content"] for _, _, body in requests]
    assert [text.count("none yet") for text in questions] == [1, 0, 0, 0] * 3
    audit = audit_log(log)
    assert [agent.episodes for agent in audit.agents] == [3, 3]
    assert audit.agents[0].regret["external"].total == pytest.approx(result["players"][0]["regret"])
    draws = [row["action"] for row in rows if row["agent"] == "player 2"]
    assert len({tuple(draws[i : i + 4]) for i in (0, 4, 8)}) > 1


def test_an_episode_does_not_depend_on_the_others():
    game = matching_pennies()
    key = jax.random.key(1)
    together = list(play_episodes(game, Hedge(0.1), 30, episodes=3, key=key))
    (last,) = play_episodes(game, Hedge(0.1), 30, key=key, first=2)
    np.testing.assert_array_equal(last.actions, together[2].actions)
    (alone,) = play_episodes(game, Hedge(0.1), 30, key=key)
    np.testing.assert_array_equal(alone.actions, play(game, Hedge(0.1), 30, key=key).actions)
