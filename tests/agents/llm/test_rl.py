"""RMFT and GRPO lower regret, resume, and play different rollouts in every process and call."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from examples.llm_scratch import scratch_task
from tests.agents.llm.models import scratch

from regrax.agents.llm import (
    GRPOConfig,
    RMFTConfig,
    TrainConfig,
    draw_losses,
    evaluate_rollouts,
    grpo,
    play_rollouts,
    policies,
    rmft,
    rollout_function,
    save_model,
    train,
    turn_advantages,
)

pytestmark = pytest.mark.filterwarnings("default")  # warnings of TRL and datasets are not ours
ROOT = Path(__file__).parents[3]
BIASED = scratch_task(2, 4, losses="biased-gaussian(3.0)", decimals=0)
PENNIES = 'in-game("matching-pennies", "uniform()", "best_response()")'


def mean_regret(model, tokenizer):
    return evaluate_rollouts(model, tokenizer, BIASED, 500).regrets().mean()


class Killed(Exception):
    pass


def kill_at(number):
    def on_progress(progress):
        if progress.done == number:
            raise Killed

    return on_progress


def test_rmft_lowers_regret_and_resumes(tmp_path):
    model, tokenizer = scratch(BIASED, width=32)
    before = mean_regret(model, tokenizer)
    config = RMFTConfig(3, scenarios=96, rate=5e-3, leaning=2.0, epochs=1, batch=32)
    with pytest.raises(Killed):
        rmft(model, tokenizer, BIASED, config, tmp_path, on_progress=kill_at(2))
    seen = []
    trained = rmft(
        scratch(BIASED, width=32)[0], tokenizer, BIASED, config, tmp_path, on_progress=seen.append
    )
    assert [progress.done for progress in seen] == [2, 3]
    assert mean_regret(trained, tokenizer) < 0.85 * before
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["model"]
    loaded = rmft(scratch(BIASED, width=32)[0], tokenizer, BIASED, config, tmp_path)
    assert mean_regret(loaded, tokenizer) == pytest.approx(mean_regret(trained, tokenizer))


@pytest.mark.parametrize("credit", ["episode", "turn"])
def test_grpo_lowers_regret(credit, tmp_path):
    model, tokenizer = scratch(BIASED, width=32)
    before = mean_regret(model, tokenizer)
    config = GRPOConfig(2, steps=25, groups=64, group_size=4, rate=3e-3, credit=credit)
    trained = grpo(model, tokenizer, BIASED, config, tmp_path)
    assert mean_regret(trained, tokenizer) < 0.9 * before


def test_grpo_resumes_at_its_last_checkpoint(tmp_path):
    config = GRPOConfig(3, steps=2, groups=4, group_size=2, rate=3e-3)
    model, tokenizer = scratch(BIASED)
    whole = grpo(model, tokenizer, BIASED, config, tmp_path / "whole")
    with pytest.raises(Killed):
        grpo(scratch(BIASED)[0], tokenizer, BIASED, config, tmp_path / "x", on_progress=kill_at(5))
    seen = []
    model, _ = scratch(BIASED)
    last = grpo(model, tokenizer, BIASED, config, tmp_path / "x", on_progress=seen.append)
    assert [progress.done for progress in seen] == [4, 5, 6]
    for first, second in zip(whole.parameters(), last.parameters(), strict=True):
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize("credit", ["episode", "turn"])
def test_grpo_plays_whole_episodes_against_opponents(credit, tmp_path):
    task = scratch_task(2, 3, losses=PENNIES)
    model, tokenizer = scratch(task)
    config = GRPOConfig(1, steps=2, groups=2, group_size=2, credit=credit)
    grpo(model, tokenizer, task, config, tmp_path)
    assert json.loads((tmp_path / "model" / "task.json").read_text())["answers"] is True


def rolled(model, tokenizer, task, rank, step, roll=None):
    made = SimpleNamespace
    accelerator = made(process_index=rank, num_processes=2, unwrap_model=lambda wrapped: wrapped)
    trainer = made(accelerator=accelerator, model=model, state=made(global_step=step))
    roll = roll or rollout_function(tokenizer, task, seed=0, group_size=2)
    return roll(["play"] * 8, trainer)


@pytest.mark.parametrize("answers", [False, True])
def test_rollouts_differ_between_processes_and_calls(answers):
    task = scratch_task(3, 4, answers=answers)
    model, tokenizer = scratch(task)
    roll = rollout_function(tokenizer, task, seed=0, group_size=2)
    played = [
        rolled(model, tokenizer, task, 0, 0, roll),
        rolled(model, tokenizer, task, 0, 0, roll),  # the second call of the same step
        rolled(model, tokenizer, task, 1, 0),
        rolled(model, tokenizer, task, 0, 1),
    ]
    texts = [repr((rows["prompt_ids"], rows["completion_ids"])) for rows in played]
    assert len(set(texts)) == 4
    again = rolled(model, tokenizer, task, 0, 0)
    assert repr((again["prompt_ids"], again["completion_ids"])) == texts[0]


PROGRAM = """
import os
import sys
from pathlib import Path

