r"""RMFT: play, keep the rollouts of lowest regret, fine-tune on them, again.

For each of several scenarios (sequences of losses, or opponents) the model plays a group of rollouts. Each rollout
leans its own way: a Gaussian vector is added to the logarithm of its policies, the same in all its rounds, so that
rollouts of a scenario differ in what they play and not by luck alone. The best of each group are kept and their words
learnt (TRL's `SFTTrainer`): every round is an example, as the model is asked it. Where transcripts hold the answers,
what is easiest to learn from leaning rollouts is to say again what was said before: there use `by="action"` without
leaning.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from regrax import _checks as checks
from regrax.experiments import OnProgress, ignore
from regrax.llm._config import nonnegative, one_of
from regrax.llm._iterations import iterate, warn_no_signal
from regrax.llm._lora import adapted, merged
from regrax.llm._losses import draw_losses
from regrax.llm._rollouts import By, Rollouts, is_reactive, play_rollouts, rows_of
from regrax.llm._task import Task
from regrax.llm._trl import padded, quiet_settings, quiet_trainer, require_trl


@dataclass(frozen=True)
class RMFTConfig:
    """How a model is fine-tuned on its own best play.

    Args:
        iterations: of playing and learning.
        scenarios: per iteration.
        rollouts: of each scenario.
        keep: of each scenario.
        by: what is low in a kept rollout: regret of the `policy` or of the drawn `action`, the `excess` over Hedge on
            the same losses, or the `squared` regret.
        leaning: standard deviation of what is added to each rollout's log-policies; 0 draws from the model as it is.
        epochs: over the kept rollouts.
        batch: rollouts per step.
        rate: learning rate.
        lora: rank; 0 trains every parameter.
        seed: of everything that is drawn.
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
        for name in ("iterations", "scenarios", "rollouts", "keep", "epochs", "batch"):
            checks.at_least(name, getattr(self, name), 1)
        for name in ("lora", "seed"):
            checks.at_least(name, getattr(self, name), 0)
        checks.positive("rate", self.rate)
        nonnegative("leaning", self.leaning)
        one_of("by", self.by, get_args(By))
        if self.keep >= self.rollouts:
            raise ValueError(f"keep must be below rollouts, got {self.keep} of {self.rollouts}")
        if self.by != "action" and self.leaning == 0:
            raise ValueError(
                'leaning must be above 0 unless by="action": rollouts would not differ'
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
) -> Any:
    """The fine-tuned model; a folder that holds a part of the iterations is continued.

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
    warn_no_signal(task, config.by)

    def improve(current: Any, number: int) -> tuple[Any, dict[str, float]]:
        played = play_groups(current, tokenizer, task, config, number)
        kept = best_of(played, config)
        rows = list(rows_of(tokenizer, task, kept))
        measured = {
            name: float(r.regrets().mean()) for name, r in (("regret", played), ("kept", kept))
        }
        return _fine_tune(current, tokenizer, rows, config, number), measured

    made = (model, tokenizer, task, config)
    return iterate("rmft", *made, folder, improve, on_progress, resume)


def play_groups(
    model: Any, tokenizer: Any, task: Task, config: RMFTConfig, number: int
) -> Rollouts:
    """Rollouts of every scenario, those of a scenario next to each other."""
    seed = config.seed * 1_000_003 + number
    rng, count = np.random.default_rng(seed), config.scenarios * config.rollouts
    leanings = config.leaning * rng.normal(size=(count, task.d)) if config.leaning else None
    seeds = np.repeat(np.arange(config.scenarios) + seed * config.scenarios, config.rollouts)
    losses = None
    if not is_reactive(task):
        losses = draw_losses(task, config.scenarios, seed=config.seed, step=number)
        losses = losses.repeat(config.rollouts, 0)
    return play_rollouts(model, tokenizer, task, losses, seed=seed, leanings=leanings, seeds=seeds)


def best_of(played: Rollouts, config: RMFTConfig) -> Rollouts:
    """The lowest of each scenario."""
    groups = played.regrets(config.by).reshape(config.scenarios, config.rollouts)
    best = groups.argsort(1, kind="stable")[:, : config.keep]
    index = (best + np.arange(config.scenarios)[:, None] * config.rollouts).ravel()
    return Rollouts(*(part[index] for part in played))


def _fine_tune(
    model: Any, tokenizer: Any, rows: list[dict[str, list[int]]], config: RMFTConfig, number: int
) -> Any:
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    with tempfile.TemporaryDirectory() as folder, quiet_trainer():
        learning = adapted(model, config.lora, config.seed)
        settings = SFTConfig(
            **quiet_settings(folder, model),
            per_device_train_batch_size=config.batch,
            num_train_epochs=config.epochs,
            learning_rate=config.rate,
            lr_scheduler_type="constant",
            completion_only_loss=True,
            max_length=None,
            seed=config.seed * 1_000_003 + number,
        )
        trainer = SFTTrainer(
            learning,
            settings,
            train_dataset=Dataset.from_list(rows),
            processing_class=padded(tokenizer),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return merged(learning, config.lora)
