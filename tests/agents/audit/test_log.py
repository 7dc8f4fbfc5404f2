"""Reading logs: every way a row may be written, every way it may be wrong, and no row is lost."""

import json
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest

from regrax.agents.audit import Layout, audit_log
from regrax.agents.audit.formats import MAX_LINE_BYTES
from regrax.agents.audit.read import read_log
from regrax.cli import main

GOOD = {"policy": [0.5, 0.5], "losses": [0.0, 1.0]}
BANDIT = {"action": "a", "loss": 0.5, "propensity": 0.25}
NEW = {**GOOD, "agent": "new"}
SIZE = "losses must be finite numbers with absolute value at most 1e+50"
BAD = [
    (b"{", "not JSON: Expecting property name enclosed in double quotes at character 2"),
    (b"[1, 2]", "a row must be of type object, got array"),
    (b"\xff\xfe", "not UTF-8 text: byte 1 is 0xff"),
    (b'{"round": ' + b"1" * 5000 + b"}", "round: Integer value out of range"),
    (b'{"a": ' + b"[" * 100_000, "unreadable JSON: maximum recursion depth"),
    (b'{"a": "' + b"x" * MAX_LINE_BYTES + b'"}', f"longer than {MAX_LINE_BYTES:,} bytes"),
    ({"policy": [0.5, 0.5]}, "one of losses, payoffs, loss and payoff, got none"),
    ({**GOOD, "payoffs": [1, 2]}, "got losses and payoffs"),
    ({"losses": [0, 1]}, "must give the action or the policy that was played"),
    ({**GOOD, "policy": [0.5, 0.6]}, "policy must sum to 1 along its last axis, got 1.1"),
    ({**GOOD, "policy": [1.5, -0.5]}, "policy must have no negative entries, got -0.5"),
    ({**GOOD, "policy": [1.0]}, "policy must have 2 entries, as in this agent's first row, got 1"),
    ({"losses": [0, 1, 2], "policy": [1, 0, 0]}, "losses must have 2 entries"),
    ({**GOOD, "losses": [0, "1"]}, "losses[1] must be of type float, got str"),
    ({**GOOD, "losses": [0, True]}, "losses[1] must be of type float, got bool"),
    ({**GOOD, "losses": [0, None]}, "losses[1] must be of type float, got null"),
    ({**GOOD, "losses": [0, [1]]}, "losses[1] must be of type float, got array"),
    ({**GOOD, "losses": [0, float("nan")]}, SIZE),
    ({**GOOD, "losses": [0, 1e60]}, SIZE),
    ({**GOOD, "losses": [0, 10**400]}, "losses[1]: Number out of range"),
    ({**GOOD, "losses": "many"}, "losses must be of type object | array, got str"),
    ({**GOOD, "losses": {"a": 0, "b": 1}}, "losses must be a list, as in this agent's first row"),
    ({"losses": [0, 1], "action": 2}, "action must be an integer from 0 to 1, got 2"),
    ({"losses": [0, 1], "action": "up"}, "action must be an integer from 0 to 1, got 'up'"),
    ({"losses": [0, 1], "action": True}, "action must be of type int | float | str, got bool"),
    (
        {"loss": 1, "action": 0, "propensity": 1},
        "the losses of every action, but this one gives loss",
    ),
    ({**GOOD, "round": -1}, "round must be an integer >= 0, got -1"),
    ({**GOOD, "round": 1.5}, "round must be an integer >= 0, got 1.5"),
    ({**GOOD, "round": "two"}, "round must be of type int | float, got str"),
    ({**GOOD, "round": 10**30}, "round must be an integer >= 0"),
    ({**GOOD, "round": 1}, "round must increase within an agent's episode, got 1 after 1"),
    ({**GOOD, "agent": ["x"]}, "agent must be of type int | float | str, got array"),
    ({**GOOD, "agent": ""}, "agent must be a name or an integer, got ''"),
    ({**GOOD, "episode": True}, "episode must be of type int | float | str, got bool"),
    ({**GOOD, "episode": 0.5}, "episode must be a name or an integer, got 0.5"),
    ({**GOOD, "episode": float("inf")}, "episode must be a name or an integer, got inf"),
    ({**NEW, "losses": []}, "losses must have between 1 and 1000 entries, got 0"),
    ({**NEW, "losses": [0] * 1001}, "must have between 1 and 1000 entries, got 1001"),
]
BAD_BANDIT = [
    ({"loss": 1, "propensity": 0.5}, "must give the action that received it"),
    ({"loss": 1, "action": "a"}, "must give its propensity or policy"),
    ({**BANDIT, "propensity": 0}, "propensity must be from 1e-09 to 1, got 0"),
    ({**BANDIT, "propensity": 1.5}, "propensity must be from 1e-09 to 1, got 1.5"),
    ({**BANDIT, "loss": "x"}, "loss must be of type float, got str"),
    ({**BANDIT, "policy": {"a": 1.0}}, "either every row of a bandit agent must give its policy"),
    ({**BANDIT, "losses": [1, 2]}, "got losses and loss"),
    (GOOD, "earlier rows of this agent give only the loss received, but this one gives losses"),
]
CASES = [(GOOD, *case) for case in BAD] + [(BANDIT, *case) for case in BAD_BANDIT]


