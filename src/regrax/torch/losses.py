"""Regrets of PyTorch tensors, and losses based on them. The arguments are described in `regrax.torch`."""

from collections.abc import Callable

import torch
from torch import Tensor

Surrogate = Callable[[Tensor], Tensor]
Given = Tensor | None
TOLERANCE = 1e-4
"""Allowed deviation of a distribution's sum from 1, on top of rounding, as in `regrax.regret`."""


def external_regret(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""External regret $\sum_t \langle \ell_t, \pi_t \rangle - \min_j \sum_t \ell_{t,j}$ of every sequence, `(...)`.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> external_regret(torch.full((2, 2), 0.5), torch.tensor([[1.0, 0.0], [1.0, 0.0]])).item()
    1.0
    >>> external_regret(torch.tensor([0, 1]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])).item()
    1.0
    """
    policies, losses, _ = _played(policies, losses, logits, mask)
    return (policies * losses).sum((-2, -1)) - losses.sum(-2).amin(-1)


def swap_matrix(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""Swap matrix $M_{ij} = \sum_t \pi_{t,i} \ell_{t,j}$ of every sequence, `(..., d, d)`.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> swap_matrix(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 2.0]])).tolist()
    [[3.0, 2.0], [0.0, 0.0]]
    """
    policies, losses, _ = _played(policies, losses, logits, mask)
    return policies.transpose(-2, -1) @ losses


