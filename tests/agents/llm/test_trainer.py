"""Training by gradient descent: objectives, mixed tasks, folders, resuming, two processes."""

import json
import os
import signal

import numpy as np
import pytest
import torch
from examples.llm_scratch import scratch_task
from safetensors.torch import load_file
from tests.agents.llm.models import BIASED, scratch, start
from transformers import TrainingArguments

from regrax import llm
from regrax.agents.llm import GRPOConfig, RMFTConfig, TrainConfig, grpo, rmft, train
from regrax.agents.llm.policy import answers
from regrax.experiments import Store

TASK = scratch_task(2, 3, decimals=0)
QUIET = pytest.mark.filterwarnings("default")  # warnings of TRL and datasets are not ours
SHORT = TrainConfig(steps=2, batch=2, warmup=0)


def made(task=TASK, seed=0):
    return *scratch(task, seed, width=8, layers=1), task


def trained_weights(folder):
    return load_file(folder / "model" / "model.safetensors")


def equal(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("lora", [0, 2])
def test_killed_training_ends_with_the_same_bits(lora, tmp_path):
    config = TrainConfig(steps=12, batch=8, rate=1e-2, warmup=2, kl=0.1, lora=lora)
    whole, killed = (start(tmp_path / name, config, dropout=0.1) for name in ("whole", "killed"))
    with killed:
        for line in killed.stdout:
            if int(line) == 5:
                os.kill(killed.pid, signal.SIGKILL)
                break
    resumed = start(tmp_path / "killed", config, dropout=0.1)
    steps = [int(line) for line in resumed.communicate()[0].split()]
    assert 3 <= steps[0] <= 7
    assert whole.communicate()[0].split()[-1] == "12"
    assert equal(trained_weights(tmp_path / "whole"), trained_weights(tmp_path / "killed"))
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "killed")]
    losses = [[json.loads(line)["loss"] for line in text.splitlines()] for text in metrics]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 12
    assert not (tmp_path / "killed" / "checkpoints").exists()
    assert (tmp_path / "killed" / "adapter").exists() == bool(lora)


def test_two_processes_train_like_one(tmp_path):
    config = TrainConfig("forecast", steps=12, batch=8, rate=1e-2, warmup=2, kl=0.1)
    start(tmp_path / "two", config, processes=2).communicate()
    start(tmp_path / "one", config).communicate()
    two = trained_weights(tmp_path / "two")
    for name, weight in trained_weights(tmp_path / "one").items():
        torch.testing.assert_close(two[name], weight, atol=1e-3, rtol=1e-3)


ADAM = {"batch": 32, "accumulate": 2, "rate": 3e-3}
TEACH = {
    "forecast": (train, TASK, TrainConfig("forecast", 25, **ADAM), 0.95),
    "hindsight": (train, TASK, TrainConfig("hindsight", 25, **ADAM), 0.95),
    "regret": (train, TASK, TrainConfig("regret", 25, **ADAM), 2),
    "swap": (train, TASK, TrainConfig("swap", 25, **ADAM), 2),
    "linear": (train, BIASED, TrainConfig("linear", 40, rate=5e-3, warmup=2), 0.85),
    "rmft": (rmft, BIASED, RMFTConfig(3, 96, rate=5e-3, leaning=2.0, epochs=1, batch=32), 0.85),
    "episode": (grpo, BIASED, GRPOConfig(2, 25, 64, rate=3e-3), 0.9),
    "turn": (grpo, BIASED, GRPOConfig(2, 25, 64, rate=3e-3, credit="turn"), 0.9),
}


@QUIET
@pytest.mark.parametrize("name", TEACH)
def test_every_method_lowers_regret(name, tmp_path):
    method, task, config, share = TEACH[name]
    by = "squared" if task is TASK else "policy"
    model, tokenizer = scratch(task, width=32)
    before = llm.evaluate_rollouts(model, tokenizer, task, 1000).regrets(by).mean()
    trained = method(model, tokenizer, task, config, tmp_path, bf16=name == "linear")
    assert next(trained.parameters()).dtype == torch.float32
    assert llm.evaluate_rollouts(trained, tokenizer, task, 1000).regrets(by).mean() < share * before


def test_trainer_takes_arguments_of_the_user(tmp_path):
    model, tokenizer, task = made()
    options = {"report_to": "none", "use_cpu": True}
    arguments = TrainingArguments(tmp_path, max_steps=2, gradient_accumulation_steps=2, **options)
    trainer = llm.RegretTrainer(model, arguments, tasks=task, tokenizer=tokenizer, kl=0.1)
    trainer.train()
    assert trainer.state.global_step == 2
    with pytest.raises(ValueError, match="max_steps must be an integer >= 1, got -1"):
        llm.RegretTrainer(
            model, TrainingArguments(tmp_path, **options), tasks=task, tokenizer=tokenizer
        )


def test_tasks_with_other_actions_and_rounds_are_mixed(tmp_path):
    task = scratch_task(3, 4, decimals=0)
    other = scratch_task(("A", "B"), 2, decimals=0, losses="laplace")
    model, tokenizer, _ = made(task)
    trained = train(model, tokenizer, [task, other], SHORT, tmp_path)
    for part in (task, other):
        shape = llm.policies(trained, tokenizer, part, llm.draw_losses(part, 2, seed=0)).shape
        assert shape == (2, part.rounds, part.d)
    assert len(json.loads((tmp_path / "training.json").read_text())["tasks"]) == 2


