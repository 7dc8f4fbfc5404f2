r"""`train`: gradient descent on the differentiable regret of a language model, in a folder, continued bit by bit.

    FOLDER/training.json        the settings and the task
    FOLDER/state.safetensors    the newest state: trained parameters, moments of Adam, the step; gone at the end
    FOLDER/metrics.jsonl        a line per report: step, loss, KL, seconds
    FOLDER/model                the trained model, read by plain `transformers` (LoRA merged into it)
    FOLDER/adapter              of LoRA, its own parameters

What a step draws depends on the seed and the step only, and so does dropout: a run that was killed and continued ends
with the same bits as one that was not. Nothing is pickled.
"""

import copy
import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from regrax import _checks as checks, torch as losses_of
from regrax._files import write_whole
from regrax.llm._load import save_model
from regrax.llm._losses import distribution_of, draw_losses, favours_no_action
from regrax.llm._policies import policies
from regrax.llm._task import Task
from regrax.training import Gaussian

OBJECTIVES = {
    "regret": losses_of.regret_loss,
    "swap": losses_of.swap_loss,
    "hindsight": losses_of.hindsight_loss,
}
"""What can be minimised, as functions of policies and losses."""
STATE = "state.safetensors"


@dataclass(frozen=True)
class TrainConfig:
    r"""How a model is trained.

    Args:
        objective: squared external regret, squared swap regret, or the hindsight loss (standard Gaussian losses only).
        steps: of Adam.
        batch: transcripts per step.
        accumulate: parts that a batch is read in, one after the other, to need less memory.
        rate: the highest learning rate: it rises over `warmup` steps and falls to 0 along a cosine.
        kl: weight of the mean over rounds of $KL(\pi_t \| \pi_t^{base})$, the policies before training.
        clip: the largest norm of a gradient.
        lora: rank of LoRA; 0 trains every parameter.
        seed: of everything that is drawn.
        save_every: seconds from one saved state to the next, at least.
    """

    objective: Literal["regret", "swap", "hindsight"] = "regret"
    steps: int = 300
    batch: int = 32
    accumulate: int = 1
    rate: float = 1e-4
    warmup: int = 20
    kl: float = 0.0
    clip: float = 1.0
    lora: int = 0
    seed: int = 0
    save_every: float = 30.0

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ValueError(
                f"objective must be one of {', '.join(OBJECTIVES)}, got {self.objective!r}"
            )
        for name, least in (
            ("steps", 1),
            ("batch", 1),
            ("accumulate", 1),
            ("lora", 0),
            ("seed", 0),
        ):
            checks.at_least(name, getattr(self, name), least)
        for name in ("rate", "clip"):
            checks.positive(name, getattr(self, name))
        if self.batch % self.accumulate:
            raise ValueError(
                f"batch must be a multiple of accumulate, got {self.batch} and {self.accumulate}"
            )


class Progress(NamedTuple):
    """How far a training is."""

    step: int
    steps: int
    loss: float
    kl: float


