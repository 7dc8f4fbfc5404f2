"""Errors that teach, for tensors; values are looked at except while a graph is compiled."""

import torch
from torch import Tensor

TOLERANCE = 1e-4
"""How far from 1 a distribution's sum may be, besides rounding, as in `regrax.regret`."""


def occurs(problem: Tensor) -> bool:
    """Whether some values have a problem; while a graph is compiled there are none to look at."""
    return not torch.compiler.is_compiling() and bool(problem.any())


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless a mask is of truth values, one per round."""
    if mask.dtype != torch.bool or tuple(mask.shape) != shape:
        kind = str(mask.dtype).removeprefix("torch.")
        raise ValueError(
            f"mask must be bool of shape {shape}, (..., T), got {kind} of shape {tuple(mask.shape)}"
        )


def check_finite(name: str, values: Tensor) -> None:
    """Raise unless the values are finite floating-point numbers."""
    if not values.is_floating_point():
        raise ValueError(f"{name} must be floating-point numbers, got {values.dtype}")
    if occurs(~values.isfinite()):
        raise ValueError(f"{name} must be finite numbers, got some that are not")


def check_distributions(name: str, values: Tensor) -> None:
    """Raise unless the last axis holds distributions."""
    check_finite(name, values)
    if torch.compiler.is_compiling():
        return
    values = values.detach()
    rounding = TOLERANCE + values.shape[-1] * torch.finfo(values.dtype).eps
    if values.min() < -rounding:
        raise ValueError(f"{name} must have no negative entry, got {values.min().item():.6g}")
    sums = values.sum(-1, dtype=torch.promote_types(values.dtype, torch.float32))
    worst = sums.flatten()[(sums - 1).abs().argmax()].item()
    if abs(worst - 1) > rounding:
        raise ValueError(
            f"{name} must sum to 1 along their last axis, got {worst:.6g}; logits go in logits="
        )
