r"""Gradient descent on the differentiable regret of a language model, step by step; no files.

What a step draws depends on the seed and the step only, and so does dropout.
"""

import copy
import math
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regrax import torch as losses_of
from regrax.agents.llm._config import TrainConfig
from regrax.agents.llm._losses import draw_losses, favours_no_action
from regrax.agents.llm._policies import policies
from regrax.agents.llm._task import Task
from regrax.agents.llm._trainers import adapted

MOMENTS = {"mean": "exp_avg", "square": "exp_avg_sq"}
"""What Adam keeps of every parameter, by our names and by torch's."""


class Step(NamedTuple):
    """What a step measured before it changed the model, on average over its batch."""

    loss: float
    kl: float


class Descent:
    """A model on its way: its trained parameters, and the optimizer."""

    def __init__(self, model: Any, tokenizer: Any, task: Task, config: TrainConfig) -> None:
        self.tokenizer, self.task, self.config = tokenizer, task, config
        self.base = copy.deepcopy(model).eval() if config.kl and not config.lora else None
        self.model = adapted(model, config.lora, config.seed)
        self.parameters = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.Adam(self.parameters.values(), config.rate, betas=(0.9, 0.98))
        self.fair = favours_no_action(task)
        self.done = 0

    def step(self) -> Step:
        """One step of Adam."""
        config = self.config
        torch.manual_seed(config.seed * 1_000_003 + self.done)  # dropout
        self.model.train()
        self.optimizer.param_groups[0]["lr"] = _rate(config, self.done)
        drawn = draw_losses(self.task, config.batch, seed=config.seed, step=self.done)
        parts = drawn.reshape(config.accumulate, -1, *drawn.shape[1:])
        found = torch.tensor([self._accumulate(part) for part in parts]).mean(0)
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.done += 1
        step = Step(*found.tolist())
        if not math.isfinite(step.loss):
            raise ValueError(f"the loss became {step.loss} at step {self.done}: try a smaller rate")
        return step

    def _accumulate(self, drawn: Any) -> tuple[float, float]:
        """Add the gradient of a part of the batch."""
        played = policies(self.model, self.tokenizer, self.task, drawn)
        losses = torch.as_tensor(drawn, dtype=played.dtype, device=played.device)
        loss, kl = self._objective(played, losses), torch.zeros(())
        if self.config.kl:
            as_before = nullcontext() if self.base else self.model.disable_adapter()
            with torch.no_grad(), as_before:
                before = policies(self.base or self.model, self.tokenizer, self.task, drawn)
            kl = divergence(played, before).mean()
        ((loss + self.config.kl * kl) / self.config.accumulate).backward()
        return loss.item(), kl.item()

    def _objective(self, played: Tensor, losses: Tensor) -> Tensor:
        if self.config.objective == "regret" and self.fair and len(losses) > 1:
            return baselined(losses_of.external_regret(played, losses))
        return getattr(losses_of, f"{self.config.objective}_loss")(played, losses)

    def state(self) -> dict[str, Tensor]:
        """Everything that a step changes."""
        arrays = {}
        for name, parameter in self.parameters.items():
            arrays[f"parameter.{name}"] = parameter.data.contiguous()
            for ours, theirs in MOMENTS.items():
                arrays[f"{ours}.{name}"] = self.optimizer.state[parameter][theirs].contiguous()
        return arrays

    def restore(self, arrays: dict[str, Tensor], done: int) -> None:
        """Go on from a state after this many steps."""
        for name, parameter in self.parameters.items():
            for part in ("parameter", *MOMENTS):
                found = arrays.get(f"{part}.{name}")
                if found is None or found.shape != parameter.shape:
                    raise ValueError(f"the state is of another model: it has no such {part}.{name}")
            parameter.data.copy_(arrays[f"parameter.{name}"])
            moments = {t: arrays[f"{o}.{name}"].to(parameter.device) for o, t in MOMENTS.items()}
            self.optimizer.state[parameter] = {"step": torch.tensor(float(done)), **moments}
        self.done = done


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


def divergence(policy: Tensor, base: Tensor) -> Tensor:
    r"""$KL(\pi \| \pi^{base})$ along the last axis; probabilities that are 0 to rounding count as the least above it.

    >>> divergence(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])).item()
    0.6931
    """
    least = torch.finfo(policy.dtype).tiny
    return (policy * (policy.clamp(min=least).log() - base.clamp(min=least).log())).sum(-1)


def _rate(config: TrainConfig, step: int) -> float:
    warm = min(1.0, (step + 1) / max(config.warmup, 1))
    return config.rate * warm * 0.5 * (1 + math.cos(math.pi * step / config.steps))