from examples.llm_scratch import scratch_model, scratch_task, scratch_tokenizer
from regrax.agents.llm import GRPOConfig, RMFTConfig, grpo, rmft

task = scratch_task(2, 4, losses="biased-gaussian(3.0)", decimals=0)
tokenizer = scratch_tokenizer(task, largest=20.0)
model = scratch_model(tokenizer, width=16, heads=2)
if sys.argv[1] == "rmft":
    config = RMFTConfig(2, scenarios=8, rollouts=2, epochs=1, batch=4)
    trained = rmft(model, tokenizer, task, config, sys.argv[2])
else:
    config = GRPOConfig(2, steps=2, groups=4, group_size=2, credit=sys.argv[1])
    trained = grpo(model, tokenizer, task, config, sys.argv[2])
total = sum(parameter.double().sum().item() for parameter in trained.parameters())
Path(f"total-{os.environ['RANK']}").write_text(repr(total))
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["episode", "turn", "rmft"])
def test_two_processes_train_one_model(method, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    command = [sys.executable, *launcher, "program.py", method, "run"]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    first, second = [(tmp_path / f"total-{rank}").read_text() for rank in (0, 1)]
    assert first == second
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()


def test_turn_advantages_give_the_gradient_of_the_loss():
    """Averaged over many sampled actions, the weighted score equals minus the exact gradient."""
    task = scratch_task(2, 2, decimals=0)
    model, tokenizer = scratch(task)
    losses = np.array([[[0.0, 2.0], [1.0, -1.0]]])
    played = play_rollouts(model, tokenizer, task, np.repeat(losses, 4000, 0), seed=0)
    weights = torch.as_tensor(turn_advantages(played), dtype=torch.float32)
    pi = policies(model, tokenizer, task, losses)[0]
    exact = torch.autograd.grad((pi * torch.tensor(losses[0])).sum(), pi, retain_graph=True)[0]
    chosen = torch.nn.functional.one_hot(torch.tensor(played.actions), 2)
    frequency = (weights[..., None] * chosen).mean(0)
    estimate = frequency / pi.detach()  # mean of A_t times the derivative of log pi_t(a_t)
    centred = exact - (pi.detach() * exact).sum(-1, keepdim=True)
    torch.testing.assert_close(estimate, -centred.float(), atol=0.1, rtol=0)


def test_language_models_can_be_opponents(tmp_path):
    task = scratch_task(2, 2, decimals=0)
    model, tokenizer = scratch(task)
    save_model(tmp_path / "other", model, tokenizer, task)
    spec = f'in-game("matching-pennies", "uniform()", "llm(\'{tmp_path / "other"}\')")'
    against = task.replace(losses=spec)
    assert draw_losses(against, 2, seed=0).shape == (2, 2, 2)
    train(scratch(task)[0], tokenizer, against, TrainConfig("linear", 1, 2), tmp_path / "train")
    config = RMFTConfig(1, scenarios=2, rollouts=2, epochs=1)
    rmft(scratch(task)[0], tokenizer, against, config, tmp_path / "rmft")
    with pytest.raises(ValueError, match="must be models in local folders"):
        draw_losses(task.replace(losses=spec.replace("other", "none")), 1, seed=0)


def test_losses_without_signal_warn(tmp_path):
    task = scratch_task(2, 2, decimals=0)
    model, tokenizer = scratch(task)
    with pytest.warns(UserWarning, match=r"every policy has the same expected regret.*squared"):
        rmft(model, tokenizer, task, RMFTConfig(1, scenarios=2, rollouts=2), tmp_path / "a")
    with pytest.warns(UserWarning, match="gets no signal"):
        grpo(model, tokenizer, task, GRPOConfig(1, 1, 1, 2), tmp_path / "b")


def test_other_files_in_the_folder_survive(tmp_path):
    model, tokenizer = scratch(BIASED)
    config = RMFTConfig(1, scenarios=2, rollouts=2, epochs=1)
    rmft(model, tokenizer, BIASED, config, tmp_path / "run")
    notes = tmp_path / "run" / "iteration-notes"
    notes.mkdir()
    rmft(scratch(BIASED)[0], tokenizer, BIASED, config, tmp_path / "run")
    assert notes.exists()
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "draft.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"such as draft\.txt"):
        rmft(scratch(BIASED)[0], tokenizer, BIASED, config, tmp_path / "draft")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RMFTConfig(keep=8), "keep must be below rollouts"),
        (lambda: RMFTConfig(leaning=0.0), "leaning must be above 0 unless"),
        (lambda: GRPOConfig(group_size=1), "group_size must be an integer >= 2"),
        (lambda: GRPOConfig(credit="turn", reward="squared"), 'needs reward="regret"'),
    ],
)
def test_bad_settings_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()
