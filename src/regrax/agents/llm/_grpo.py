"""GRPO through TRL: groups of rollouts that share their losses, minus regret as the reward."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from regrax import _checks as checks
from regrax.agents.llm._config import integers, nonnegative, one_of
from regrax.agents.llm._losses import draw_losses, is_reactive, warn_no_signal
from regrax.agents.llm._rollouts import Row, answer_row, play_groups, play_rollouts, rows_of
from regrax.agents.llm._run import Run
from regrax.agents.llm._task import Task
from regrax.agents.llm._trainers import require, train_by
from regrax.agents.llm._transcript import transcripts
from regrax.experiments import OnProgress, ignore

Reward = Literal["regret", "squared"]


@dataclass(frozen=True)
class GRPOConfig:
    """How a model is trained by group-relative policy optimization.

    Args:
        iterations: after each the model is saved; the optimizer starts anew.
        steps: of each iteration.
        groups: per step, each with losses of its own.
        group_size: rollouts per group; their advantage is measured against each other.
        reward: minus `regret` or minus `squared` regret.
        beta: weight of the KL term to the model of the iteration's start.
        rate: learning rate of the first iteration; it falls to 0 in equal steps, one per iteration.
        lora: rank; 0 trains every parameter.
        seed: of everything that is drawn.
    """

    iterations: int = 4
    steps: int = 25
    groups: int = 16
    group_size: int = 4
    reward: Reward = "regret"
    beta: float = 0.0
    rate: float = 1e-5
    lora: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        integers(self, iterations=1, steps=1, groups=1, group_size=2, lora=0, seed=0)
        checks.positive("rate", self.rate)
        nonnegative("beta", self.beta)
        one_of("reward", self.reward, get_args(Reward))


def grpo(
    model: Any,
    tokenizer: Any,
    task: Task,
    config: GRPOConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    resume: bool = True,
) -> Any:
    """The trained model; a folder that holds a part of the iterations is continued.

    See `rollout_function` for what is played. For models that call tools in a chat, give `environment(task)` to a
    `GRPOTrainer` of your own.

    Args:
        model: a causal language model; training changes it in place, so load it anew to go on with a folder.
        tokenizer: its tokenizer.
        task: what it plays.
        config: how.
        folder: where settings, metrics and models go; one process's at a time.
        on_progress: called after every iteration.
        resume: whether a training that the folder holds is continued; without it, it is refused.
    """
    require("trl", "grpo")
    if config.reward == "squared" or is_reactive(task):
        task = task.replace(answers=True)
    if task.chat and task.answers:
        raise ValueError(
            "grpo plays whole episodes as plain text: give chat=False, or environment(task) to a GRPOTrainer"
        )
    warn_no_signal(task, config.reward)
    told = (model, tokenizer, task, config, folder, on_progress, resume)
    return Run("grpo", *told).iterate(partial(_train, tokenizer, task, config))


def rollout_function(
    tokenizer: Any, task: Task, *, seed: int, group_size: int
) -> Callable[[list[Any], Any], dict[str, Any]]:
    """A `rollout_func` for `GRPOTrainer`; the rewards' regrets are in its column `regret`.

    A task with answers, or with opponents that react, is played to its end, and what the model did not say is masked;
    the regret is the episode's. Otherwise what comes next does not depend on what is played, and every group is one
    round of one sequence, drawn at random, with the regret of that round: the same gradient on average, without the
    noise of the other rounds.

    Args:
        tokenizer: of the model.
        task: to be played.
        seed: of losses and answers.
        group_size: completions per group.
    """
    whole = task.answers or is_reactive(task)

    def roll(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        model = trainer.accelerator.unwrap_model(trainer.model)
        groups = np.arange(len(prompts)) // group_size
        drawn = (model, tokenizer, task, groups, seed, trainer.state.global_step)
        if whole:
            played = play_groups(*drawn, leaning=0.0)
            rows, regrets = list(rows_of(tokenizer, task, played)), played.regrets("action")
        else:
            rows, regrets = _single_rounds(*drawn)
        model.train()
        starts = [row["completion_mask"].index(1) for row in rows]  # where the model first speaks
        pairs = list(zip(rows, starts, strict=True))
        return {
            "prompt_ids": [row["input_ids"][:start] for row, start in pairs],
            "completion_ids": [row["input_ids"][start:] for row, start in pairs],
            "env_mask": [row["completion_mask"][start:] for row, start in pairs],
            "logprobs": None,
            "regret": [float(regret) for regret in regrets],
        }

    return roll


def _single_rounds(
    model: Any, tokenizer: Any, task: Task, groups: np.ndarray, seed: int, step: int
) -> tuple[list[Row], list[float]]:
    """Groups of answers to one question each, scored by the loss of that round above its least."""
    sizes, rng = np.bincount(groups), np.random.default_rng((seed, step))
    losses = draw_losses(task, len(sizes), seed=seed, step=step)
    played = play_rollouts(model, tokenizer, task, losses, seed=step).policies
    rounds = rng.integers(task.rounds, size=len(sizes))
    found, pieces = transcripts(tokenizer, task, losses, lengths=rounds + 1)
    rows, regrets, at = [], [], (np.arange(len(sizes)), rounds)
    for sequence, policy, row, size in zip(found, played[at], losses[at], sizes, strict=True):
        asked = [*sequence.tokens, *pieces.suffix]
        for action in rng.choice(task.d, size=size, p=policy):
            rows.append(answer_row(asked, pieces.names.tokens[action]))
            regrets.append(row[action] - row.min())
    return rows, regrets


def _train(
    tokenizer: Any, task: Task, config: GRPOConfig, model: Any, number: int
) -> tuple[Any, dict[str, float]]:
    regrets = []

    def reward(completions: list[Any], regret: list[float], **_: Any) -> list[float | None]:
        regrets.append(float(np.mean(regret)))
        return [-one if config.reward == "regret" else -(one**2) for one in regret]

    settings = {
        "per_device_train_batch_size": config.groups * config.group_size,
        "num_generations": config.group_size,
        "max_steps": config.steps,
        "learning_rate": config.rate * (1 - number / config.iterations),
        "beta": config.beta,
        "scale_rewards": "batch",  # how much a round mattered stays in it
        "max_completion_length": None,
    }
    rows = [{"prompt": task.opening_text()}] * (config.groups * config.steps)
    seed = config.seed * 1009 + number
    roll = rollout_function(tokenizer, task, seed=seed, group_size=config.group_size)
    given = {"reward_funcs": reward, "rollout_func": roll}
    trained = train_by("GRPO", model, tokenizer, config, number, rows, settings, **given)
    return trained, {"regret": float(np.mean(regrets)), "last_regret": regrets[-1]}
