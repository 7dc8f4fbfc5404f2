"""RMFT and GRPO lower regret, resume, and play different rollouts in every process and call."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from examples.llm_scratch import scratch_task
from tests.agents.llm.models import BIASED, scratch, start

from regrax import llm
from regrax.agents.llm import GRPOConfig, RMFTConfig, TrainConfig, grpo, rmft, train

pytestmark = pytest.mark.filterwarnings("default")  # warnings of TRL and datasets are not ours
PENNIES = 'in-game("matching-pennies", "uniform()", "best_response()")'


@pytest.mark.parametrize(
    ("method", "config", "killed", "steps"),
    [
        (rmft, RMFTConfig(3, scenarios=8, rate=5e-3, leaning=2.0, epochs=1, batch=4), 2, [2, 3]),
        (grpo, GRPOConfig(3, steps=2, groups=4, group_size=2, rate=3e-3), 5, [4, 5, 6]),
    ],
)
def test_a_killed_run_resumes_with_the_same_parameters(method, config, killed, steps, tmp_path):
    def run(name, **options):
        model, tokenizer = scratch(BIASED)
        return method(model, tokenizer, BIASED, config, tmp_path / name, **options).state_dict()

    def kill(progress):
        if progress.done == killed:
            raise InterruptedError

    whole = run("whole")
    with pytest.raises(InterruptedError):
        run("killed", on_progress=kill)
    (tmp_path / "killed" / "iteration-notes").mkdir()
    seen = []
    torch.testing.assert_close(run("killed", on_progress=seen.append), whole)
    assert [progress.done for progress in seen] == steps
    torch.testing.assert_close(run("killed"), whole)  # a finished run is loaded
    lines = (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()
    number = "iteration" if method is rmft else "step"
    assert [json.loads(line)[number] for line in lines] == list(range(1, steps[-1] + 1))
    folders = {path.name for path in (tmp_path / "killed").iterdir() if path.is_dir()}
    assert folders == {"model", "iteration-notes"}


@pytest.mark.parametrize("credit", ["episode", "turn"])
def test_grpo_plays_whole_episodes_against_opponents(credit, tmp_path):
    task = scratch_task(2, 3, losses=PENNIES)
    model, tokenizer = scratch(task)
    config = GRPOConfig(1, steps=2, groups=2, group_size=2, credit=credit)
    grpo(model, tokenizer, task, config, tmp_path)
    assert json.loads((tmp_path / "model" / "task.json").read_text())["answers"] is True


@pytest.mark.parametrize("answers", [False, True])
def test_rollouts_differ_between_processes_and_calls(answers):
    task = scratch_task(3, 4, answers=answers)
    model, tokenizer = scratch(task)

    def roller():
        return llm.rollout_function(tokenizer, task, seed=0, group_size=2)

    def rolled(roll, rank, step):
        accelerator = SimpleNamespace(
            process_index=rank, num_processes=2, unwrap_model=lambda wrapped: wrapped
        )
        state = SimpleNamespace(global_step=step)
        trainer = SimpleNamespace(accelerator=accelerator, model=model, state=state)
        rows = roll(["play"] * 8, trainer)
        return repr((rows["prompt_ids"], rows["completion_ids"]))

    roll = roller()
    texts = [rolled(roll, 0, 0), rolled(roll, 0, 0)]  # two calls of the same step
    texts += [rolled(roller(), 1, 0), rolled(roller(), 0, 1)]
    assert len(set(texts)) == 4
    assert rolled(roller(), 0, 0) == texts[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        GRPOConfig(2, steps=2, groups=4, group_size=2),
        GRPOConfig(2, steps=2, groups=4, group_size=2, credit="turn"),
        RMFTConfig(2, scenarios=8, rollouts=2, epochs=1, batch=4),
    ],
)
def test_two_processes_train_one_model(config, tmp_path):
    with start(tmp_path / "run", config, processes=2) as training:
        assert training.wait() == 0
    first, second = [(tmp_path / "run" / f"total-{rank}").read_text() for rank in (0, 1)]
    assert first == second
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()


def test_turn_advantages_give_the_gradient_of_the_loss():
    """Averaged over many sampled actions, the weighted score equals minus the exact gradient."""
    task = scratch_task(2, 2, decimals=0)
    model, tokenizer = scratch(task)
    losses = np.array([[[0.0, 2.0], [1.0, -1.0]]])
    played = llm.play_rollouts(model, tokenizer, task, np.repeat(losses, 4000, 0), seed=0)
    weights = torch.as_tensor(llm.turn_advantages(played), dtype=torch.float32)
    pi = llm.policies(model, tokenizer, task, losses)[0]
    exact = torch.autograd.grad((pi * torch.tensor(losses[0])).sum(), pi, retain_graph=True)[0]
    chosen = torch.nn.functional.one_hot(torch.tensor(played.actions), 2)
    frequency = (weights[..., None] * chosen).mean(0)
    estimate = frequency / pi.detach()  # mean of A_t times the derivative of log pi_t(a_t)
    centred = exact - (pi.detach() * exact).sum(-1, keepdim=True)
    torch.testing.assert_close(estimate, -centred.float(), atol=0.1, rtol=0)


def test_language_models_can_be_opponents(tmp_path):
    task = scratch_task(2, 2, decimals=0)
    model, tokenizer = scratch(task)
    llm.save_model(tmp_path / "other", model, tokenizer, task)
    spec = f'in-game("matching-pennies", "uniform()", "llm(\'{tmp_path / "other"}\')")'
    against = task.replace(losses=spec)
    assert llm.draw_losses(against, 2, seed=0).shape == (2, 2, 2)
    train(scratch(task)[0], tokenizer, against, TrainConfig("linear", 1, 2), tmp_path / "train")
    config = RMFTConfig(1, scenarios=2, rollouts=2, epochs=1)
    rmft(scratch(task)[0], tokenizer, against, config, tmp_path / "rmft")
    with pytest.raises(ValueError, match="must be models in local folders"):
        llm.draw_losses(task.replace(losses=spec.replace("other", "none")), 1, seed=0)
