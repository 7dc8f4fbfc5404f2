"""The examples that the docs show run, and are as short as they say."""

import runpy
from dataclasses import replace
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_an_experiment_of_ones_own_takes_sixty_lines_and_is_computed_once(tmp_path, monkeypatch):
    file = EXAMPLES / "own_experiment.py"
    assert len(file.read_text().splitlines()) <= 60
    own = runpy.run_path(str(file))
    config, computed = replace(own["Config"](), rounds=20), []
    compute = own["compute"]
    own["main"].__globals__["compute"] = lambda config: computed.append(config) or compute(config)
    for _ in range(2):
        own["main"](tmp_path, config)
        page = (tmp_path / "report.html").read_text()
        assert page.count("<polyline") == 3
    own["main"](tmp_path, replace(config, rounds=30))
    assert computed == [config, replace(config, rounds=30)]


def test_two_versions_of_a_chat_model_are_seated_audited_and_compared(tmp_path, capsys):
    found = runpy.run_path(str(EXAMPLES / "chat_agents.py"))["main"](tmp_path, 12, 8)
    (pair,) = found.pairs
    assert pair.paired
    assert pair.difference < 0
    assert pair.words == f"second.jsonl is better than first.jsonl (p = {pair.adjusted:.2g})"
    told = capsys.readouterr().out
    for parser in ("number", "name", "json", "think"):
        assert f"'{parser}': " in told
    assert told.count(", 0 unanswered") == 2
    assert {file.name for file in tmp_path.iterdir()} == {
        *("first.jsonl", "first.html", "second.jsonl", "second.html", "compare.html")
    }