@pytest.mark.parametrize(("good", "row", "reason"), CASES)
def test_a_bad_row_is_reported_with_line_and_reason(write, good, row, reason):
    log = read_log(write([{**good, "round": 1}, row, {**good, "round": 2}]))
    ((line, why),) = log.bad
    assert line == "2"
    assert reason in why
    assert (log.rows, log.bad_rows) == (2, 1)


def test_a_propensity_must_match_the_policy(write):
    row = {"action": "b", "loss": 1, "policy": {"a": 0.25, "b": 0.75}}
    log = read_log(write([row, {**row, "propensity": 0.5}, {**row, "propensity": 0.75}]))
    assert log.bad == [("2", "propensity must equal the policy's 0.75 for that action, got 0.5")]
    assert log.agents["agent"].read("0")[:, :3].tolist() == [[1.0, 1.0, 0.75]] * 2


def test_every_bad_row_is_reported_and_every_good_one_read(write):
    rng = np.random.default_rng(0)
    rows = [GOOD if good else {"losses": [0, 1]} for good in rng.random(10_000) < 0.7]
    log = read_log(write(rows))
    spans = [span.split("-") for span in log.bad[0][0].split(", ")]
    reported = [line for span in spans for line in range(int(span[0]), int(span[-1]) + 1)]
    assert reported == [line for line, row in enumerate(rows, 1) if row is not GOOD]
    assert log.rows + log.bad_rows == 10_000


def test_names_payoffs_actions_and_defaults(write):
    rows = [
        {"policy": {"b": 1.0, "a": 0.0}, "payoffs": {"a": 1, "b": 2}},
        {"action": "a", "payoffs": {"b": 4, "a": 3}, "round": 7},
        {"agent": 3, "episode": "x", "action": 1.0, "losses": [5, 6], "round": 0},
    ]
    log = read_log(write(rows))
    assert log.agents["agent"].schema.actions == ("a", "b")
    assert log.agents["agent"].read("0").tolist() == [[0, 1, -1, -2], [1, 0, -3, -4]]
    assert log.agents["3"].read("x").tolist() == [[0, 1, 5, 6]]
    assert [agent.skipped for agent in log.agents.values()] == [5, 0]


def test_csv_reads_like_json_lines(write):
    lines = [
        b"episode,agent,round,action,losses.up,losses.down,comment",
        b'0,row,1,up,0.25,1,"x, y"',
        b"0,row,2,down,0.5,,",
        b"0,row,3,up",
        b'1,row,1,down,1e-3,2,"""quoted""',
        b'in two lines"',
    ]
    log = read_log(write(lines, "log.csv"))
    assert log.agents["row"].read("0").tolist() == [[1, 0, 0.25, 1]]
    assert log.agents["row"].read("1").tolist() == [[0, 1, 0.001, 2]]
    reasons = dict(log.bad)
    assert "losses must have 2 entries" in reasons["3"]
    assert "a row must have 7 cells, one per column, got 4" in reasons["4"]


def test_csv_cells_may_be_json_and_may_be_broken(write):
    pair = b'"[0.5, 0.5]","[0, 1]"'
    lines = [b"policy,losses", pair, b'"[0.5","[0, 1]"', b"\xff,1", b'"a"b,c', b"1,2\x00"]
    log = read_log(write(lines, "log.csv"))
    assert log.rows == 1
    reasons = dict(log.bad)
    assert reasons["3"] == "policy must be of type object | array, got str"
    assert reasons["4, 6"] == "not UTF-8 text"
    assert "not CSV" in reasons["5"]
    rows = [f"{n},a,1,1".encode() for n in ("1", "1" * 400, "1" * 5000, "2e400", "nan")]
    log = read_log(write([b"round,action,losses.a,losses.b", *rows], "log.csv"))
    assert (log.rows, log.bad_rows) == (1, 4)


