"""Logs as Inspect, verifiers and TextArena write them: read without conversion, with numbers computed by hand."""

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from regrax.agents.audit import Layout, audit_log
from regrax.cli import main
from regrax.games import rock_paper_scissors

LOGS = Path(__file__).parents[2] / "data" / "logs"
MOVES = ("rock", "paper", "scissors")
OTHERS = {
    "inspect": "metadata.opponent",
    "verifiers-0.1": "opponent",
    "verifiers-0.4": "info.opponent",
}


def by_hand(episodes):
    """Mean loss and external regret of `[(own moves, other moves), ...]`; a win pays 1 and a loss costs 1."""
    losses, regrets = [], []
    for own, others in episodes:
        table = [[(MOVES.index(o) - j + 1) % 3 - 1 for j in range(3)] for o in others]
        suffered = sum(row[MOVES.index(m)] for row, m in zip(table, own, strict=True))
        losses.append(suffered)
        regrets.append(suffered - min(np.sum(table, 0)))
    return np.mean(losses), np.mean(regrets)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def moves_in(messages):
    texts = [message["content"] for message in messages if message["role"] == "assistant"]
    return [re.search("|".join(MOVES), text)[0] for text in texts]


def inspect_episodes(samples):
    return [(moves_in(sample["messages"]), sample["metadata"]["opponent"]) for sample in samples]


def verifiers_episodes(path):
    episodes = []
    for record in lines(path):
        if "traces" in record:
            (trace,) = record["traces"]
            messages = [node["message"] for node in trace["nodes"]]
            episodes.append((moves_in(messages), trace["info"]["opponent"]))
        else:
            episodes.append((moves_in(record["completion"]), record["opponent"]))
    return episodes


def check(path, others, agent, episodes):
    audit = audit_log(path, layout=Layout({"others": others}), game="rock-paper-scissors")
    (found,) = audit.agents
    assert (audit.bad_rows, found.agent, found.episodes) == (0, agent, len(episodes))
    loss, regret = by_hand(episodes)
    assert found.loss.total == pytest.approx(loss, abs=1e-12)
    assert found.regret["external"].total == pytest.approx(regret, abs=1e-12)
    return audit


def check_textarena(path):
    episodes = []
    for record in lines(path):
        said = [
            (who, re.search(r"\[(rock|paper|scissors)\]", text)) for who, text in record["logs"]
        ]
        moves = [[m[1] for who, m in said if who == n and m] for n in (0, 1)]
        assert [len(own) for own in moves] == [9, 9]
        episodes.append(moves)
    audit = audit_log(path, game=rock_paper_scissors())
    assert (audit.format, audit.bad_rows) == ("textarena", 1)  # [banana]
    for n, agent in enumerate(audit.agents):
        loss, regret = by_hand([(moves[n], moves[1 - n]) for moves in episodes])
        assert (agent.agent, agent.rounds) == (str(n), 54)
        assert agent.loss.total == pytest.approx(loss, abs=1e-12)
        assert agent.regret["external"].total == pytest.approx(regret, abs=1e-12)


def as_eval(folder, document):
    """An `.eval` file with the compression of older versions."""
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"eval": document["eval"]}))
        for place, sample in enumerate(document["samples"]):
            archive.writestr(f"samples/{place}.json", json.dumps(sample))
    return path


def inspect_log():
    return json.loads(gzip.decompress((LOGS / "inspect.json.gz").read_bytes()))


def test_an_inspect_log_gives_numbers_computed_by_hand(tmp_path):
    document = inspect_log()
    for path in (LOGS / "inspect.json.gz", as_eval(tmp_path, document)):
        episodes = inspect_episodes(document["samples"])
        assert check(path, OTHERS["inspect"], "mockllm/model", episodes).format == "inspect"


