r"""Train a language model by gradient descent on its differentiable regret.

`RegretTrainer` is a `transformers.Trainer`: gradient accumulation, mixed precision, logging and several processes work
as usual. `train` runs it in a folder and resumes it there. A run that is killed and resumed ends with bit-identical
parameters.

    FOLDER/training.json    the settings, the task, and a fingerprint of the initial model
    FOLDER/checkpoints      the trainer's newest checkpoint, removed at the end
    FOLDER/metrics.jsonl    one line per step: step, loss, kl, gradient norm, learning rate
    FOLDER/model            the trained model, which plain `transformers` can load (LoRA is merged into it)
    FOLDER/adapter          the LoRA parameters, if LoRA was used
"""

import contextlib
import copy
import hashlib
import json
import math
import os
import shutil
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from regrax import _checks as checks, torch as objectives
from regrax.agents.llm.losses import (
    draw_losses,
    favours_no_action,
    gaussian_spread,
    hindsight_forecast,
)
from regrax.agents.llm.models import load_model, quiet, save_model
from regrax.agents.llm.policy import answers, policies
from regrax.agents.llm.task import Task, at_least, nonnegative
from regrax.agents.llm.transcript import check_readable
from regrax.experiments import OnProgress, Progress, Store, ignore

ObjectiveName = Literal["regret", "linear", "swap", "hindsight", "forecast"]


@dataclass(frozen=True)
class TrainConfig:
    r"""Settings of `train`.

    Args:
        objective: squared external regret (`regret`), external regret itself (`linear`), squared swap regret (`swap`),
            the hindsight loss (`hindsight`, for standard Gaussian losses), or the cross-entropy to the exact forecast
            of the action that will be best in hindsight (`forecast`, for Gaussian and biased Gaussian losses).
        steps: the number of Adam steps.
        batch: transcripts per step, across all processes.
        accumulate: the number of parts into which a batch is split to save memory.
        rate: the peak learning rate, followed by cosine decay to 0.
        warmup: steps of linear warmup.
        kl: the weight of the mean over rounds of $KL(\pi_t \| \pi_t^{base})$ to the initial model.
        naming: the weight of the mean over rounds of $-\log P(\text{a free answer names an action})$.
        clip: the maximum gradient norm.
        lora: the LoRA rank; 0 trains all parameters.
        layers: with LoRA, train only this many of the last layers; 0 trains every layer.
        strength: with LoRA, the part of its change that is merged into the model, above 0 and up to 1. Below 1, the
            model keeps more of its language (Wortsman et al. 2022, Robust fine-tuning of zero-shot models).
        sharpness: for `forecast`, the power of the forecast that the model learns to play. Above 1 it is nearer to the
            leader, which minimises expected regret on biased losses.
        seed: the random seed.

    >>> TrainConfig("hindsight", steps=100).batch
    32
    """

    objective: ObjectiveName = "regret"
    steps: int = 300
    batch: int = 32
    accumulate: int = 1
    rate: float = 1e-4
    warmup: int = 20
    kl: float = 0.0
    naming: float = 0.0
    clip: float = 1.0
    lora: int = 0
    layers: int = 0
    strength: float = 1.0
    sharpness: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        checks.one_of("objective", self.objective, get_args(ObjectiveName))
        at_least(self, steps=1, batch=1, accumulate=1, warmup=0, lora=0, layers=0, seed=0)
        for name in ("rate", "clip", "sharpness", "strength"):
            checks.positive(name, getattr(self, name))
        if self.strength > 1:
            raise ValueError(f"strength must be at most 1, got {self.strength}")
        nonnegative("kl", self.kl)
        nonnegative("naming", self.naming)
        if self.batch % self.accumulate:
            raise ValueError(
                f"batch must be a multiple of accumulate, got {self.batch} and {self.accumulate}"
            )