def test_folder_belongs_to_one_run_of_one_model(tmp_path):
    model, tokenizer, task = made()
    with Store(tmp_path).locked(), pytest.raises(ValueError, match="another process"):
        train(model, tokenizer, task, SHORT, tmp_path)
    first = train(model, tokenizer, task, SHORT, tmp_path)
    assert equal(first.state_dict(), train(*made(), SHORT, tmp_path).state_dict())
    for other in (model, made(seed=1)[0]):  # the trained model, and another one
        with pytest.raises(ValueError, match="base_model = 'qwen3 "):
            train(other, tokenizer, task, SHORT, tmp_path)
    with pytest.raises(ValueError, match="already"):
        train(*made(), SHORT, tmp_path, resume=False)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (TrainConfig, {"objective": "regrets"}, "objective must be one of regret, linear, swap"),
        (TrainConfig, {"steps": 0}, "steps must be an integer >= 1"),
        (TrainConfig, {"kl": -1.0}, "kl must be at least 0"),
        (TrainConfig, {"strength": 1.5}, "strength must be at most 1"),
        (TrainConfig, {"batch": 3, "accumulate": 2}, "batch must be a multiple of accumulate"),
        (RMFTConfig, {"keep": 8}, "keep must be below rollouts"),
        (RMFTConfig, {"leaning": 0.0}, "leaning must be above 0 unless"),
        (GRPOConfig, {"group_size": 1}, "group_size must be an integer >= 2"),
        (GRPOConfig, {"credit": "turn", "reward": "squared"}, 'needs reward="regret"'),
    ],
)
def test_bad_settings_raise(kind, fields, message):
    with pytest.raises(ValueError, match=message):
        kind(**fields)


def test_forecasts_are_posterior_probabilities():
    """Sample the mean of the losses given the past, then the future."""
    task = llm.Task(3, 6, losses="biased-gaussian(0.7)")
    losses = np.round(np.random.default_rng(1).normal(size=(1, 6, 3)), 1)
    rng = np.random.default_rng(0)
    for n in range(6):
        precision = 1 / 0.7**2 + n
        past = losses[0, :n].sum(0)
        means = past / precision + rng.normal(size=(100_000, 3)) / precision**0.5
        ends = past + (6 - n) * means + (6 - n) ** 0.5 * rng.normal(size=means.shape)
        expected = np.bincount(ends.argmin(1), minlength=3) / len(ends)
        np.testing.assert_allclose(llm.hindsight_forecast(task, losses)[0, n], expected, atol=0.006)
    with pytest.raises(ValueError, match="gaussian or biased-gaussian losses, got 'drifting'"):
        llm.hindsight_forecast(task.replace(losses="drifting"), losses)


def test_sharpness_is_the_power_of_the_forecast_played(tmp_path):
    task = TASK.replace(losses="biased-gaussian(1.0)")
    losses = llm.draw_losses(task, 500, seed=7)
    forecast = llm.hindsight_forecast(task, losses)
    played = {}
    for power in (1.0, 2.0):
        model, tokenizer = scratch(task, width=32)
        config = TrainConfig("forecast", steps=60, batch=32, rate=5e-3, sharpness=power)
        trained = train(model, tokenizer, task, config, tmp_path / str(power))
        with torch.no_grad():
            played[power] = llm.policies(trained, tokenizer, task, losses).numpy()
    squared = forecast**2 / (forecast**2).sum(-1, keepdims=True)
    assert np.abs(played[1.0] - forecast).mean() < np.abs(played[1.0] - squared).mean()
    assert np.abs(played[2.0] - squared).mean() < np.abs(played[2.0] - forecast).mean()


def lora_changes(folder, **fields):
    model, tokenizer = scratch(TASK, layers=3)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    config = TrainConfig("forecast", steps=2, batch=4, rate=1e-2, lora=2, **fields)
    trained = train(model, tokenizer, TASK, config, folder, bf16=True).state_dict()
    return {name: trained[name] - weight for name, weight in before.items()}


def test_lora_trains_the_last_layers_and_is_merged_in_part(tmp_path):
    whole = lora_changes(tmp_path / "whole", layers=1)
    assert max(change.abs().max() for change in whole.values()) > 1e-4
    assert all(".layers.2." in name for name, change in whole.items() if change.any())
    half = lora_changes(tmp_path / "half", layers=1, strength=0.5)
    for name, change in whole.items():
        torch.testing.assert_close(half[name], change / 2, atol=1e-6, rtol=0)


def test_naming_teaches_to_answer_with_a_name(tmp_path):
    naming = []
    for weight in (0.0, 1.0):
        model, tokenizer, task = made()
        config = TrainConfig("forecast", steps=10, batch=4, rate=1e-2, warmup=0, naming=weight)
        trained = train(model, tokenizer, task, config, tmp_path / str(weight))
        naming.append(
            answers(trained, tokenizer, task, llm.draw_losses(task, 8, seed=1)).naming.mean()
        )
    assert naming[1] > naming[0] + 0.1


@QUIET
@pytest.mark.parametrize(
    ("method", "config", "losses", "message"),
    [
        (train, TrainConfig("hindsight", 1, 2), "laplace", "only for standard Gaussian losses"),
        (rmft, RMFTConfig(1, 2, 2), "gaussian", "every policy has the same expected .*squared"),
        (grpo, GRPOConfig(1, 1, 1, 2), "gaussian", "gets no signal"),
    ],
)
def test_losses_that_cannot_teach_warn(method, config, losses, message, tmp_path):
    model, tokenizer, task = made()
    with pytest.warns(UserWarning, match=message):
        method(model, tokenizer, task.replace(losses=losses), config, tmp_path)


def test_half_written_checkpoints_are_skipped(tmp_path):
    with Store(tmp_path).locked():
        (tmp_path / "checkpoints" / "checkpoint-1").mkdir(parents=True)
    (tmp_path / "checkpoints" / "checkpoint-1" / "trainer_state.json").write_text('{"glob')
    train(*made(), SHORT, tmp_path)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
