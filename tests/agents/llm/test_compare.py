"""Models before and after training, as numbers, as a page, and on the command line."""

import json
from pathlib import Path

import pytest
import torch
from examples.llm_scratch import scratch_task
from tests.agents.llm.models import byte_pairs, scratch, tiny

from regrax import llm
from regrax._text import number
from regrax.agents.llm import Task, compare_models, save_model
from regrax.cli import main
from regrax.show.report import posttrain_page

TASK = scratch_task(2, 3, decimals=0)


def compared():
    before, tokenizer = scratch(TASK)
    after, _ = scratch(TASK, seed=1)
    return compare_models(before, after, tokenizer, TASK, sequences=50, elsewhere=("laplace",))


def test_models_are_compared_with_baselines():
    found = compared()
    names = [player.name for player in found.trained_on.players]
    assert names == ["before", "after", "uniform", "Hedge(1.0)", "Hedge at k*", "best possible"]
    assert found.language.kl > 0
    assert any(setting.problem for setting in found.elsewhere)  # a third action has no tokens
    page = posttrain_page(found, "tiny", "regret")
    assert "Regret by round" in page
    assert "http" not in page


def test_the_page_fits_the_window(browse):
    page = posttrain_page(compared(), "tiny", "regret")
    for width in (1200, 390):
        seen = browse(page, f"posttrain-{width}", size=(width, 2600))
        names = [figure[0] for figure in seen.figures]
        assert names == ["squared", "curve", "squared_curve", "leader", "odds"]
        assert seen.overflow == 0
        assert not seen.console


def test_rollouts_are_exported_with_messages():
    model, tokenizer = scratch(TASK)
    task = TASK.replace(system="Be brief.")
    played = llm.evaluate_rollouts(model, tokenizer, task, 3)
    rows = [json.loads(line) for line in llm.transcript_lines(task, played)]
    roles = [message["role"] for message in rows[0]["messages"]]
    assert roles == ["system"] + ["user", "assistant"] * 3
    assert rows[1]["regret"] == pytest.approx(played.regrets()[1])


def test_models_with_a_full_context_are_compared():
    """Positions are learnt here: a token too many would be an error."""
    task, tokenizer = Task(2, 3, decimals=0), byte_pairs()
    drawn = llm.draw_losses(task, 500, seed=0)
    longest = 1 + max(len(tokenizer(task.text(rows))["input_ids"]) for rows in drawn)
    model = tiny("gpt2", tokenizer, torch.float32, n_positions=longest)
    found = compare_models(model, model, tokenizer, task, sequences=4, elsewhere=())
    assert found.language.kl == 0
    assert "context is" in found.elsewhere[1].problem


def test_the_command_trains_exports_and_resumes(tmp_path, capsys, monkeypatch):
    save_model(tmp_path / "base", *scratch(TASK), TASK)
    command = ["posttrain", str(tmp_path / "base"), "--out", str(tmp_path / "run"), "--steps", "3"]
    command += ["--batch", "4", "--lora", "0", "--sequences", "20", "--json"]
    main([*command, "--export", str(tmp_path / "rows.jsonl")])
    printed = json.loads(capsys.readouterr().out)
    assert {p["name"] for p in printed["settings"][0]["players"]} >= {"before", "after"}
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 20
    assert (tmp_path / "run" / "report.html").exists()
    with pytest.raises(SystemExit):
        main(command)
    assert "--resume" in capsys.readouterr().err
    main([*command, "--resume"])
    assert json.loads(capsys.readouterr().out)["settings"][0] == printed["settings"][0]
    monkeypatch.setenv("COLUMNS", "80")
    main([*command[:-1], "--resume"])
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    assert {"regret,", "total", "error"} <= set(text.split())
    for player in printed["settings"][0]["players"]:
        assert number(player["regret"]) in text
        assert number(player["squared"]) in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--text missing.txt", "missing.txt: No such file"),
        ("--text words.txt", "the tokenizer does not know a word in 'no such words'"),
        ("--text empty.txt", "a held-out text must have at least 2 tokens, got 0"),
        ("--sequences 1", "sequences must be an integer >= 2"),
        ("--export missing/rows.jsonl", "must be in an existing folder"),
        ("--method grpo --iterations 0", "iterations must be an integer >= 1"),
        ("--method rmft --group 1", "group must be an integer >= 2"),
        ("--rounds 500", "but the model's context is 512"),
        ("--losses gausian", "did you mean gaussian"),
        ("--feedback bandit", "need transcripts without answers"),
        ("--task nothing", "scenario must be one of ads, clinic,"),
        ("--pretrained smollm2", "pass either a model (a folder or a name on the hub) or --pret"),
    ],
)
def test_bad_options_stop_before_training(options, message, tmp_path, one_line_error, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("no such words")
    Path("empty.txt").touch()
    save_model(tmp_path / "base", *scratch(TASK), TASK)
    assert message in one_line_error("posttrain", "base", "--out", "run", *options.split())
    assert not (tmp_path / "run").exists()