def internal_regret(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""Internal regret $\max_{i,j} (M_{ii} - M_{ij})$ of every sequence, `(...)`.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> internal_regret(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    5.0
    """
    return _gains(swap_matrix(policies, losses, logits=logits, mask=mask)).amax((-2, -1))


def swap_regret(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""Swap regret $\sum_i (M_{ii} - \min_j M_{ij})$ of every sequence, `(...)`.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> swap_regret(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    6.0
    """
    return _gains(swap_matrix(policies, losses, logits=logits, mask=mask)).amax(-1).sum(-1)


def regret_loss(
    policies: Given = None,
    losses: Given = None,
    surrogate: Surrogate = torch.square,
    *,
    logits: Given = None,
    mask: Given = None,
) -> Tensor:
    r"""Regret loss: the mean of $h(R)$ over the batch.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        surrogate: $h$, applied to the regret of each sequence.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> regret_loss(torch.full((3, 2, 2), 0.5), torch.tensor([[2.0, 0.0], [2.0, 0.0]]).expand(3, 2, 2)).item()
    4.0
    """
    return surrogate(external_regret(policies, losses, logits=logits, mask=mask)).mean()


def swap_loss(
    policies: Given = None,
    losses: Given = None,
    surrogate: Surrogate = torch.square,
    *,
    logits: Given = None,
    mask: Given = None,
) -> Tensor:
    r"""Swap loss: the mean of $h$ of the swap regret over the batch.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        surrogate: $h$, applied to the swap regret of each sequence.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> swap_loss(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    36.0
    """
    return surrogate(swap_regret(policies, losses, logits=logits, mask=mask)).mean()


def hindsight_loss(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""Hindsight loss: the mean of $\sum_t \|\pi_t - e_{J^*}\|^2 - T + (\min_j S_j)^2$, where $J^* = \arg\min_j S_j$.

    Sums are over played rounds, and $T$ is their number. For i.i.d. standard Gaussian losses, and only for those, the
    expected value and gradient equal those of $E[R^2]$, with less noise.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: the loss of every action in every round, `(..., T, d)`.
        logits: used instead of policies, which are then their softmax.
        mask: True for the rounds that were played, `(..., T)`; by default all.

    >>> hindsight_loss(torch.full((1, 2), 0.5), torch.tensor([[1.0, 0.0]])).item()
    -0.5
    """
    policies, losses, mask = _played(policies, losses, logits, mask)
    least, best = losses.sum(-2).min(-1)
    target = torch.nn.functional.one_hot(best, losses.shape[-1]).to(policies.dtype)
    errors = torch.where(mask, (policies - target.unsqueeze(-2)).square().sum(-1), 0)
    return (errors.sum(-1) - mask.sum(-1) + least.square()).mean()


def bandit_estimates(actions: Tensor, received: Tensor, chances: Tensor) -> Tensor:
    r"""Importance-weighted losses $\hat\ell_{t,j} = 1\{a_t = j\}\, \ell_{t,a_t} / \pi_{t,a_t}$, `(..., T, d)`.

    Their expectation equals the losses wherever the probability is positive, so the regret of `actions` on these
    estimates is an estimate of the regret of play.

    Args:
        actions: the sampled actions, `(..., T)`.
        received: their losses, `(..., T)`.
        chances: the policies they were sampled from, `(..., T, d)`.

    >>> bandit_estimates(torch.tensor([1]), torch.tensor([3.0]), torch.tensor([[0.5, 0.5]])).tolist()
    [[0.0, 6.0]]
    """
    _check_distributions("chances", chances)
    if received.shape != actions.shape:
        raise ValueError(
            f"received must have shape {tuple(actions.shape)} to match actions, got {tuple(received.shape)}"
        )
    sampled = _one_hot(actions, chances)
    chance = (sampled * chances).sum(-1)
    if _any(chance <= 0):
        raise ValueError("chances must be above 0 for the sampled actions, got 0")
    return sampled * (received / chance).unsqueeze(-1)


def _gains(matrix: Tensor) -> Tensor:
    return torch.diagonal(matrix, dim1=-2, dim2=-1).unsqueeze(-1) - matrix


def _played(
    policies: Given, losses: Given, logits: Given, mask: Given
) -> tuple[Tensor, Tensor, Tensor]:
    """Check the arguments and return policies, losses and the mask, with zero losses in masked rounds."""
    if losses is None or (policies is None) == (logits is None):
        raise ValueError("losses and either policies or logits must be given")
    shape = losses.shape
    if losses.ndim < 2:
        raise ValueError(f"losses must have shape (..., T, d), got {tuple(shape)}")
    if mask is None:
        mask = torch.ones(shape[:-1], dtype=torch.bool, device=losses.device)
    elif mask.dtype != torch.bool or mask.shape != shape[:-1]:
        raise ValueError(
            f"mask must be bool of shape {tuple(shape[:-1])}, that is (..., T), got {_describe(mask)}"
        )
    rows = mask.unsqueeze(-1)
    losses = torch.where(rows, losses, 0)
    _check_finite("losses", losses)
    if logits is not None:
        _check_shape("logits", logits, "numbers", shape, shape)
        logits = torch.where(rows, logits, 0)
        if _any(logits.isnan()):
            raise ValueError("logits must be numbers, got nan")
        played = torch.softmax(logits, -1)
    else:
        assert policies is not None
        is_mixed = policies.is_floating_point()
        wanted = "action indices (..., T) or distributions"
        _check_shape("policies", policies, wanted, shape, shape if is_mixed else shape[:-1])
        if is_mixed:
            played = torch.where(rows, policies, 1 / shape[-1])
            _check_distributions("policies", played)
        else:
            played = _one_hot(torch.where(mask, policies, 0), losses)
    dtype = torch.promote_types(played.dtype, losses.dtype)
    return played.to(dtype), losses.to(dtype), mask


def _one_hot(actions: Tensor, like: Tensor) -> Tensor:
    d = like.shape[-1]
    if actions.dtype == torch.bool or actions.is_floating_point():
        raise ValueError(f"actions must be integers from 0 to {d - 1}, got {actions.dtype}")
    if _any((actions < 0) | (actions >= d)):
        raise ValueError(
            f"actions must be from 0 to {d - 1}, got {actions.min().item()} to {actions.max().item()}"
        )
    return torch.nn.functional.one_hot(actions.long(), d).to(like.dtype)


def _any(problem: Tensor) -> bool:
    """True if any value has a problem; always False during compilation, when there are no values."""
    return not torch.compiler.is_compiling() and bool(problem.any())


def _describe(values: Tensor) -> str:
    return f"{str(values.dtype).removeprefix('torch.')} of shape {tuple(values.shape)}"


def _check_shape(
    name: str, values: Tensor, wanted: str, losses: torch.Size, shape: torch.Size
) -> None:
    if values.shape != shape:
        raise ValueError(
            f"{name} must be {wanted} (..., T, d) for losses of shape {tuple(losses)}, got {_describe(values)}"
        )


def _check_finite(name: str, values: Tensor) -> None:
    if not values.is_floating_point():
        raise ValueError(f"{name} must be floating-point numbers, got {values.dtype}")
    if _any(~values.isfinite()):
        raise ValueError(f"{name} must be finite numbers, got nan or infinity")


def _check_distributions(name: str, values: Tensor) -> None:
    _check_finite(name, values)
    rounding = TOLERANCE + values.shape[-1] * torch.finfo(values.dtype).eps
    if _any(values < -rounding):
        raise ValueError(f"{name} must have no negative entries, got {values.min().item():.6g}")
    sums = values.detach().sum(-1, dtype=torch.promote_types(values.dtype, torch.float32))
    errors = (sums - 1).abs()
    if _any(errors > rounding):
        worst = sums.flatten()[errors.argmax()].item()
        raise ValueError(
            f"{name} must sum to 1 along their last axis, got {worst:.6g}; pass logits as logits="
        )
