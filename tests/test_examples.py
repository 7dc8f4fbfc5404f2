"""The examples that the docs show run, and are as short as they say."""

import ast
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


def test_a_learner_of_ones_own_takes_fifteen_lines_and_needs_no_name(capsys):
    file = EXAMPLES / "own_learner.py"
    learner = next(n for n in ast.parse(file.read_text()).body if isinstance(n, ast.ClassDef))
    assert learner.end_lineno - learner.lineno < 15
    runpy.run_path(str(file), run_name="__main__")
    assert "CopyTheWinner(0.3) & 0." in capsys.readouterr().out
