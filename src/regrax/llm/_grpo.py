"""GRPO through TRL: groups of rollouts that share their losses, minus regret as the reward."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from regrax import _checks as checks
from regrax.experiments import OnProgress, ignore
from regrax.llm._config import nonnegative, one_of
from regrax.llm._iterations import iterate, warn_no_signal
from regrax.llm._lora import adapted, merged
from regrax.llm._losses import draw_losses
from regrax.llm._rollouts import is_reactive, play_rollouts, rows_of
from regrax.llm._task import Task
from regrax.llm._transcript import pieces_of, sequences_of
from regrax.llm._trl import padded, quiet_settings, quiet_trainer, require_trl

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
        for name, least in (("iterations", 1), ("steps", 1), ("groups", 1), ("group_size", 2)):
            checks.at_least(name, getattr(self, name), least)
        for name in ("lora", "seed"):
            checks.at_least(name, getattr(self, name), 0)
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
    require_trl()
    if config.reward == "squared" or is_reactive(task):
        task = task.replace(answers=True)
    if task.chat and task.answers:
        raise ValueError(
            "grpo plays whole episodes as plain text: give chat=False, or environment(task) to a GRPOTrainer"
        )
    warn_no_signal(task, config.reward)

    def improve(current: Any, number: int) -> tuple[Any, dict[str, float]]:
        return _train(current, tokenizer, task, config, number)

    made = (model, tokenizer, task, config)
    return iterate("grpo", *made, folder, improve, on_progress, resume)


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
        step, groups = trainer.state.global_step, -(-len(prompts) // group_size)
        sizes = groups, group_size, len(prompts)
        play = _episodes if whole else _single_rounds
        rows, regrets = play(model, tokenizer, task, sizes, (seed, step))
        model.train()
        return _as_completions(rows, regrets)

    return roll


def _episodes(
    model: Any, tokenizer: Any, task: Task, sizes: tuple[int, int, int], seeds: tuple[int, int]
) -> tuple[list[dict[str, list[int]]], np.ndarray]:
    """Groups of whole episodes; a group shares its losses, or its opponents."""
    (groups, group_size, count), (seed, step) = sizes, seeds
    own = seed * 1_000_003 + step
    opponents = np.repeat(np.arange(groups) + own * groups, group_size)[:count]
    losses = None
    if not is_reactive(task):
        losses = draw_losses(task, groups, seed=seed, step=step).repeat(group_size, 0)[:count]
    played = play_rollouts(model, tokenizer, task, losses, seed=own, seeds=opponents)
    return list(rows_of(tokenizer, task, played)), played.regrets("action")


def _single_rounds(
    model: Any, tokenizer: Any, task: Task, sizes: tuple[int, int, int], seeds: tuple[int, int]
) -> tuple[list[dict[str, list[int]]], np.ndarray]:
    """Groups of answers to one question each, scored by the loss of that round above its least."""
    groups, group_size, count = sizes
    rng, losses = (
        np.random.default_rng(seeds),
        draw_losses(task, groups, seed=seeds[0], step=seeds[1]),
    )
    played = play_rollouts(model, tokenizer, task, losses, seed=seeds[1]).policies
    pieces, rounds = pieces_of(tokenizer, task), rng.integers(task.rounds, size=groups)
    found = sequences_of(tokenizer, task, pieces, losses, None, rounds + 1)
    rows, regrets = [], []
    for sequence, policy, row in zip(
        found, played[np.arange(groups), rounds], losses[np.arange(groups), rounds], strict=True
    ):
        for action in rng.choice(task.d, size=group_size, p=policy):
            rows.append(
                _one_answer([*sequence.tokens, *pieces.suffix], pieces.names.tokens[action])
            )
            regrets.append(row[action] - row.min())
    return rows[:count], np.array(regrets[:count])


def _one_answer(asked: list[int], name: tuple[int, ...]) -> dict[str, list[int]]:
    mask = [0] * len(asked) + [1] * len(name)
    return {"input_ids": [*asked, *name], "completion_mask": mask}


def _as_completions(rows: list[dict[str, list[int]]], regrets: np.ndarray) -> dict[str, Any]:
    """Split each transcript where the model first speaks."""
    first = [row["completion_mask"].index(1) for row in rows]
    return {
        "prompt_ids": [row["input_ids"][:n] for row, n in zip(rows, first, strict=True)],
        "completion_ids": [row["input_ids"][n:] for row, n in zip(rows, first, strict=True)],
        "env_mask": [row["completion_mask"][n:] for row, n in zip(rows, first, strict=True)],
        "logprobs": None,
        "regret": regrets.tolist(),
    }


def _train(
    model: Any, tokenizer: Any, task: Task, config: GRPOConfig, number: int
) -> tuple[Any, dict[str, float]]:
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig as Settings, GRPOTrainer

    learning = adapted(model, config.lora, config.seed)
    size, regrets = config.groups * config.group_size, []

    def reward(completions: list[Any], regret: list[float], **_: Any) -> list[float | None]:
        regrets.append(float(np.mean(regret)))
        return [-one if config.reward == "regret" else -(one**2) for one in regret]

    with tempfile.TemporaryDirectory() as folder, quiet_trainer():
        settings = Settings(
            **quiet_settings(folder, model),
            per_device_train_batch_size=size,
            num_generations=config.group_size,
            max_steps=config.steps,
            learning_rate=config.rate * (1 - number / config.iterations),
            lr_scheduler_type="constant",
            beta=config.beta,
            scale_rewards="batch",  # how much a round mattered stays in it
            seed=config.seed * 1_000_003 + number,
            max_completion_length=None,
        )
        data = Dataset.from_list([{"prompt": task.opening_text()}] * (config.groups * config.steps))
        trainer = GRPOTrainer(
            learning,
            reward_funcs=reward,
            args=settings,
            train_dataset=data,
            processing_class=padded(tokenizer),
            rollout_func=rollout_function(
                tokenizer,
                task,
                seed=config.seed * 1009 + number,
                group_size=config.group_size,
            ),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return merged(learning, config.lora), {
        "regret": float(np.mean(regrets)),
        "last_regret": regrets[-1],
    }