def loss_sequences(
    tasks: Sequence[Task], steps: int, batch: int, seed: int
) -> list[tuple[int, np.ndarray]]:
    """Draw the sequences of all training steps, with the number of their task; the tasks alternate within a batch.

    Args:
        tasks: the tasks.
        steps: the number of training steps.
        batch: sequences per step.
        seed: the random seed.
    """
    count = -(-batch // len(tasks))
    rows = []
    for step in range(steps):
        drawn = [draw_losses(task, count, seed=seed, step=step) for task in tasks]
        for row in range(batch):
            place, number = divmod(row, len(tasks))
            rows.append((number, drawn[number][place]))
    return rows


class RegretTrainer(Trainer):
    """A `transformers.Trainer` whose loss is the regret of the model on its tasks.

    Args:
        model: a causal language model, possibly with LoRA.
        args: `transformers.TrainingArguments`; `max_steps` and the batch size set the number of sequences.
        tasks: one or more tasks with full feedback and without answers; they may differ in actions and rounds.
        tokenizer: the model's tokenizer.
        objective: see `TrainConfig`.
        kl: the weight of the KL term to the initial model.
        naming: see `TrainConfig`.
        sharpness: see `TrainConfig`.
        **options: passed on to `Trainer`.
    """

    def __init__(
        self,
        model: Any,
        args: TrainingArguments,
        *,
        tasks: Task | Sequence[Task],
        tokenizer: Any,
        objective: ObjectiveName = "regret",
        kl: float = 0.0,
        naming: float = 0.0,
        sharpness: float = 1.0,
        **options: Any,
    ) -> None:
        self.tasks = [tasks] if isinstance(tasks, Task) else list(tasks)
        _check_differentiable(self.tasks)
        checks.at_least("max_steps", args.max_steps, 1)
        self.tokenizer = tokenizer
        self.objective: ObjectiveName = objective
        self.kl = kl
        self.naming = naming
        self.sharpness = sharpness
        self.base = None
        if kl and not hasattr(model, "disable_adapter"):
            self.base = copy.deepcopy(model).eval()
        self._divergences: list[float] = []
        args.remove_unused_columns = False  # the columns are the losses, not the model's inputs
        batch = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        if "train_dataset" not in options:
            drawn = loss_sequences(self.tasks, args.max_steps, batch, args.seed)
            options["train_dataset"] = drawn
        args.train_sampling_strategy = "sequential"
        super().__init__(model, args, data_collator=_unchanged, **options)
        self.model_accepts_loss_kwargs = False  # our loss is a mean, divided by accumulation

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Mean objective over the sequences of a batch, plus the KL term."""
        total: Any = 0.0
        for number, task in enumerate(self.tasks):
            losses = [rows for index, rows in inputs if index == number]
            if losses:
                share = len(losses) / len(inputs)
                total = total + share * self._task_loss(model, task, np.stack(losses))
        if not math.isfinite(total.item()):
            step = self.state.global_step + 1
            raise ValueError(f"the loss became {total.item()} at step {step}: try a lower rate")
        return (total, None) if return_outputs else total

    def _task_loss(self, model: Any, task: Task, losses: np.ndarray) -> Tensor:
        played, naming = answers(model, self.tokenizer, task, losses)
        loss = objective_loss(self.objective, task, played, losses, self.sharpness)
        loss = loss - self.naming * naming.mean()
        if self.kl:
            bare = self.accelerator.unwrap_model(model)
            unadapted = contextlib.nullcontext() if self.base else bare.disable_adapter()
            with torch.no_grad(), unadapted:
                before = policies(self.base or bare, self.tokenizer, task, losses)
            divergence = kl_divergence(played, before).mean()
            self._divergences.append(divergence.item())
            loss = loss + self.kl * divergence
        return loss

    def log(self, logs: dict[str, float], *args: Any, **options: Any) -> None:
        """Report the KL divergence along with the loss."""
        if self._divergences:
            logs["kl"] = float(np.mean(self._divergences))
            self._divergences = []
        super().log(logs, *args, **options)


def _check_differentiable(tasks: Sequence[Task]) -> None:
    if any(task.answers for task in tasks):
        raise ValueError(
            "differentiable losses need transcripts without answers: use full feedback, or train with rmft or grpo"
        )


def _unchanged(rows: Any) -> Any:
    return rows


def objective_loss(
    objective: ObjectiveName, task: Task, played: Tensor, losses: Any, sharpness: float = 1.0
) -> Tensor:
    """Compute an objective from policies and losses `(batch, T, d)`."""
    losses = torch.as_tensor(losses, dtype=played.dtype, device=played.device)
    if objective == "linear":
        return objectives.external_regret(played, losses).mean()
    if objective == "forecast":
        forecast = torch.as_tensor(hindsight_forecast(task, losses.cpu())).to(played)
        smallest = torch.finfo(played.dtype).tiny
        root = torch.softmax(played.clamp(min=smallest).log() / sharpness, -1)
        return kl_divergence(forecast, root).mean()
    if objective == "regret" and len(losses) > 1 and favours_no_action(task):
        return baselined(objectives.external_regret(played, losses))
    return getattr(objectives, f"{objective}_loss")(played, losses)


def baselined(regrets: Tensor) -> Tensor:
    r"""Mean of $R^2$, with the gradient of $2 (R_i - b_i) R_i$, where $b_i$ is the mean regret of the others.

    If the losses favour no action, $E[\nabla R] = 0$, so the expected gradient is that of $E[R^2]$, with less noise.

    >>> regrets = torch.tensor([1.0, 3.0], requires_grad=True)
    >>> value = baselined(regrets)
    >>> value.backward()
    >>> value.item(), regrets.grad.tolist()
    (5.0, [-2.0, 2.0])
    """
    fixed = regrets.detach()
    others = (fixed.sum() - fixed) / (len(fixed) - 1)
    change = (2 * (fixed - others) * regrets).mean()
    return fixed.square().mean() + change - change.detach()


def kl_divergence(policy: Tensor, base: Tensor) -> Tensor:
    r"""Compute $KL(\pi \| \pi^{base})$ along the last axis; zero probabilities count as the smallest positive number.

    >>> kl_divergence(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])).item()
    0.6931
    """
    smallest = torch.finfo(policy.dtype).tiny
    return (policy * (policy.clamp(min=smallest).log() - base.clamp(min=smallest).log())).sum(-1)


def train(
    model: Any,
    tokenizer: Any,
    task: Task | Sequence[Task],
    config: TrainConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    save_every: float = 30.0,
    resume: bool = True,
    **arguments: Any,
) -> Any:
    """Train a model in a folder and return it; an interrupted run is resumed, and a finished run is loaded.

    Args:
        model: a causal language model, which is modified in place. Reload it before resuming.
        tokenizer: its tokenizer.
        task: the task, or several tasks that are mixed in every batch.
        config: the settings.
        folder: where settings, checkpoints, metrics and the trained model are written.
        on_progress: called after every step.
        save_every: seconds between checkpoints.
        resume: continue an existing run in the folder; if False, an existing run is an error.
        **arguments: further `transformers.TrainingArguments`, such as `bf16=True` or `report_to="tensorboard"`.
    """
    tasks = [task] if isinstance(task, Task) else list(task)
    _check_differentiable(tasks)
    if config.objective == "hindsight" and any(gaussian_spread(part) != 0 for part in tasks):
        warnings.warn(
            "the hindsight loss equals squared regret on average only for standard Gaussian losses; "
            "on other losses it trains the model to forecast the best action",
            stacklevel=2,
        )
    part = config.batch // config.accumulate
    settings = {
        "max_steps": config.steps,
        "per_device_train_batch_size": process_share("batch / accumulate", part),
        "gradient_accumulation_steps": config.accumulate,
        "learning_rate": config.rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": config.warmup,
        "adam_beta2": 0.98,
        "max_grad_norm": config.clip,
        "save_strategy": "no",  # the callback saves at timed intervals
        "seed": config.seed,
        **trainer_arguments(model, folder),
        **arguments,
    }

    def learn(run: Store) -> Any:
        learning = with_lora(model, config.lora, config.seed, config.layers)
        with quiet():
            trainer = RegretTrainer(
                learning,
                TrainingArguments(**settings),
                tasks=tasks,
                tokenizer=tokenizer,
                objective=config.objective,
                kl=config.kl,
                naming=config.naming,
                sharpness=config.sharpness,
            )
            run_trainer(trainer, run, "train", on_progress, save_every)
        if config.lora and is_main_process():
            learning.save_pretrained(str(run.folder / "adapter"))
        return merge_lora(learning, config.strength)

    method = config.objective
    return run_in_folder(folder, method, model, tokenizer, tasks, config, learn, resume=resume)


def trainer_arguments(model: Any, folder: str | Path) -> dict[str, Any]:
    """Return the arguments shared by all trainers: one line of metrics per step, and no other output."""
    return {
        "output_dir": str(Path(folder) / "checkpoints"),
        "use_cpu": model.device.type == "cpu",
        "dataloader_pin_memory": False,
        "logging_steps": 1,
        "save_total_limit": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "bf16": False,  # TRL's default is True
        "gradient_checkpointing": False,
        "ddp_find_unused_parameters": False,
    }


def run_trainer(
    trainer: Any, run: Store, name: str, on_progress: OnProgress, save_every: float
) -> None:
    """Run a trainer from its newest complete checkpoint, with metrics and progress."""
    checkpoints = {}
    for state in Path(trainer.args.output_dir).glob("checkpoint-*/trainer_state.json"):
        with contextlib.suppress(ValueError, KeyError):  # written last: damaged if killed
            step = json.loads(state.read_text())["global_step"]
            checkpoints[step] = str(state.parent)
    newest = checkpoints.get(max(checkpoints, default=0))
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_Report(run, name, on_progress, save_every))
    trainer.train(resume_from_checkpoint=newest)


@dataclass(eq=False)
class _Report(TrainerCallback):
    """Write metrics, report progress, and save a checkpoint when it is due."""

    run: Store
    name: str
    on_progress: OnProgress
    save_every: float

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.saved = time.monotonic()
        if is_main_process():
            self.run.cut("step", state.global_step)
            self.on_progress(Progress(self.name, state.global_step, state.max_steps))

    def on_log(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        logs = options["logs"]
        if is_main_process() and "loss" in logs:
            self.run.log({"step": state.global_step, **logs})
            note = f"loss {logs['loss']:.3f}"
            self.on_progress(Progress(self.name, state.global_step, state.max_steps, note))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        due = [time.monotonic() - self.saved >= self.save_every]
        if torch.distributed.is_initialized():
            torch.distributed.broadcast_object_list(due)
        if due[0] and state.global_step < state.max_steps:
            control.should_save = True
            self.saved = time.monotonic()


def run_in_folder(
    folder: str | Path,
    method: str,
    model: Any,
    tokenizer: Any,
    tasks: list[Task],
    config: Any,
    learn: Callable[[Store], Any],
    *,
    resume: bool,
    temporary: Sequence[str] = ("checkpoints",),
) -> Any:
    """Load the trained model from a folder, or train it with `learn` and save it there.

    Only the main process locks and writes the folder. `temporary` lists the names to remove from it at the end.
    """
    for task in tasks:
        check_readable(model, tokenizer, task, draw_losses(task, 1, seed=0))
    run = Store(folder)
    final = run.folder / "model"
    lock: Any = contextlib.nullcontext()
    if is_main_process():
        lock = run.locked(_settings(method, model, tasks, config), resume)
    with lock:
        if is_complete(final):
            trained = load_like(final, model)
        else:
            trained = learn(run)
            if is_main_process():
                save_model(final, trained, tokenizer, tasks[0])
        if is_main_process():
            for name in temporary:
                shutil.rmtree(run.folder / name, ignore_errors=True)
    return trained


def _settings(method: str, model: Any, tasks: list[Task], config: Any) -> dict[str, Any]:
    """Return the settings that identify a folder's run, with a fingerprint of the initial model."""
    digest = hashlib.sha256()
    count = 0
    for name, parameter in model.named_parameters():
        numbers = parameter.detach().flatten()
        sample = numbers[:: -(-len(numbers) // 4096)].contiguous().cpu()
        digest.update(name.encode() + sample.view(torch.uint8).numpy().tobytes())
        count += len(numbers)
    base = f"{model.config.model_type} {count} {digest.hexdigest()[:12]}"
    texts = [json.loads(task.to_json()) for task in tasks]
    described = texts[0] if len(texts) == 1 else {"tasks": texts}
    return {"method": method, **asdict(config), "base_model": base, **described}


def is_complete(folder: Path) -> bool:
    """True if a folder has a completely saved model, whose task is written last."""
    return (folder / "task.json").exists()


def load_like(folder: Path, model: Any) -> Any:
    """Load the model in a folder with the dtype and device of another."""
    dtype = str(model.dtype).removeprefix("torch.")
    return load_model(folder, dtype=dtype, device=str(model.device)).model


def is_main_process() -> bool:
    """True in the first of several processes started by `torchrun` or `accelerate launch`."""
    return os.environ.get("RANK", "0") == "0"


def process_share(name: str, count: int) -> int:
    """Return the part of a batch for each process started by `torchrun` or `accelerate launch`."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if count % processes:
        raise ValueError(f"{name} must be a multiple of {processes}, the number of processes")
    return count // processes


def require(module: str, what: str) -> None:
    """Raise ValueError unless a module of the extra `llm-train` is installed."""
    if find_spec(module) is None:
        raise ValueError(
            f"{what} needs {module}, which is not installed: pip install 'regrax[llm-train]'"
        )


def with_lora(model: Any, rank: int, seed: int, layers: int = 0) -> Any:
    """Add LoRA to the linear maps of the last `layers` layers, or of all; rank 0 leaves the model unchanged."""
    if not rank:
        return model
    require("peft", "LoRA")
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    settings = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    if layers:
        frozen = range(model.config.get_text_config().num_hidden_layers - layers)
        settings.exclude_modules = rf".*\.({'|'.join(map(str, frozen))})\..*"
    with warnings.catch_warnings():  # peft detects how a layer stores its matrix and warns about it
        warnings.filterwarnings("ignore", message="fan_in_fan_out")
        return get_peft_model(model, settings)


def merge_lora(model: Any, strength: float = 1.0) -> Any:
    """Merge LoRA, if there is any, into the model's parameters, and turn dropout off."""
    if not hasattr(model, "merge_and_unload"):
        return model.eval()
    for module in model.modules():
        if hasattr(module, "scale_layer"):
            module.scale_layer(strength)
    return model.merge_and_unload().eval()
