r"""Reinforcement learning from sampled play with TRL's trainers: GRPO on negative regret, and RMFT.

RMFT plays, keeps the rollouts with the lowest regret, fine-tunes on them, and repeats. For each of several loss
sequences, the model plays a group of rollouts. Each rollout has its own leaning, a Gaussian vector that is added to its
log-policies in all rounds, so that rollouts differ by more than chance. If transcripts include answers, the easiest
thing to learn from leaning rollouts is to repeat earlier answers; in that case use `by="action"` and `leaning=0`.
"""

import contextlib
import copy
import math
import os
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from transformers import PrinterCallback

from regrax import _checks as checks
from regrax.agents.llm.losses import draw_losses, is_reactive, warn_no_signal
from regrax.agents.llm.models import quiet, save_model
from regrax.agents.llm.rollouts import (
    By,
    Rollouts,
    Row,
    answer_row,
    play_groups,
    play_rollouts,
    rows_of,
    turn_advantages,
)
from regrax.agents.llm.task import Task, at_least, nonnegative
from regrax.agents.llm.trainer import (
    is_complete,
    is_main_process,
    load_like,
    merge_lora,
    process_share,
    require,
    run_in_folder,
    run_trainer,
    trainer_arguments,
    with_lora,
)
from regrax.agents.llm.transcript import transcripts
from regrax.experiments import OnProgress, Progress, Store, ignore

Reward = Literal["regret", "squared"]
Credit = Literal["episode", "turn"]


