"""Outside agents against a real server on this machine: honest, slow, broken and hostile."""

import itertools
import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jax
import numpy as np
import pytest

from regrax.agents import AnswerReader, ChatAgent, outside_agent, play_episodes
from regrax.agents._expression import Expression
from regrax.agents._http import MAX_ANSWER_BYTES
from regrax.agents.audit import audit_log
from regrax.cli import main
from regrax.cli.inputs import read_learner
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
                respond(self, body["messages"][-1]["content"])

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


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("regrax.agents._chat.sleep", lambda _: None)


def ask(agent, losses=((0.5, 1.0),), actions=()):
    state = agent.init(2, 20)._replace(losses=np.array(losses), actions=actions)
    return np.asarray(agent.policy(state))


def ask_once(respond, retries=0, timeout=5.0, **more):
    with server(respond) as (url, seen):
        agent = ChatAgent(url, timeout=timeout, retries=retries, **more)
        return agent, ask(agent), seen


def read(text, names=("0", "1", "2"), **more):
    return AnswerReader(**more).read(text, names)


def test_an_honest_agent_is_told_the_history_and_believed():
    agent, policy, seen = ask_once(lambda h, q: say(h, "1"))
    assert policy.tolist() == [0, 1]
    path, _, body = seen[0]
    assert path == "/v1/chat/completions"
    assert body["model"] == "default"
    assert "1: 0.5, 1" in body["messages"][0]["content"]
    assert agent.unanswered == 0
    assert agent.exchanges[0]["tries"] == [{"answer": "1", "parser": "json"}]


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
    np.testing.assert_allclose(read(text), policy)


@pytest.mark.parametrize(
    ("text", "action", "parser"),
    [
        ("Let me think ... Final answer: 1", 1, "number"),
        ("heads", 0, "name"),
        ("**Tails!**", 1, "name"),
        ("I would take action 1.", 1, "number"),
        ("I choose 1, since action 0 lost more.", 1, "number"),
        ("heads lost more than tails, so my choice is: tails rather than heads", 1, "name"),
        ("Heads lost 0.7 and tails 0.2.\nFinal answer:\n\n**tails**", 1, "name"),
        ("[tails]", 1, "name"),
        ("<think>heads? or [0.5, 0.5]?</think>\ntails", 1, "think+name"),
        ("<think>0</think> I say 1", 1, "think+number"),
        ('Here you are: {"reasoning": "it lost less", "action": "Heads"}. Good luck!', 0, "json"),
        ('Sure!\n```json\n{"action": 1}\n```\nIt has been best.', 1, "json"),
        ('{"move": "tails"}', 1, "json"),
        ('{"heads": 0.0, "tails": 1.0}', 1, "json"),
        ('{"policy": {"tails": 1, "heads": 0}}', 1, "json"),
        ("Rounds 1 to 12 say so: 1", 1, "number"),
        ('"1"', 1, "json"),
    ],
)
def test_each_style_is_read_by_its_parser_and_counted(text, action, parser):
    reader = AnswerReader()
    assert reader.read(text, ("heads", "tails")).argmax() == action
    assert "+".join(reader.counts) == parser


def test_a_users_expression_comes_first_and_sees_the_end_only():
    reader = AnswerReader(regex=r"move (\d)")
    assert reader.read("move 0, move 1; the answer is 0", ("a", "b")).argmax() == 1
    assert reader.read("move 1" + " " * 5000 + "the answer is 0", ("a", "b")).argmax() == 0
    assert dict(reader.counts) == {"regex": 1, "number": 1}


def test_an_expression_that_never_ends_is_killed():
    reader, evil = AnswerReader(("regex",), regex=r"(a+)+$"), "a" * 40 + "b"
    with pytest.raises(ValueError, match=r"regex took more than 0.2 s"):
        reader.read(evil, ("a", "b"), 0.2)
    assert reader.read("b a", ("a", "b"), 5.0).argmax() == 0  # a fresh process
    with pytest.raises(ValueError, match="regex took"):
        reader.read(evil, ("a", "b"), 0.2)
    with pytest.raises(TimeoutError, match="on 3 answers"):
        reader.read(evil, ("a", "b"), 0.2)


@pytest.mark.parametrize("pattern", ["(", "a" * 1001, "a{99999999999}"])
def test_bad_expressions_teach(pattern):
    with pytest.raises(ValueError, match="regex must be a regular expression"):
        Expression(pattern)


def test_names_that_are_numbers_are_names():
    assert read("Answer: 2", ("1", "2", "3")).tolist() == [0, 1, 0]
    assert read("2", ("1", "2", "3")).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="action"):
        read("0", ("1", "2", "3"))