@pytest.mark.extras
def test_parquet_reads_like_json_lines(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: the extra `pyarrow`")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"agent": "x", "round": t, **GOOD, "losses": [0.0, t / 8]} for t in range(9)]
    path = tmp_path / "log.parquet"
    parquet.write_table(arrow.Table.from_pylist([*rows, {"round": 10, "losses": [1.0]}]), path)
    log = read_log(path)
    assert log.agents["x"].read("0").tolist() == [[0.5, 0.5, 0, t / 8] for t in range(9)]
    assert [lines for lines, _ in log.bad] == ["10"]
    for size in (0, 3, 50, 400):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(ValueError, match=r"not a readable Parquet file|no usable rows"):
            audit_log(path)


ROUNDS = [{"action": t % 2, "losses": [1.0, 0.0]} for t in range(12)]
LINES = "\n".join(map(json.dumps, ROUNDS))
ARRAY = "[\n" + ",\n".join(map(json.dumps, ROUNDS)) + "\n]\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.txt", "", "must end in .jsonl, .ndjson, .json, .csv, .parquet, .eval, all but"),
        ("log", "", "got log"),
        ("log.jsonl", "", r"has no usable rows \(0 bad\); the file has no rows"),
        ("log.jsonl", "\n\nx\n", r"has no usable rows \(1 bad\); line 3: not JSON"),
        ("log.jsonl", "x\nx\n\nx\n", r"has no usable rows \(3 bad\); line 1: not JSON"),
        ("log.csv", "a,a\n1,2\n", "column names must be unique, got a twice"),
        ("log.csv", '"a"b\n', "the first line of a CSV file must name the columns"),
        ("quote.csv", 'action,losses\n0,"[1, 0]"\n1,"[1, 0]\n0,0\n', "must close every quote"),
        ("array.json", ARRAY[:-3], "must be a complete JSON array"),
        ("cut.json", ARRAY[:-3] + ',\n{"act', "must be a complete JSON array"),
        ("object.json", '{"rows": ' + ARRAY[:-3], "got an array element on line 2"),
    ],
)
def test_a_file_that_is_not_a_log_is_an_error(write, name, content, message):
    with pytest.raises(ValueError, match=message):
        audit_log(write([content.encode()], name))


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        (ARRAY, 0),
        (json.dumps(ROUNDS), 0),
        (json.dumps(ROUNDS, indent=2), 0),
        ("\ufeff" + json.dumps(ROUNDS, indent=1), 0),
        (LINES, 0),
        ('{"action": 0, "losses": [1,\n' + LINES, 1),
        ("[1, 2]\n" + LINES, 1),
        ("nonsense\n" + LINES, 1),
        ('"text"\n' + LINES, 1),
    ],
)
def test_a_json_document_reads_like_json_lines(write, text, bad):
    audit = audit_log(write([text.encode()], "log.json"))
    assert (audit.rows, audit.bad_rows) == (12, bad)
    assert audit.agents[0].regret["external"].total == 6


VALUES = [
    None, True, 0, 1, 2, -1, 0.5, 1e308, -1e60, float("nan"), float("inf"), "", "a", "\ud800", "0", [], {}, [[]],
    [0.5, 0.5], [1, 0], [0, 1, 0], [0.5, "x"], [None], {"a": 1}, {"a": 0.5, "b": 0.5}, {"b": 1, "a": 0}, 10**25,
    "heads", ["heads", "tails"], [[0, "heads"]], [{"role": "assistant", "content": "heads"}, 1], {"role": "assistant"},
]  # fmt: skip
FIELDS = [
    "episode", "agent", "round", "policy", "action", "propensity", "losses", "payoffs", "loss", "payoff", "others",
    "player", "chat", "turns", "logs", "rewards", "example_id", "completion", "traces",
]  # fmt: skip
NAMED = {"policy": {"a": 0.5, "b": 0.5}, "losses": {"a": 0, "b": 1}}
STARTS = [GOOD, BANDIT, {"action": 1, "losses": [0, 1]}, NAMED, {}]
COIN = ("heads", "tails")
OPTIONS = [
    {"layout": Layout(format="textarena", actions=COIN)},
    {"layout": Layout(format="verifiers")},
    {"layout": Layout(rows="turns")},
    {"layout": Layout(messages="chat", actions=COIN)},
    {"game": "matching-pennies"},
]


def fuzzed(rng):
    """A log of a few rows, some with fields of odd values, some with bytes changed."""
    start = STARTS[rng.integers(len(STARTS))]
    lines = []
    for t in range(rng.integers(1, 9)):
        row = {**start, "round": t + 1}
        while rng.random() < 0.3:
            row[FIELDS[rng.integers(len(FIELDS))]] = VALUES[rng.integers(len(VALUES))]
        line = bytearray(json.dumps(row).encode())
        while rng.random() < 0.2:
            line[rng.integers(len(line))] = rng.integers(256)
        lines.append(bytes(line))
    return lines


@pytest.mark.parametrize("trials", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_fuzzed_logs_lose_no_row_and_are_audited_to_the_end(capsys, write, tmp_path, trials):
    rng = np.random.default_rng(trials)
    for trial in range(trials):
        path = write(fuzzed(rng))
        with suppress(ValueError):  # nothing names the actions
            log = read_log(path)
            lines = path.read_bytes().split(b"\n")
            assert log.rows + log.bad_rows == sum(bool(line.strip()) for line in lines)
            if log.rows and trial % 40 == 0:
                main(["audit", str(path), "--html", str(tmp_path / "page.html")])
        with suppress(ValueError):
            read_log(path, **OPTIONS[trial % len(OPTIONS)])
    capsys.readouterr()


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("regrax, regrax.cli, regrax.games, regrax.training", "msgspec httpx regex"),
        ("regrax.agents.audit", "httpx regex"),
    ],
)
def test_libraries_are_imported_when_needed(modules, absent):
    code = f"import sys, {modules}; assert not {{*{absent.split()!r}}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", code], check=True)
