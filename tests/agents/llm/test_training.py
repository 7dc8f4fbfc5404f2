"""The three ways to train lower regret, resume after a kill, and leave models that plain transformers reads."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `llm`")
pytest.importorskip("trl", reason="trl is not installed: the extra `llm-train`")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.usefixtures("as_users_run_it"),
    # of TRL, datasets and the transformers under them, not ours to mend
    pytest.mark.filterwarnings("default"),
]

from safetensors.torch import load_file
from tests.llm.models import byte_pairs, tiny

from regrax.agents.llm import (
    GRPOConfig,
    RMFTConfig,
    Task,
    TrainConfig,
    compare_models,
    draw_losses,
    evaluate_rollouts,
    grpo,
    rmft,
    save_model,
    scratch_model,
    scratch_task,
    scratch_tokenizer,
    train,
    transcript_lines,
)
from regrax.show.report import posttrain_page

SOURCE = Path(__file__).parent.parent.parent / "src"
BIASED = scratch_task(2, 4, losses="biased-gaussian(3.0)", decimals=0)


def made(task, width=32):
    tokenizer = scratch_tokenizer(task, largest=20.0)
    return scratch_model(tokenizer, width=width, layers=2, heads=2), tokenizer


RESUME = """
import sys
import torch
from regrax.agents.llm import TrainConfig, scratch_model, scratch_task, scratch_tokenizer, train

