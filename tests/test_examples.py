"""The examples that the docs show run, and are as short as they say."""

import ast
import json
import re
import runpy
import shlex
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import theory
from regrax.cli import main
from regrax.learners import Hedge, PerRound

EXAMPLES = Path(__file__).parent.parent / "examples"
DOCS = Path(__file__).parent.parent / "docs"


def test_a_custom_experiment_takes_sixty_lines(tmp_path, monkeypatch):
    file = EXAMPLES / "own_experiment.py"
    assert len(file.read_text().splitlines()) <= 60
    own = runpy.run_path(str(file))
    config, computed = replace(own["Config"](), rounds=20), []
    compute = own["compute"]
    own["main"].__globals__["compute"] = lambda config: computed.append(config) or compute(config)
    for _ in range(2):
        own["main"](tmp_path, config)
        page = (tmp_path / "report.html").read_text()
        assert page.count('<span class="key') == 3
    own["main"](tmp_path, replace(config, rounds=30))
    assert computed == [config, replace(config, rounds=30)]


def test_a_custom_learner_takes_fifteen_lines(capsys):
    file = EXAMPLES / "own_learner.py"
    learner = next(n for n in ast.parse(file.read_text()).body if isinstance(n, ast.ClassDef))
    assert learner.end_lineno - learner.lineno < 15
    runpy.run_path(str(file), run_name="__main__")
    assert "CopyTheWinner(0.3) & 0." in capsys.readouterr().out


@pytest.mark.slow
def test_two_chat_models_are_played_audited_and_compared(tmp_path, capsys):
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


def test_the_layout_on_the_audit_page_reads_logs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "how-to" / "audit.md").read_text()
    (toml,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "map.toml").write_text(toml)
    chat = [
        {"role": "assistant", "content": f"I think so. MOVE: {name}"} for name in ("rock", "paper")
    ]
    record = {"id": 7, "game_id": 7, "meta": {"model": "m"}, "chat": chat}
    record |= {"theirs": ["paper", "paper"], "info": {"reward": 1.0}}
    (tmp_path / "rollouts.jsonl").write_text(json.dumps(record))
    (command,) = re.findall(r"    regrax (audit rollouts.*?[^\\])\n", page, re.S)
    main([*shlex.split(command.replace("\\\n", " ")), "--json"])
    main(["audit", "rollouts.jsonl", "--layout", "map.toml", "--json"])
    first, second = (json.loads(line)["agents"][0] for line in capsys.readouterr().out.splitlines())
    assert (first["loss"]["total"], first["regret"]["external"]["total"]) == (1, 3)
    assert (second["feedback"], second["loss"]["total"]) == ("received", -1)
    assert (first["answers"], second["answers"]) == ({"name": 2}, {"regex": 2})


def test_the_trained_network_has_the_worst_case_on_the_page():
    example = runpy.run_path(str(EXAMPLES / "worst_case_training.py"))
    trained = json.loads((DOCS / "figures" / "worst-case-trained.json").read_text())
    blank = example["SumNetwork"](jax.random.key(0))
    weights = [np.array(leaf, np.float32) for leaf in trained["network_weights"]]
    network = jax.tree.unflatten(jax.tree.structure(blank), map(jnp.asarray, weights))
    found = theory.worst_case(network, 3, 20)
    assert found.regret == pytest.approx(trained["network"], abs=1e-9)
    assert f"| {found.regret:.6f} |" in (DOCS / "explanation" / "worst-case.md").read_text()
    assert theory.minimax(3, 20) < found.regret < 3.077209


@pytest.mark.slow
def test_training_on_its_worst_cases_beats_the_best_constant_step():
    example = runpy.run_path(str(EXAMPLES / "worst_case_training.py"))
    hedge = Hedge(PerRound(jnp.full(20, 0.66)))
    options = {"repeats": 25, "steps": 30, "rate": 0.02, "worst": example["exactly"]}
    best, regret = example["train"](hedge, **options)
    assert theory.worst_case(best, 3, 20).regret == pytest.approx(regret, abs=1e-9)
    assert regret < 2.85