@pytest.mark.parametrize(
    ("name", "agent"), [("verifiers-0.1", "agent"), ("verifiers-0.4", "stub-1")]
)
def test_a_verifiers_log_gives_numbers_computed_by_hand(name, agent):
    path = LOGS / f"{name}.jsonl"
    assert check(path, OTHERS[name], agent, verifiers_episodes(path)).format == "verifiers"


def test_a_textarena_log_gives_numbers_computed_by_hand():
    check_textarena(LOGS / "textarena.jsonl")


def test_losses_may_come_from_a_named_score():
    layout = Layout({"payoff": "scores.points.value"}, actions=MOVES)
    (agent,) = audit_log(LOGS / "inspect.json.gz", layout=layout).agents
    assert (agent.feedback, agent.loss.total) == ("received", -0.5)
    with pytest.raises(ValueError, match=r"name the game, or the path of a score.*points"):
        audit_log(LOGS / "inspect.json.gz")
    with pytest.raises(ValueError, match="name the actions or the game"):
        audit_log(LOGS / "verifiers-0.1.jsonl")


def test_letter_grades_are_payoffs(tmp_path):
    document = inspect_log()
    for grade, sample in zip("CIPNCI", document["samples"], strict=True):
        sample["scores"]["points"]["value"] = grade
    layout = Layout({"payoff": "scores.points.value"}, actions=MOVES)
    (agent,) = audit_log(as_eval(tmp_path, document), layout=layout).agents
    assert agent.loss.total == pytest.approx(-2.5 / 6)


def test_players_are_named_and_the_guess_is_printed(capsys):
    path = str(LOGS / "verifiers-0.4.jsonl")
    options = ["--game", "rock-paper-scissors", "--fields", "others=info.opponent"]
    main(["audit", path, *options, "--players", "stub-1=player 2"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "format: verifiers (guessed; --format sets it)"
    with pytest.raises(SystemExit):
        main(["audit", path, *options, "--players", "stub-1=nobody"])
    assert "players must be among player 1, player 2, 0, 1, got 'nobody'" in capsys.readouterr().err


BOMB = io.BytesIO()
with zipfile.ZipFile(BOMB, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("header.json", '{"eval": {"model": "m"}}')
    archive.writestr("samples/1.json", bytes(1 << 26))
ROWS = b'{"action": 0, "losses": [0, 1]}\n' * 999


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("log.jsonl.gz", gzip.compress(bytes(1 << 26)), "more than 300 times its size"),
        ("log.jsonl.gz", gzip.compress(ROWS)[:-9], "not a readable gzip file"),
        ("log.eval", b"PK", r"log\.eval is not a readable zip file"),
        ("log.eval", BOMB.getvalue(), "more than 300 times its size"),
    ],
    ids=range(4),
)
def test_broken_archives_say_why(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        audit_log(tmp_path / name, game="rock-paper-scissors")


@pytest.mark.extras
@pytest.mark.parametrize("tool", ["inspect", "verifiers", "textarena"])
def test_a_log_written_now_gives_numbers_computed_by_hand(tool, tmp_path):
    script = str(Path(__file__).parent / "tool_logs.py")
    subprocess.run([sys.executable, script, tool, str(tmp_path)], check=True, timeout=300)
    if tool == "textarena":
        check_textarena(tmp_path / "textarena.jsonl")
    elif tool == "verifiers":
        path = tmp_path / "traces.jsonl"
        check(path, OTHERS["verifiers-0.4"], "stub-1", verifiers_episodes(path))
    else:
        import zipfile_zstd  # noqa: F401

        samples = json.loads((tmp_path / "inspect.json").read_text())["samples"]
        check(tmp_path / "inspect.json", OTHERS[tool], "mockllm/model", inspect_episodes(samples))
        with zipfile.ZipFile(tmp_path / "inspect.eval") as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            samples = [json.loads(archive.read(name)) for name in names]
        check(tmp_path / "inspect.eval", OTHERS[tool], "mockllm/model", inspect_episodes(samples))