torch.set_num_threads(1)
task = scratch_task(3, 4)
tokenizer = scratch_tokenizer(task)
model = scratch_model(tokenizer, width=16, heads=2)
model.config.attention_dropout = 0.1
config = TrainConfig(steps=30, batch=8, rate=1e-2, kl=0.1, lora=int(sys.argv[1]))
show = lambda progress: print(progress.done, flush=True)
train(model, tokenizer, task, config, sys.argv[2], on_progress=show, save_every=0.0)
"""


def training(lora, folder):
    return subprocess.Popen(
        [sys.executable, "-c", RESUME, str(lora), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )


@pytest.mark.parametrize("lora", [0, 2])
def test_a_killed_training_ends_with_the_same_bits(lora, tmp_path):
    whole, killed = training(lora, tmp_path / "whole"), training(lora, tmp_path / "killed")
    with killed:
        for line in killed.stdout:
            if int(line) == 7:
                os.kill(killed.pid, signal.SIGKILL)
                break
    again = training(lora, tmp_path / "killed")
    steps = [int(line) for line in again.communicate()[0].split()]
    assert 6 <= steps[0] <= 10
    assert whole.communicate()[0].split()[-1] == "30"
    one, other = (
        load_file(tmp_path / n / "model" / "model.safetensors") for n in ("whole", "killed")
    )
    assert all(torch.equal(one[name], other[name]) for name in one)
    metrics = [(tmp_path / n / "metrics.jsonl").read_text() for n in ("whole", "killed")]
    losses = [[json.loads(line)["loss"] for line in text.splitlines()] for text in metrics]
    assert losses[0] == losses[1]
    kept = {path.suffix for path in (tmp_path / "killed").rglob("*") if path.is_file()}
    assert kept <= {".json", ".jsonl", ".safetensors", ".md", ".jinja", ".lock"}  # nothing pickled
    assert (tmp_path / "killed" / "adapter").exists() == bool(lora)


@pytest.mark.parametrize(
    ("objective", "least"), [("hindsight", 0.05), ("regret", -1.0), ("swap", -1.0)]
)
def test_every_objective_trains(objective, least, tmp_path):
    task = scratch_task(2, 3, decimals=0)
    model, tokenizer = made(task)
    first = compare_squared(model, tokenizer, task)
    config = TrainConfig(objective, steps=25, batch=32, accumulate=2, rate=3e-3)
    trained = train(model, tokenizer, task, config, tmp_path)
    assert first - compare_squared(trained, tokenizer, task) > least * first
    with pytest.raises(ValueError, match="holds a run with steps = 25, got 26"):
        train(model, tokenizer, task, TrainConfig(objective, steps=26, batch=32), tmp_path)


def compare_squared(model, tokenizer, task):
    return float((evaluate_rollouts(model, tokenizer, task, 2000).regrets() ** 2).mean())


def test_rmft_lowers_regret_on_biased_losses(tmp_path):
    model, tokenizer = made(BIASED)
    before = evaluate_rollouts(model, tokenizer, BIASED, 500).regrets().mean()
    config = RMFTConfig(3, scenarios=96, rate=5e-3, leaning=2.0, epochs=1, batch=32)
    trained = rmft(model, tokenizer, BIASED, config, tmp_path)
    after = evaluate_rollouts(trained, tokenizer, BIASED, 500).regrets().mean()
    assert after < 0.85 * before
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2, 3]
    again = rmft(made(BIASED)[0], tokenizer, BIASED, config, tmp_path)  # read from the folder
    assert evaluate_rollouts(again, tokenizer, BIASED, 500).regrets().mean() == pytest.approx(after)


def test_grpo_lowers_regret_on_biased_losses(tmp_path):
    model, tokenizer = made(BIASED)
    before = evaluate_rollouts(model, tokenizer, BIASED, 500).regrets().mean()
    config = GRPOConfig(2, steps=25, groups=64, group_size=4, rate=2e-3)
    trained = grpo(model, tokenizer, BIASED, config, tmp_path)
    after = evaluate_rollouts(trained, tokenizer, BIASED, 500).regrets().mean()
    assert after < 0.9 * before


def test_grpo_plays_whole_episodes_against_opponents_that_react(tmp_path):
    task = scratch_task(2, 3, losses='in-game("matching-pennies", "uniform()", "best_response()")')
    model, tokenizer = made(task)
    grpo(model, tokenizer, task, GRPOConfig(1, steps=2, groups=2, group_size=2), tmp_path)
    assert json.loads((tmp_path / "model" / "task.json").read_text())["answers"] is True


def test_losses_that_favour_no_action_are_warned_of(tmp_path):
    task = scratch_task(2, 2, decimals=0)
    model, tokenizer = made(task, width=16)
    with pytest.warns(
        UserWarning, match="every policy has the same expected regret.*squared regret"
    ):
        rmft(model, tokenizer, task, RMFTConfig(1, scenarios=2, rollouts=2), tmp_path / "a")
    with pytest.warns(UserWarning, match="carries no signal"):
        grpo(model, tokenizer, task, GRPOConfig(1, 1, 1, 2), tmp_path / "b")
    with pytest.warns(UserWarning, match="for standard Gaussian losses only"):
        train(
            model,
            tokenizer,
            task.replace(losses="laplace"),
            TrainConfig("hindsight", 1, 2),
            tmp_path / "c",
        )


def test_what_training_changed_is_a_page_and_rows_for_other_trainers(browse):
    task = scratch_task(2, 4, decimals=0)
    model, tokenizer = made(task, width=16)
    other = scratch_model(tokenizer, width=16, heads=2, seed=1)
    found = compare_models(model, other, tokenizer, task, sequences=50, elsewhere=("laplace",))
    names = [one.name for one in found.trained_on.players]
    assert names == ["before", "after", "uniform", "Hedge at k*", "best possible"]
    assert found.language.kl > 0
    assert any(one.problem for one in found.elsewhere)  # a third action has no tokens
    page = posttrain_page(found, "tiny", "regret")
    assert "Regret by round" in page
    assert "http" not in page
    for width in (1200, 390):
        seen = browse(page, f"posttrain-{width}", size=(width, 2600))
        assert [figure[0] for figure in seen.figures] == ["curve", "squared_curve"]
        assert seen.overflow == 0
        assert not seen.console
    played = evaluate_rollouts(model, tokenizer, task, 3)
    rows = [json.loads(line) for line in transcript_lines(task, played)]
    assert [m["role"] for m in rows[0]["messages"]] == ["user", "assistant"] * 4
    assert rows[1]["regret"] == pytest.approx(played.regrets()[1])


def test_a_context_that_the_transcript_fills_is_enough_to_compare_in():
    """Positions are learnt here: a token too many would be an error."""
    task, tokenizer = Task(2, 3, decimals=0), byte_pairs()
    longest = 1 + max(
        len(tokenizer(task.text(rows))["input_ids"]) for rows in draw_losses(task, 500, seed=0)
    )
    model = tiny("gpt2", tokenizer, torch.float32, n_positions=longest)
    found = compare_models(model, model, tokenizer, task, sequences=4, elsewhere=())
    assert found.language.kl == 0
    assert "context holds" in found.elsewhere[1].problem


def test_the_command_trains_resumes_and_refuses(tmp_path, capsys):
    from regrax.cli import main

    task = scratch_task(2, 3, decimals=0)
    model, tokenizer = made(task, width=16)
    save_model(tmp_path / "base", model, tokenizer, task)
    command = ["posttrain", str(tmp_path / "base"), "--out", str(tmp_path / "run"), "--steps", "3"]
    command += ["--batch", "4", "--sequences", "20", "--json"]
    main([*command, "--export", str(tmp_path / "rows.jsonl")])
    printed = json.loads(capsys.readouterr().out)
    assert {p["name"] for p in printed["settings"][0]["players"]} >= {"before", "after"}
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 20
    assert (tmp_path / "run" / "report.html").exists()
    with pytest.raises(SystemExit):
        main(command)
    assert "add --resume to continue it" in capsys.readouterr().err
    main([*command, "--resume"])
    assert json.loads(capsys.readouterr().out)["settings"][0] == printed["settings"][0]
    with pytest.raises(SystemExit):
        main([*command[:3], str(tmp_path / "new"), "--losses", "gausian"])
    assert "did you mean gaussian" in capsys.readouterr().err
    warned = [*command[:3], str(tmp_path / "warned"), *command[4:], "--losses", "laplace"]
    with pytest.warns(UserWarning, match="the hindsight loss is squared regret on average for"):
        main([*warned, "--method", "hindsight"])
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--text missing.txt", "missing.txt: No such file"),
        ("--text words.txt", "the tokenizer does not know a word of 'no such words'"),
        ("--text empty.txt", "a held-out text must have at least 2 tokens, got 0"),
        ("--sequences 1", "sequences must be an integer >= 2"),
        ("--export missing/rows.jsonl", "must be in a folder that exists"),
        ("--method grpo --iterations 0", "iterations must be an integer >= 1"),
        ("--method rmft --group 1", "group must be an integer >= 2"),
        ("--rounds 500", "but the model's context holds 512"),
        ("--task nothing", "scenario must be one of ads, clinic,"),
    ],
)
def test_bad_options_are_told_before_training(options, message, tmp_path, capsys, monkeypatch):
    from regrax.cli import main

    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("no such words")
    Path("empty.txt").touch()
    task = scratch_task(2, 3, decimals=0)
    save_model(tmp_path / "base", *made(task, width=16), task)
    with pytest.raises(SystemExit) as stopped:
        main(
            ["posttrain", str(tmp_path / "base"), "--out", str(tmp_path / "run"), *options.split()]
        )
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