def train(
    model: Any,
    tokenizer: Any,
    task: Task,
    config: TrainConfig,
    folder: str | Path,
    *,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Any:
    """The trained model, from `folder` if it is finished there, else trained there, from where a run before stopped.

    Args:
        model: a causal language model; it is changed in place.
        tokenizer: its tokenizer.
        task: what it is trained on; with full feedback and without answers, which one pass can read.
        config: how.
        folder: where settings, state, metrics and the trained model go.
        on_progress: called after every step.
    """
    if task.answers:
        raise ValueError(
            "the differentiable losses need transcripts of losses only: feedback full, answers false; use rmft or grpo"
        )
    _warn_hindsight(config, task)
    run = _Run(model, tokenizer, task, config, Path(folder))
    if not run.is_finished():
        run.resume()
        while run.step < config.steps:
            on_progress(run.advance())
        run.finish()
    return run.trained()


def _warn_hindsight(config: TrainConfig, task: Task) -> None:
    source = distribution_of(task)
    plain = isinstance(source, Gaussian) and source.covariance is None
    if config.objective == "hindsight" and not plain:
        warnings.warn(
            "the hindsight loss is squared regret on average for standard Gaussian losses only: "
            "on others it trains to forecast the best action",
            stacklevel=3,
        )


class _Run:
    """A training on its way: the model, the optimizer, and their files."""

    def __init__(
        self, model: Any, tokenizer: Any, task: Task, config: TrainConfig, folder: Path
    ) -> None:
        self.tokenizer, self.task, self.config, self.folder = tokenizer, task, config, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._claim(model)
        self.base = copy.deepcopy(model).eval() if config.kl and not config.lora else None
        self.model = adapted(model, config.lora, config.seed) if config.lora else model
        self.parameters = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.Adam(self.parameters.values(), config.rate, betas=(0.9, 0.98))
        self.fair = favours_no_action(task)
        self.step, self.seconds, self._saved = 0, 0.0, time.monotonic()

    def _claim(self, model: Any) -> None:
        """Make the folder this training's own, or raise if it is another's."""
        file = self.folder / "training.json"
        settings = {"task": json.loads(self.task.to_json()), "config": asdict(self.config)}
        settings["model"] = {"type": model.config.model_type, "parameters": _count(model)}
        if not file.exists():
            return write_whole(file, json.dumps(settings, indent=1).encode())
        kept = json.loads(file.read_bytes())
        for part, values in settings.items():
            for name, value in values.items():
                if name != "save_every" and kept.get(part, {}).get(name) != value:
                    raise ValueError(
                        f"{self.folder} holds a training with {name} = {kept.get(part, {}).get(name)!r}, "
                        f"but {value!r} was asked for: choose another folder, or the same settings"
                    )
        return None

    def is_finished(self) -> bool:
        """Whether the trained model is in the folder."""
        return (self.folder / "model" / "task.json").exists()

    def resume(self) -> None:
        """Read the newest state, if there is one; metrics after it are dropped."""
        file = self.folder / STATE
        if file.exists():
            arrays, about = _read_state(file)
            self.step, self.seconds = int(about["step"]), float(about["seconds"])
            self._restore(arrays)
        _cut_metrics(self.folder / "metrics.jsonl", self.step)

    def _restore(self, arrays: dict[str, Tensor]) -> None:
        for name, parameter in self.parameters.items():
            if f"parameter.{name}" not in arrays:
                raise ValueError(f"{self.folder / STATE} is of another model: it has no {name}")
            parameter.data.copy_(arrays[f"parameter.{name}"])
            self.optimizer.state[parameter] = {
                "step": torch.tensor(float(self.step)),
                "exp_avg": arrays[f"mean.{name}"].to(parameter.device),
                "exp_avg_sq": arrays[f"square.{name}"].to(parameter.device),
            }

    def advance(self) -> Progress:
        """One step of Adam."""
        config, began = self.config, time.monotonic()
        torch.manual_seed(config.seed * 1_000_003 + self.step)  # dropout
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = _rate(config, self.step)
        drawn = draw_losses(self.task, config.batch, seed=config.seed, step=self.step)
        loss, kl = 0.0, 0.0
        for part in drawn.reshape(config.accumulate, -1, *drawn.shape[1:]):
            one, distance = self._loss(part)
            ((one + config.kl * distance) / config.accumulate).backward()
            loss, kl = (
                loss + one.item() / config.accumulate,
                kl + distance.item() / config.accumulate,
            )
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step, self.seconds = self.step + 1, self.seconds + time.monotonic() - began
        self._record(loss, kl)
        return Progress(self.step, config.steps, loss, kl)

    def _loss(self, drawn: Any) -> tuple[Tensor, Tensor]:
        played = policies(self.model, self.tokenizer, self.task, drawn)
        losses = torch.as_tensor(drawn, dtype=played.dtype, device=played.device)
        loss = self._objective(played, losses)
        if not self.config.kl:
            return loss, torch.zeros(())
        with torch.no_grad():
            before = self._base_policies(drawn)
        return loss, (played * (played.log() - before.log())).sum(-1).mean()

    def _objective(self, played: Tensor, losses: Tensor) -> Tensor:
        if self.config.objective == "regret" and self.fair and len(losses) > 1:
            return baselined(losses_of.external_regret(played, losses))
        return OBJECTIVES[self.config.objective](played, losses)

    def _base_policies(self, drawn: Any) -> Tensor:
        if self.base is not None:
            return policies(self.base, self.tokenizer, self.task, drawn)
        with self.model.disable_adapter():
            return policies(self.model, self.tokenizer, self.task, drawn)

    def _record(self, loss: float, kl: float) -> None:
        if not math.isfinite(loss):
            raise ValueError(f"the loss became {loss} at step {self.step}: try a smaller rate")
        line = {"step": self.step, "loss": loss, "kl": kl, "seconds": round(self.seconds, 3)}
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        if time.monotonic() - self._saved >= self.config.save_every:
            self.save()

    def save(self) -> None:
        """Write the state whole or not at all."""
        arrays = {}
        for name, parameter in self.parameters.items():
            kept = self.optimizer.state[parameter]
            arrays[f"parameter.{name}"] = parameter.data.contiguous()
            arrays[f"mean.{name}"] = kept["exp_avg"].contiguous()
            arrays[f"square.{name}"] = kept["exp_avg_sq"].contiguous()
        about = {"step": str(self.step), "seconds": str(self.seconds)}
        write_whole(self.folder / STATE, safetensors.torch.save(arrays, about))
        self._saved = time.monotonic()

    def finish(self) -> None:
        """Write the trained model; the state is no longer needed."""
        self.model.eval()
        if self.config.lora:
            self.model.save_pretrained(str(self.folder / "adapter"))
        save_model(self.folder / "model", self.trained(), self.tokenizer, self.task)
        (self.folder / STATE).unlink(missing_ok=True)

    def trained(self) -> Any:
        """The trained model, as plain `transformers` has it."""
        if self.is_finished():
            from regrax.llm._load import load_model

            dtype = str(next(iter(self.parameters.values())).dtype).removeprefix("torch.")
            device = str(next(iter(self.parameters.values())).device)
            return load_model(self.folder / "model", dtype=dtype, device=device).model
        return self.model.merge_and_unload() if self.config.lora else self.model


def baselined(regrets: Tensor) -> Tensor:
    r"""The mean of $R^2$, whose gradient is that of $2 (R_i - b_i) R_i$, $b_i$ the mean regret of the others.

    Where losses favour no action $E[\nabla R] = 0$, so the mean of the gradient is that of $E[R^2]$, with a fraction of
    its noise: as `regrax.training` trains.

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


def adapted(model: Any, rank: int, seed: int) -> Any:
    """The model with LoRA of this rank on all linear layers but the last."""
    try:
        from peft import LoraConfig, get_peft_model
    except ModuleNotFoundError:
        raise ValueError(
            "LoRA needs peft, but it is not installed: pip install 'regrax[llm-train]'"
        ) from None
    torch.manual_seed(seed)
    settings = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return get_peft_model(model, settings)


def _rate(config: TrainConfig, step: int) -> float:
    warm = min(1.0, (step + 1) / max(config.warmup, 1))
    return config.rate * warm * 0.5 * (1 + math.cos(math.pi * step / config.steps))


def _count(model: Any) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _read_state(file: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safetensors.safe_open(file, "pt") as opened:
            return {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata()  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise ValueError(f"{file} is damaged: {error}") from None


def _cut_metrics(file: Path, step: int) -> None:
    """Drop the lines after the state's step, and a half-written one: they will be written again."""
    if file.exists():
        lines = [
            line for line in file.read_text().splitlines(keepends=True) if line.endswith("}\n")
        ]
        kept = [line for line in lines if json.loads(line)["step"] <= step]
        write_whole(file, "".join(kept).encode())
