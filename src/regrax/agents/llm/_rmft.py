r"""RMFT: play, keep the rollouts of lowest regret, fine-tune on them, again.

For each of several scenarios (sequences of losses, or opponents) the model plays a group of rollouts. Each rollout
leans its own way: a Gaussian vector is added to the logarithm of its policies, the same in all its rounds, so that
rollouts of a scenario differ in what they play and not by luck alone. The best of each group are kept and their words
learnt (TRL's `SFTTrainer`): every round is an example, as the model is asked it. Where transcripts hold the answers,
what is easiest to learn from leaning rollouts is to say again what was said before: there use `by="action"` without
leaning.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from regrax import _checks as checks
from regrax.agents.llm._config import integers, nonnegative, one_of
from regrax.agents.llm._losses import warn_no_signal
from regrax.agents.llm._rollouts import By, Rollouts, play_groups, rows_of
from regrax.agents.llm._run import Run
from regrax.agents.llm._task import Task
from regrax.agents.llm._trainers import require, train_by
from regrax.experiments import OnProgress, ignore


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
        integers(self, iterations=1, scenarios=1, rollouts=1, keep=1, epochs=1, batch=1)
        integers(self, lora=0, seed=0)
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
    require("trl", "rmft")
    warn_no_signal(task, config.by)
    groups = np.arange(config.scenarios * config.rollouts) // config.rollouts
    settings = {
        "per_device_train_batch_size": config.batch,
        "num_train_epochs": config.epochs,
        "learning_rate": config.rate,
        "completion_only_loss": True,
        "max_length": None,
    }

    def improve(current: Any, number: int) -> tuple[Any, dict[str, float]]:
        draws = (config.seed, number, config.leaning)
        played = play_groups(current, tokenizer, task, groups, *draws)
        kept = best_of(played, config)
        measured = {"regret": played.regrets().mean(), "kept": kept.regrets().mean()}
        rows = list(rows_of(tokenizer, task, kept))
        return train_by("SFT", current, tokenizer, config, number, rows, settings), measured

    told = (model, tokenizer, task, config, folder, on_progress, resume)
    return Run("rmft", *told).iterate(improve)


def best_of(played: Rollouts, config: RMFTConfig) -> Rollouts:
    """The lowest of each scenario."""
    groups = played.regrets(config.by).reshape(config.scenarios, config.rollouts)
    best = groups.argsort(1, kind="stable")[:, : config.keep]
    index = (best + np.arange(config.scenarios)[:, None] * config.rollouts).ravel()
    return Rollouts(*(part[index] for part in played))
