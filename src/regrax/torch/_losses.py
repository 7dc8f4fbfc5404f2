r"""Regret of PyTorch tensors, and the losses made of it; see `regrax.torch`."""

from collections.abc import Callable

import torch
from torch import Tensor

from regrax.torch._checks import check_distributions, check_finite, check_mask, occurs

Surrogate = Callable[[Tensor], Tensor]
Given = Tensor | None


def external_regret(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""$\sum_t \langle \ell_t, \pi_t \rangle - \min_j \sum_t \ell_{t,j}$ of every sequence, shape `(...)`.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

    >>> external_regret(torch.full((2, 2), 0.5), torch.tensor([[1.0, 0.0], [1.0, 0.0]])).item()
    1.0
    >>> external_regret(torch.tensor([0, 1]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])).item()
    1.0
    """
    policies, losses = _played(policies, losses, logits, mask)
    return (policies * losses).sum((-2, -1)) - losses.sum(-2).amin(-1)


def swap_matrix(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""$M_{ij} = \sum_t \pi_{t,i} \ell_{t,j}$, shape `(..., d, d)`.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

    >>> swap_matrix(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 2.0]])).tolist()
    [[3.0, 2.0], [0.0, 0.0]]
    """
    policies, losses = _played(policies, losses, logits, mask)
    return policies.transpose(-2, -1) @ losses


def internal_regret(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""$\max_{i,j} (M_{ii} - M_{ij})$ of every sequence.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

    >>> internal_regret(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    5.0
    """
    return _gains(swap_matrix(policies, losses, logits=logits, mask=mask)).amax((-2, -1))


def swap_regret(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""$\sum_i (M_{ii} - \min_j M_{ij})$ of every sequence.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

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
    r"""Mean of $h(R)$ over the batch: the regret loss.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        surrogate: $h$, of each sequence's regret.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

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
    r"""Mean of $h$ of swap regret over the batch.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        surrogate: $h$, of each sequence's swap regret.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

    >>> swap_loss(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    36.0
    """
    return surrogate(swap_regret(policies, losses, logits=logits, mask=mask)).mean()


def hindsight_loss(
    policies: Given = None, losses: Given = None, *, logits: Given = None, mask: Given = None
) -> Tensor:
    r"""$\sum_t \|\pi_t - e_{J^*}\|^2 - T + (\min_j S_j)^2$, mean over the batch; $J^* = \arg\min_j S_j$.

    Sums are over played rounds and $T$ is their number. For i.i.d. standard Gaussian losses, and for these only, its
    mean is $E[R^2]$ and so is its gradient's, with less noise.

    Args:
        policies: distributions `(..., T, d)`, or action indices `(..., T)`.
        losses: of every action in every round, `(..., T, d)`.
        logits: instead of policies: their softmax is played.
        mask: which rounds were played, `(..., T)`; by default all.

    >>> hindsight_loss(torch.full((1, 2), 0.5), torch.tensor([[1.0, 0.0]])).item()
    -0.5
    """
    policies, losses = _played(policies, losses, logits, mask)
    least, best = losses.sum(-2).min(-1)
    target = torch.nn.functional.one_hot(best, losses.shape[-1]).to(policies.dtype)
    errors = (policies - target.unsqueeze(-2)).square().sum(-1)
    rounds = losses.shape[-2] if mask is None else mask.sum(-1)
    errors = errors if mask is None else torch.where(mask, errors, 0)
    return (errors.sum(-1) - rounds + least.square()).mean()


def bandit_estimates(actions: Tensor, received: Tensor, chances: Tensor) -> Tensor:
    r"""$\hat\ell_{t,j} = 1\{a_t = j\}\, \ell_{t,a_t} / \pi_{t,a_t}$: losses of which one per round was seen.

    Their mean is the losses themselves wherever the chance is above 0, so the regret of `actions` on them estimates the
    regret of play. `actions` and `received` have shape `(..., T)`, `chances`, the policies that the actions were drawn
    from, `(..., T, d)`.

    >>> bandit_estimates(torch.tensor([1]), torch.tensor([3.0]), torch.tensor([[0.5, 0.5]])).tolist()
    [[0.0, 6.0]]
    """
    check_distributions("chances", chances)
    if received.shape != actions.shape:
        raise ValueError(
            f"received must have shape {tuple(actions.shape)}, that of actions, got {tuple(received.shape)}"
        )
    shown = _one_hot(actions, chances)
    chance = (shown * chances).sum(-1)
    if occurs(chance <= 0):
        raise ValueError("chances of the drawn actions must be above 0, got one that is not")
    return shown * (received / chance).unsqueeze(-1)


def _gains(matrix: Tensor) -> Tensor:
    return torch.diagonal(matrix, dim1=-2, dim2=-1).unsqueeze(-1) - matrix


def _played(policies: Given, losses: Given, logits: Given, mask: Given) -> tuple[Tensor, Tensor]:
    """Policies and losses, which are zero in rounds that were not played."""
    name, given = ("policies", policies) if logits is None else ("logits", logits)
    if losses is None or given is None or (given is logits and policies is not None):
        raise ValueError("losses and one of policies or logits must be given, got others")
    is_index = given is policies and not given.is_floating_point()
    shape = tuple(losses.shape)
    if losses.ndim < 2 or tuple(given.shape) != (shape[:-1] if is_index else shape):
        wanted = "action indices (..., T) or distributions" if given is policies else "numbers"
        raise ValueError(
            f"{name} must be {wanted} (..., T, d) for losses of shape {shape}, "
            f"got {str(given.dtype).removeprefix('torch.')} of shape {tuple(given.shape)}"
        )
    if mask is not None:
        check_mask(mask, shape[:-1])
        there = mask if is_index else mask.unsqueeze(-1)
        given = torch.where(there, given, 0 if is_index or name == "logits" else 1 / shape[-1])
        losses = torch.where(mask.unsqueeze(-1), losses, 0)
    check_finite("losses", losses)
    played = _one_hot(given, losses) if is_index else _distributions(given, name)
    kind = torch.promote_types(played.dtype, losses.dtype)
    return played.to(kind), losses.to(kind)


def _distributions(given: Tensor, name: str) -> Tensor:
    if name == "policies":
        check_distributions(name, given)
        return given
    if occurs(given.isnan()):
        raise ValueError("logits must be numbers, got nan")
    return torch.softmax(given, -1)


def _one_hot(actions: Tensor, like: Tensor) -> Tensor:
    d = like.shape[-1]
    if actions.dtype == torch.bool or actions.is_floating_point():
        raise ValueError(f"actions must be integers from 0 to {d - 1}, got {actions.dtype}")
    if occurs((actions < 0) | (actions >= d)):
        raise ValueError(
            f"actions must be from 0 to {d - 1}, got {actions.min().item()} to {actions.max().item()}"
        )
    return torch.nn.functional.one_hot(actions.long(), d).to(like.dtype)