@dataclass(frozen=True)
class GRPOConfig:
    """Settings of `grpo`.

    Args:
        iterations: the number of checkpoints; training has `iterations * steps` steps.
        steps: steps between checkpoints.
        groups: groups per step across all processes, each with its own losses.
        group_size: rollouts per group, whose rewards are compared with each other.
        reward: the negative of `regret` or of `squared` regret.
        beta: the weight of the KL term to the initial model.
        rate: the initial learning rate, which decays linearly to 0.
        lora: the LoRA rank; 0 trains all parameters.
        seed: the random seed.
        credit: `episode` compares the rewards of a group; `turn` gives every answer its own advantage
            (`turn_advantages`), for `reward="regret"`.
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
    credit: Credit = "episode"

    def __post_init__(self) -> None:
        at_least(self, iterations=1, steps=1, groups=1, group_size=2, lora=0, seed=0)
        checks.positive("rate", self.rate)
        nonnegative("beta", self.beta)
        checks.one_of("reward", self.reward, get_args(Reward))
        checks.one_of("credit", self.credit, get_args(Credit))
        if self.credit == "turn" and self.reward != "regret":
            raise ValueError('credit="turn" needs reward="regret", which is a sum over rounds')


def grpo(
    model: Any,
    tokenizer: Any,
    task: Task,
    config: GRPOConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    resume: bool = True,
    **arguments: Any,
) -> Any:
    """Train a model in a folder with group-relative policy optimisation; an interrupted run is resumed.

    `rollout_function` describes what is played. For a model that calls tools in a chat, pass `environment(task)` to
    your own `GRPOTrainer`.

    Args:
        model: a causal language model, which is modified in place. Reload it before resuming.
        tokenizer: its tokenizer.
        task: the task.
        config: the settings.
        folder: where settings, checkpoints, metrics and the trained model are written.
        on_progress: called after every step.
        resume: continue an existing run in the folder; if False, an existing run is an error.
        **arguments: further arguments of `trl.GRPOConfig`, such as `bf16=True`.
    """
    require("trl", "grpo")
    if config.reward == "squared" or is_reactive(task):
        task = task.replace(answers=True)
    if task.chat and task.answers:
        raise ValueError(
            "grpo plays whole episodes as plain text: use chat=False, or pass environment(task) to a GRPOTrainer"
        )
    if config.reward == "regret":
        warn_no_signal(task)
    batch = config.groups * config.group_size
    settings = {
        "per_device_train_batch_size": process_share("groups x group_size", batch),
        "num_generations": config.group_size,
        "max_steps": config.iterations * config.steps,
        "save_strategy": "steps",
        "save_steps": config.steps,
        "learning_rate": config.rate,
        "lr_scheduler_type": "linear",
        "beta": config.beta,
        "scale_rewards": "batch",  # preserves how much a group's round mattered
        "max_completion_length": None,
        "seed": config.seed,
        **trainer_arguments(model, folder),
        **arguments,
    }

    def reward(completions: list[Any], regret: list[float], **_: Any) -> list[float | None]:
        return [-value if config.reward == "regret" else -(value**2) for value in regret]

    def learn(run: Store) -> Any:
        learning = with_lora(model, config.lora, config.seed)
        prompts = [{"prompt": task.opening_text()}] * (batch * config.steps)
        roll = rollout_function(tokenizer, task, seed=config.seed, group_size=config.group_size)
        with _quiet_trl() as trl:
            kind = trl.GRPOTrainer
            if config.credit == "turn":
                kind = _with_turn_advantages(kind)
            data = _training_data(tokenizer, prompts)
            trainer = kind(learning, reward, trl.GRPOConfig(**settings), rollout_func=roll, **data)
            run_trainer(trainer, run, "grpo", on_progress, math.inf)
        return merge_lora(learning)

    return run_in_folder(folder, "grpo", model, tokenizer, [task], config, learn, resume=resume)


def rollout_function(
    tokenizer: Any, task: Task, *, seed: int, group_size: int
) -> Callable[[list[Any], Any], dict[str, Any]]:
    """Build a `rollout_func` for `GRPOTrainer` whose column `regret` holds the regrets for the reward.

    If transcripts include answers or opponents react, full episodes are played, everything except the model's own
    tokens is masked, and the regret is that of the episode. Otherwise later rounds do not depend on what is played, and
    each group answers one random round of one sequence, scored by the regret of that round. This has the same expected
    gradient without the noise of the other rounds.

    Losses depend on the seed, the step, the call within the step and the group; processes play different groups.

    Args:
        tokenizer: the model's tokenizer.
        task: the task.
        seed: the random seed for losses and answers.
        group_size: completions per group.
    """
    whole_episodes = task.answers or is_reactive(task)
    calls = Counter()

    def roll(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        accelerator = trainer.accelerator
        step = trainer.state.global_step
        rank = accelerator.process_index
        count = len(prompts)
        groups = (rank * count + np.arange(count)) // group_size
        total = -(-count * accelerator.num_processes // group_size)
        own_seed = seed + 15_485_863 * calls[step]
        calls[step] += 1
        model = accelerator.unwrap_model(trainer.model)
        if whole_episodes:
            options = {"seed": own_seed, "step": step, "total": total, "rank": rank}
            played = play_groups(model, tokenizer, task, groups, **options)
            rows = list(rows_of(tokenizer, task, played))
        else:
            losses = draw_losses(task, total, seed=own_seed, step=step)
            rounds = np.random.default_rng((own_seed, step)).integers(task.rounds, size=total)
            rng = np.random.default_rng((own_seed, step, rank))
            rows, played = _single_rounds(model, tokenizer, task, losses, rounds, groups, rng)
        model.train()
        columns: dict[str, Any] = {
            "prompt_ids": [],
            "completion_ids": [],
            "env_mask": [],
            "logprobs": None,
            "regret": played.regrets("action").tolist(),
            "turn_advantages": turn_advantages(played).tolist(),
        }
        for row in rows:
            start = row["completion_mask"].index(1)  # the model's first token
            columns["prompt_ids"].append(row["input_ids"][:start])
            columns["completion_ids"].append(row["input_ids"][start:])
            columns["env_mask"].append(row["completion_mask"][start:])
        return columns

    return roll


def _single_rounds(
    model: Any,
    tokenizer: Any,
    task: Task,
    losses: np.ndarray,
    rounds: np.ndarray,
    groups: np.ndarray,
    rng: np.random.Generator,
) -> tuple[list[Row], Rollouts]:
    """Answer one round per group, and return the rows and these rounds as rollouts of a single round."""
    own, places = np.unique(groups, return_inverse=True)
    policies = play_rollouts(model, tokenizer, task, losses[own], seed=0).policies
    policies = policies[places, rounds[groups]]
    batch, pieces = transcripts(tokenizer, task, losses[own], lengths=rounds[own] + 1)
    actions = np.array([rng.choice(task.d, p=policy) for policy in policies])
    rows = []
    for place, action in zip(places, actions, strict=True):
        question = [*batch[place].tokens, *pieces.suffix]
        rows.append(answer_row(question, pieces.names[action]))
    faced = losses[groups, rounds[groups]]
    return rows, Rollouts(faced[:, None], policies[:, None], actions[:, None])


def _with_turn_advantages(trainer: Any) -> Any:
    """Derive a class from `GRPOTrainer` with per-turn advantages, divided by their standard deviation."""

    class TurnGRPOTrainer(trainer):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            output = super()._generate_and_score_completions(inputs)  # adds columns to the inputs
            spoken = output["tool_mask"] * output["completion_mask"]
            begins = spoken.diff(prepend=torch.zeros_like(spoken[:, :1])) == 1
            turn = begins.cumsum(1) - 1  # at least 0, because completions begin with the model
            by_turn = torch.tensor([row["turn_advantages"] for row in inputs], device=turn.device)
            advantages = by_turn.gather(1, turn) * spoken
            spread: Any = advantages[advantages != 0].std().nan_to_num(1.0)
            spread = self.accelerator.reduce(spread, "mean")  # over processes
            output["advantages"] = advantages / (spread + 1e-4)
            return output

    return TurnGRPOTrainer


@dataclass(frozen=True)
class RMFTConfig:
    """Settings of `rmft`.

    Args:
        iterations: how many times the model plays and is fine-tuned.
        scenarios: loss sequences per iteration.
        rollouts: rollouts per sequence.
        keep: rollouts per sequence to learn from.
        by: the score of a rollout: regret of the `policy` or of the sampled `action`, the `excess` over Hedge on the
            same losses, or `squared` regret.
        leaning: the standard deviation of the vector added to each rollout's log-policies; 0 samples from the model.
        epochs: passes over the selected rollouts.
        batch: rollouts per step, across all processes.
        rate: the learning rate.
        lora: the LoRA rank; 0 trains all parameters.
        seed: the random seed.
    """

    iterations: int = 4
    scenarios: int = 64
    rollouts: int = 8
    keep: int = 1
    by: By = "policy"
    leaning: float = 1.0
    epochs: int = 2
    batch: int = 16
    rate: float = 1e-4
    lora: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, iterations=1, scenarios=1, rollouts=1, keep=1, epochs=1, batch=1)
        at_least(self, lora=0, seed=0)
        checks.positive("rate", self.rate)
        nonnegative("leaning", self.leaning)
        checks.one_of("by", self.by, get_args(By))
        if self.keep >= self.rollouts:
            raise ValueError(f"keep must be below rollouts, got {self.keep} and {self.rollouts}")
        if self.by != "action" and self.leaning == 0:
            raise ValueError(
                'leaning must be above 0 unless by="action", or rollouts would not differ'
            )


def rmft(
    model: Any,
    tokenizer: Any,
    task: Task,
    config: RMFTConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    resume: bool = True,
    **arguments: Any,
) -> Any:
    """Fine-tune a model on its own best play in a folder; an interrupted run is resumed at its last iteration.

    Args:
        model: a causal language model, which is modified in place. Reload it before resuming.
        tokenizer: its tokenizer.
        task: the task.
        config: the settings.
        folder: where settings, metrics and models are written.
        on_progress: called after every iteration.
        resume: continue an existing run in the folder; if False, an existing run is an error.
        **arguments: further arguments of `trl.SFTConfig`, such as `bf16=True`.
    """
    require("trl", "rmft")
    if config.by != "squared":
        warn_no_signal(task)
    share = process_share("batch", config.batch)
    names = [f"iteration-{number}" for number in range(1, config.iterations + 1)]
    groups = np.arange(config.scenarios * config.rollouts) // config.rollouts

    def fine_tune(current: Any, rows: list[Row], number: int) -> Any:
        learning = with_lora(current, config.lora, config.seed)
        with tempfile.TemporaryDirectory() as temporary, _quiet_trl() as trl:
            settings = {
                "per_device_train_batch_size": share,
                "num_train_epochs": config.epochs,
                "learning_rate": config.rate,
                "lr_scheduler_type": "constant",
                "completion_only_loss": True,
                "max_length": None,
                "save_strategy": "no",
                "seed": config.seed * 1_000_003 + number,
                **trainer_arguments(current, temporary),
                **arguments,
            }
            data = _training_data(tokenizer, rows)
            trainer = trl.SFTTrainer(learning, trl.SFTConfig(**settings), **data)
            trainer.remove_callback(PrinterCallback)
            trainer.train()
        return merge_lora(learning)

    def learn(run: Store) -> Any:
        done = 0
        current = model
        for number, name in enumerate(names, 1):
            if is_complete(run.folder / name):
                done = number
        if done:
            current = load_like(run.folder / names[done - 1], model)
        if is_main_process():
            run.cut("iteration", done)
            on_progress(Progress("rmft", done, config.iterations))
        options = {"seed": config.seed, "leaning": config.leaning}
        for number in range(done, config.iterations):
            began = time.monotonic()
            played = play_groups(current, tokenizer, task, groups, step=number, **options)
            best = select_best(played, config)
            current = fine_tune(current, list(rows_of(tokenizer, task, best)), number)
            if is_main_process():
                regret = played.regrets().mean()
                seconds = round(time.monotonic() - began, 3)
                measured = {"regret": regret, "selected": best.regrets().mean()}
                run.log({"iteration": number + 1, **measured, "seconds": seconds})
                save_model(run.folder / names[number], current, tokenizer, task)
                if number:
                    shutil.rmtree(run.folder / names[number - 1], ignore_errors=True)
                note = f"regret {regret:.3f}"
                on_progress(Progress("rmft", number + 1, config.iterations, note))
        return current

    options = {"resume": resume, "temporary": names}
    return run_in_folder(folder, "rmft", model, tokenizer, [task], config, learn, **options)


def select_best(played: Rollouts, config: RMFTConfig) -> Rollouts:
    """Select the rollouts with the lowest scores for each loss sequence."""
    scores = played.regrets(config.by).reshape(config.scenarios, config.rollouts)
    best = scores.argsort(1, kind="stable")[:, : config.keep]
    index = (best + np.arange(config.scenarios)[:, None] * config.rollouts).ravel()
    return Rollouts(*(part[index] for part in played))


def _training_data(tokenizer: Any, rows: list[Any]) -> dict[str, Any]:
    """Return the rows and a copy of the tokenizer as arguments of TRL's trainers, which need an end token."""
    from datasets import Dataset

    processing_class = copy.deepcopy(tokenizer)
    processing_class.eos_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return {"train_dataset": Dataset.from_list(rows), "processing_class": processing_class}


@contextlib.contextmanager
def _quiet_trl() -> Iterator[Any]:
    """Import TRL, and silence the progress bars, reports and warnings of TRL and its dependencies."""
    import datasets

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    with quiet(), warnings.catch_warnings(action="ignore"), contextlib.ExitStack() as restore:
        if not datasets.are_progress_bars_disabled():
            restore.callback(datasets.enable_progress_bars)
            datasets.disable_progress_bars()
        import trl

        yield trl