@pytest.mark.parametrize(
    "text",
    [
        "", "3", "-1", "1.5", "true", "null", "I cannot help.", "[1, 0]", "[0.5, 0.5, 0.5]", "I cannot choose.",
        "[1, 0, NaN]", "[2, -1, 0]", '{"action": 1, "policy": [1, 0, 0]}', '{"colour": 1}', "[" * 100_000,
        "[1, 0, true]", "[[1, 0, 0]]", "1" * 5000, '{"action": [1]}', "<think>1", "2 <think> or 1", "answer: 7",
        "50 %", "So it is 0.5", '{"action": {"action": 1}}', "r2d2", '{"policy": [0.1, 0.2]} or action 1',
    ],
)  # fmt: skip
def test_refusals_and_nonsense_are_never_guessed_at(text):
    reader = AnswerReader()
    with pytest.raises(ValueError, match=r"action|distribution|read by none"):
        reader.read(text, ("0", "1", "2"))
    assert reader.counts["unread"] == 1


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
    send(handler, b" " * (MAX_ANSWER_BYTES + 10))


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
    (lambda h, q: say(h, "I cannot choose."), "read by none of think, regex, json, name, number"),
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
        {"answer", "parser"},
    ]


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "MY_KEY"])
def test_the_key_is_sent_and_never_kept_even_if_echoed(monkeypatch, variable):
    monkeypatch.setenv(variable, SECRET)
    key = None if variable == "OPENAI_API_KEY" else variable
    agent, _, seen = ask_once(
        lambda h, q: say(h, f"your key is {h.headers['Authorization']}"), api_key_env=key
    )
    assert seen[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert "***" in agent.exchanges[0]["tries"][0]["answer"]
    assert SECRET not in repr(agent) + repr(vars(agent)) + str(agent)


def test_a_key_never_leaves_over_plain_http(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    sent = []
    monkeypatch.setattr(
        "regrax.agents._endpoint.post", lambda url, body, headers, timeout: sent.append(headers)
    )
    for url in ("http://example.org", "https://example.org"):
        ask(ChatAgent(url, retries=0))
    assert "Authorization" not in sent[0]
    assert sent[1]["Authorization"] == f"Bearer {SECRET}"
    with pytest.raises(ValueError, match="only over https or to this machine"):
        ChatAgent("http://example.org", api_key_env="OPENAI_API_KEY")


def test_a_key_in_the_place_of_its_variable_or_in_the_url_is_never_printed(capsys, tmp_path):
    play_it = [
        "play",
        "matching-pennies",
        "--rounds",
        "6",
        "--log",
        str(tmp_path / "log"),
        "--learners",
    ]
    with pytest.raises(SystemExit):
        main([*play_it, f'agent("https://127.0.0.1", api_key_env="{SECRET}")'])
    assert "api_key_env must name an environment variable that is set" in capsys.readouterr().err
    with server(lambda h, q: say(h, f"heads {h.path}")) as (url, seen):
        main([*play_it, f'agent("{url}?key={SECRET}")'])
    assert SECRET in seen[0][0]
    assert ChatAgent(f"{url}?v=1&key={SECRET}").endpoint.clean(f"1 {SECRET}") == "1 ***"
    with pytest.raises(SystemExit):
        main([*play_it, f'agent("http://127.0.0.1:9?key={SECRET}", retries=0)'])
    with pytest.raises(SystemExit):
        main([*play_it, f'agent("ftp://127.0.0.1:9?key={SECRET}", retries=0)'])
    out = capsys.readouterr()
    assert SECRET not in out.out + out.err + (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ('agent("ftp://x")', "must be http"),
        ('agent("http://")', "must be http"),
        ('agent("http://x:99999")', "must be http"),
        ('agent("http://user:pass@x")', "must hold no password"),
        ('agent("http://127.0.0.1", timeout=0)', "timeout must be above 0"),
        ('agent("http://127.0.0.1", retries=-1)', "retries must be an integer"),
        ('agent("http://127.0.0.1", api_key_env="NO_SUCH_VARIABLE")', "variable that is set"),
        ('agent("http://127.0.0.1", timeout=1e300)', "timeout must be at most 86400 s"),
        ('agent("http://exa mple")', "must be http"),
        ('agent("http://127.0.0.1", history="none")', 'must be "full" or "bandit"'),
        ('agent("http://127.0.0.1", prompt="$nonsense")', "prompt must be text with some of"),
        ('agent("http://127.0.0.1", prompt="5 $ each")', "prompt must be text with some of"),
        ('agent("http://127.0.0.1", max_tokens=0)', "max_tokens must be an integer"),
        ('agent("http://127.0.0.1", parsers="json,tea")', "parsers must be some of .*, got 'tea'"),
        ('agent("http://127.0.0.1", regex="(")', "regex must be a regular expression"),
        ("agent(3)", "must be a url, python:module:function or chat:module:function, got 3"),
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
        'agent("https://x", system="Be brief.", history="bandit", temperature=0.5, max_tokens=9)',
        'agent("https://x", parsers="json,name", regex="a+")',
        'agent("https://x", api_key_env="HOME", retries=0, prompt="$actions", shown=3)',
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
    "inner",
    ["\n" * 5_000, "\n " * 200_000, "`" * 400_000, "json\n" * 100_000, "[" * 400_000, "{" * 400_000,
     "a1 " * 100_000, "answer " * 60_000, "9" * 400_000, "-9." * 100_000, "</think>" * 50_000],
)  # fmt: skip
@pytest.mark.parametrize("fence", ["```", "```json\n", ""])
def test_reading_an_answer_is_linear_in_its_length(fence, inner):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"neither an action nor a distribution|read by none"):
        read(fence + inner)
    assert time.process_time() - started < 2  # a backtracking reader took minutes


def test_templates_names_system_prompt_and_limits_reach_the_model():
    game, seen = matching_pennies(), []
    prompt = "$player of $game, round $round of $rounds: $actions ($count). $feedback. $history $$"
    agent = ChatAgent(
        lambda messages: seen.append(messages) or "tails", prompt=prompt, system="Hi."
    )
    (played,) = play_episodes(game, [agent, Hedge(0.1)], 2)
    assert played.policies[0].tolist() == [[0, 1]] * 2
    assert seen[0][0] == {"role": "system", "content": "Hi."}
    first, second = (messages[1]["content"] for messages in seen)
    name = f"{game.players[0]} of {game.name}"
    assert (
        first
        == f"{name}, round 1 of 2 rounds: heads, tails (2). the loss of every action. none yet $"
    )
    assert "(round: heads, tails)\n1: 0, 0\nSums over all 1 rounds: 0, 0 $" in second
    _, _, asked = ask_once(lambda h, q: say(h, "1"), temperature=0.5, max_tokens=16)
    assert (asked[0][2]["temperature"], asked[0][2]["max_tokens"]) == (0.5, 16)


def test_a_bandit_history_tells_the_loss_of_the_drawn_action_only():
    agent = ChatAgent(lambda messages: "0", history="bandit", names=("up", "down"), shown=2)
    ask(agent, np.array([[0.25, 9], [9, 0.5], [9, 0.75]]), (0, 1, 1))
    told = agent.exchanges[0]["question"]
    assert "9" not in told
    assert "(the last 2 rounds, round: action, its loss)\n2: down, 0.5\n3: down, 0.75" in told
    assert "Means over all 3 rounds: up 0.25 in 1, down 0.625 in 2" in told
    with pytest.raises(ValueError, match="so they must be drawn: give a seed"):
        play(matching_pennies(), agent, 2)
    play(matching_pennies(), agent, 2, key=jax.random.key(0))


def test_episodes_begin_anew_and_their_answers_are_counted(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    answers = itertools.cycle(["heads", "Final answer: 1", "<think>hm</think>0", '{"action": 1}'])
    with server(lambda h, q: say(h, next(answers))) as (url, seen):
        learners = ["--learners", f'agent("{url}")', "exp3(0.1)"]
        asked = ["--rounds", "4", "--episodes", "3", "--seed", "1", "--log", str(log)]
        main(["play", "matching-pennies", *learners, *asked, "--json"])
    result = json.loads(capsys.readouterr().out)
    assert result["episodes"] == 3
    read_by = {"name": 3, "number": 3, "think": 3, "json": 6}
    assert result["players"][0]["answers"] == read_by
    first = [body["messages"][0]["content"] for _, _, body in seen]
    assert [text.count("none yet") for text in first] == [1, 0, 0, 0] * 3
    audit = audit_log(log)
    assert [agent.episodes for agent in audit.agents] == [3, 3]
    assert audit.agents[0].regret["external"].total == pytest.approx(result["players"][0]["regret"])
    rows = map(json.loads, log.read_text().splitlines())
    draws = [row["action"] for row in rows if row["agent"] == "player 2"]
    assert len({tuple(draws[i : i + 4]) for i in (0, 4, 8)}) > 1


def test_a_chat_model_in_this_process_named_in_a_spec(tmp_path, monkeypatch):
    (tmp_path / "my_chat.py").write_text(
        "def say(messages):\n    return 'I pick tails'\n"
        "def bad(messages):\n    raise SystemExit('no')\n"
        "def number(messages):\n    return 3\n"
    )
    (tmp_path / "prompt.txt").write_text("Round $round: choose.")
    monkeypatch.chdir(tmp_path)
    agent = read_learner('agent("chat:my_chat:say", prompt="@prompt.txt")')
    (played,) = play_episodes(matching_pennies(), [agent, Hedge(0.1)], 2)
    assert played.policies[0].argmax(1).tolist() == [1, 1]
    assert agent.exchanges[1]["question"] == "Round 2: choose."
    for name, message in (
        ("bad", "failed: SystemExit: no"),
        ("number", "answer with text, got int"),
    ):
        with pytest.raises(ValueError, match=message):
            play(matching_pennies(), read_learner(f'agent("chat:my_chat:{name}")'), 9)
    with pytest.raises(FileNotFoundError):
        read_learner('agent("chat:my_chat:say", system="@nothing.txt")')
