"""Outside agents against a real server on this machine: honest, slow, broken and hostile."""

import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from regrax.agents import ChatAgent, outside_agent
from regrax.agents._answers import read_answer
from regrax.agents._http import LARGEST
from regrax.audit import audit_log
from regrax.cli import main
from regrax.cli._text import read_learner
from regrax.games import matching_pennies, play
from regrax.learners import Hedge

pytestmark = pytest.mark.usefixtures("as_users_run_it")
SECRET = "sk-do-not-print-me-1234"


@contextmanager
def server(respond):
    """A chat endpoint on a free port; `respond(handler, question)` writes the answer."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, dict(self.headers), body))
            with suppress(OSError):  # the client hangs up, as it should
                respond(self, body["messages"][0]["content"])

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}", seen
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def send(handler, data, status=200, kind="application/json", headers=()):
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def say(handler, text):
    send(handler, json.dumps({"choices": [{"message": {"content": text}}]}).encode())


def ask_once(respond, retries=0, timeout=5.0, **more):
    with server(respond) as (url, seen):
        agent = ChatAgent(url, timeout=timeout, retries=retries, pause=lambda _: None, **more)
        policy = agent(np.array([[0.5, 1.0]]))
        return agent, policy, seen


def test_an_honest_agent_is_told_the_history_and_believed():
    agent, policy, seen = ask_once(lambda h, q: say(h, "1"))
    assert policy.tolist() == [0, 1]
    path, _, body = seen[0]
    assert path == "/v1/chat/completions"
    assert body["model"] == "default"
    assert "1: 0.5, 1" in body["messages"][0]["content"]
    assert agent.unanswered == 0
    assert agent.exchanges[0]["tries"] == [{"answer": "1"}]


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (" 2\n", [0, 0, 1]),
        ('{"action": 0}', [1, 0, 0]),
        ("[0.25, 0.25, 0.5]", [0.25, 0.25, 0.5]),
        ('```json\n{"policy": [0, 1, 0]}\n```', [0, 1, 0]),
        ("[0.33, 0.33, 0.33]", [1 / 3] * 3),
    ],
)
def test_answers_that_are_understood(text, policy):
    np.testing.assert_allclose(read_answer(text, 3), policy)


@pytest.mark.parametrize(
    "text",
    [
        "", "3", "-1", "1.5", "true", "null", '"1"', "action 1", "I cannot help.", "[1, 0]", "[0.5, 0.5, 0.5]",
        "[1, 0, NaN]", "[2, -1, 0]", '{"action": 1, "policy": [1, 0, 0]}', '{"choice": 1}', "[" * 100_000,
        "[1, 0, true]",
        "1 or 2", "[[1, 0, 0]]", "1" * 5000, '{"action": [1]}',
    ],
)  # fmt: skip
def test_refusals_and_nonsense_are_never_guessed_at(text):
    with pytest.raises(ValueError, match=r"action|distribution"):
        read_answer(text, 3)


def drip(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def drip_headers(handler, _):
    for letter in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100:
        handler.wfile.write(bytes([letter]))
        handler.wfile.flush()
        time.sleep(0.02)


def huge(handler, _):
    send(handler, b" " * (LARGEST + 10))


def endless(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65536)


def cut_short(handler, _):
    handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    )
    handler.close_connection = True


HOSTILE = [
    (lambda h, q: say(h, "I cannot choose."), "neither an action nor a distribution"),
    (lambda h, q: send(h, b"{"), "the answer is not JSON"),
    (lambda h, q: send(h, b"\xff\xfe"), "the answer is not UTF-8 text"),
    (lambda h, q: send(h, b"[" * 100_000), "the answer is not JSON"),
    (lambda h, q: send(h, b"[]"), "no text at choices"),
    (lambda h, q: send(h, b'{"choices": [{"message": {"content": 1}}]}'), "no text at choices"),
    (lambda h, q: send(h, b'{"choices": []}'), "no text at choices"),
    (lambda h, q: send(h, b"1", kind="text/html"), "not JSON by its content type"),
    (lambda h, q: send(h, b"", status=500), "status 500"),
    (lambda h, q: send(h, b"", status=429), "status 429"),
    (lambda h, q: h.wfile.write(b"nonsense\r\n\r\n"), "the connection failed"),
    (lambda h, q: None, "the connection failed"),
    (cut_short, "the connection failed|the answer is not JSON"),
    (huge, "longer than 1,048,576 bytes"),
    (endless, "longer than 1,048,576 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("respond", "problem"), HOSTILE)
def test_broken_and_hostile_answers_are_counted_and_asked_again(respond, problem):
    agent, policy, seen = ask_once(respond, retries=1)
    assert len(seen) == 2
    assert policy.tolist() == [0.5, 0.5]
    assert agent.unanswered == 1
    (exchange,) = agent.exchanges
    assert exchange["answered"] is False
    for tried in exchange["tries"]:
        assert any(part in tried["problem"] for part in problem.split("|"))


@pytest.mark.parametrize("respond", [drip, drip_headers, lambda h, q: time.sleep(1.0)])
def test_a_slow_answer_ends_at_the_time_limit(respond):
    agent, _, _ = ask_once(respond, timeout=0.3)
    assert agent.exchanges[0]["tries"][0]["problem"] == "no answer within 0.3 s"


@pytest.mark.parametrize(
    ("status", "said"), [(302, "redirects"), (401, "status 401"), (404, "status 404")]
)
def test_what_asking_again_cannot_mend_stops_at_once(status, said):
    asked = []

    def respond(handler, question):
        asked.append(question)
        send(handler, b"", status=status, headers=[("Location", "http://127.0.0.1:9/")])

    with pytest.raises(ValueError, match=said):
        ask_once(respond, retries=3)
    assert len(asked) == 1


def test_an_agent_that_never_answers_stops_the_play():
    with server(lambda h, q: say(h, "no")) as (url, seen):
        agent = outside_agent(url, retries=0)
        with pytest.raises(
            ValueError, match="no usable answer in 5 rounds in a row; the last reason: the answer"
        ):
            play(matching_pennies(), [agent, Hedge(0.1)], 20)
    assert len(seen) == 5


def test_nobody_there_is_one_reason():
    with pytest.raises(ValueError, match="no usable answer in 5 rounds"):
        play(matching_pennies(), outside_agent("http://127.0.0.1:9", retries=0), 20)


def test_after_a_retry_the_good_answer_counts():
    answers = iter(["no idea", "0"])
    agent, policy, _ = ask_once(lambda h, q: say(h, next(answers)), retries=2)
    assert policy.tolist() == [1, 0]
    assert agent.unanswered == 0
    assert [set(tried) for tried in agent.exchanges[0]["tries"]] == [
        {"answer", "problem"},
        {"answer"},
    ]


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "MY_KEY"])
def test_the_key_is_sent_and_never_kept_even_if_echoed(monkeypatch, variable):
    monkeypatch.setenv(variable, SECRET)
    key = None if variable == "OPENAI_API_KEY" else variable
    agent, _, seen = ask_once(
        lambda h, q: say(h, f"your key is {h.headers['Authorization']}"), key=key
    )
    assert seen[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert "***" in agent.exchanges[0]["tries"][0]["answer"]
    assert SECRET not in repr(agent) + repr(vars(agent)) + agent.__name__


def test_a_key_never_leaves_over_plain_http(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert not ChatAgent("http://example.org")._secret()
    assert ChatAgent("https://example.org")._secret() == SECRET
    with pytest.raises(ValueError, match="only over https or to this machine"):
        ChatAgent("http://example.org", key="OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ('agent("ftp://x")', "must be http"),
        ('agent("http://")', "must be http"),
        ('agent("http://x:99999")', "must be http"),
        ('agent("http://user:pass@x")', "must hold no password"),
        ('agent("http://127.0.0.1", timeout=0)', "timeout must be above 0"),
        ('agent("http://127.0.0.1", retries=-1)', "retries must be a whole number"),
        (
            'agent("http://127.0.0.1", key="NO_SUCH_VARIABLE")',
            "NO_SUCH_VARIABLE, but it is not set",
        ),
        ("agent(3)", "must be a url or python:module:function, but is 3"),
        ("agent()", "missing a required argument"),
        ('agent("python:json")', "must be python:module:function"),
        ('agent("python:no_such_module:f")', "cannot be imported: ModuleNotFoundError"),
        ('agent("python:json:nothing")', "json has no function nothing"),
    ],
)
def test_bad_specs_teach(spec, message):
    with pytest.raises(ValueError, match=message):
        read_learner(spec)


@pytest.mark.parametrize(
    "spec",
    [
        'agent("http://127.0.0.1:8000")',
        'agent("https://x/v1", model="m", timeout=5.0)',
        'agent("python:numpy:argmin")',
    ],
)
def test_specs_are_what_repr_prints(spec):
    assert str(read_learner(spec)) == spec


def test_every_exchange_is_in_the_log_that_audit_reads(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    answers = iter(["0", f"no, {SECRET}", "[0.5, 0.5]"] + ["1"] * 9)
    log = tmp_path / "log.jsonl"
    with server(lambda h, q: say(h, next(answers))) as (url, _):
        learners = ["--learners", f'agent("{url}", retries=0)', "hedge(0.1)"]
        main(["play", "matching-pennies", *learners, "--rounds", "12", "--log", str(log)])
    assert SECRET not in log.read_text() + capsys.readouterr().out
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    own = [row for row in rows if "exchange" in row]
    assert len(own) == 12
    assert own[1]["answered"] is False
    assert own[1]["exchange"]["tries"][0]["answer"] == "no, ***"
    assert "This is round 2." in own[1]["exchange"]["question"]
    agents = audit_log(log).agents
    assert [agent.unanswered for agent in agents] == [1, 0]
    assert "1 rounds had no usable answer and were played uniformly" in agents[0].notes


def test_rounds_before_an_agent_fell_silent_are_in_the_log(capsys, tmp_path):
    answers = iter(["0", "[0.5, 0.5]"] + ["no comment"] * 5)
    log = tmp_path / "log.jsonl"
    with server(lambda h, q: say(h, next(answers))) as (url, _):
        learners = ["--learners", f'agent("{url}", retries=0)', "hedge(0.1)"]
        with pytest.raises(SystemExit):
            main(["play", "matching-pennies", *learners, "--rounds", "12", "--log", str(log)])
    assert "log.jsonl has the 6 rounds before" in capsys.readouterr().err
    (agent, _) = audit_log(log).agents
    assert (agent.rounds, agent.unanswered) == (6, 4)


def test_each_seat_keeps_its_own_exchanges(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    with server(lambda h, q: say(h, "0")) as (url, _):
        main(
            [
                "play",
                "matching-pennies",
                "--learners",
                f'agent("{url}")',
                "--rounds",
                "2",
                "--log",
                str(log),
            ]
        )
    capsys.readouterr()
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert [row["exchange"]["question"].count("This is round 2") for row in rows] == [0, 0, 1, 1]


def test_python_agents_play_and_their_errors_name_the_round(tmp_path, monkeypatch):
    (tmp_path / "my_agents.py").write_text(
        "def good(losses):\n    return len(losses) % 2\n"
        "def bad(losses):\n    return 1 / (2 - len(losses))\n"
        "def wrong(losses):\n    return [0.5, 0.6]\n"
    )
    monkeypatch.chdir(tmp_path)
    played = play(matching_pennies(), read_learner('agent("python:my_agents:good")'), 3)
    assert played.policies[0].argmax(1).tolist() == [0, 1, 0]
    for name, message in (
        ("bad", "in round 1: the answer is neither"),
        ("wrong", "in round 1: a distribution must"),
    ):
        with pytest.raises(ValueError, match=message):
            play(matching_pennies(), read_learner(f'agent("python:my_agents:{name}")'), 3)
    (tmp_path / "my_agents.py").write_text("")
    with pytest.raises(ValueError, match=r"math:sqrt in round 1 failed: TypeError"):
        play(matching_pennies(), read_learner('agent("python:math:sqrt")'), 3)


@pytest.mark.parametrize(
    "inner", ["\n" * 5_000, "\n " * 200_000, "`" * 400_000, "json\n" * 100_000, "[" * 400_000]
)
@pytest.mark.parametrize("fence", ["```", "```json\n", ""])
def test_reading_an_answer_is_linear_in_its_length(fence, inner):
    started = time.process_time()
    with pytest.raises(ValueError, match="neither an action nor a distribution"):
        read_answer(fence + inner, 3)
    assert time.process_time() - started < 2  # a backtracking reader took minutes
