r"""The losses on PyTorch tensors: the way into a training pipeline that is not JAX. Needs the extra `torch`.

Policies and losses have shape `(..., T, d)`, rounds before actions, any batch in front; gradients flow to both. In
value and gradient they equal `regrax.regret` and `regrax.training` to rounding.

    external   R = sum_t <l_t, pi_t> - min_j sum_t l_tj                      regret_loss      mean of h(R)
    swap       sum_i (M_ii - min_j M_ij),  M = sum_t pi_t l_t^T              swap_loss        mean of h(swap)
    hindsight  sum_t |pi_t - e_J|^2 - T + (min_j S_j)^2, J = argmin_j S_j    hindsight_loss   mean; E = E[R^2]

    from regrax.torch import regret_loss

    policies = torch.softmax(model(losses), -1)     # row t from losses 1..t-1
    regret_loss(policies, losses).backward()
"""

from collections.abc import Callable

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "regrax.torch needs PyTorch, but it is not installed: pip install 'regrax[torch]'"
    ) from None

__all__ = [
    "external_regret",
    "hindsight_loss",
    "internal_regret",
    "regret_loss",
    "swap_loss",
    "swap_matrix",
    "swap_regret",
]

Surrogate = Callable[[Tensor], Tensor]


def external_regret(policies: Tensor, losses: Tensor) -> Tensor:
    r"""$\sum_t \langle \ell_t, \pi_t \rangle - \min_j \sum_t \ell_{t,j}$ of every sequence, shape `(...)`.

    >>> external_regret(torch.full((2, 2), 0.5), torch.tensor([[1.0, 0.0], [1.0, 0.0]])).item()
    1.0
    """
    _check(policies, losses)
    return (policies * losses).sum((-2, -1)) - losses.sum(-2).amin(-1)


def swap_matrix(policies: Tensor, losses: Tensor) -> Tensor:
    r"""$M_{ij} = \sum_t \pi_{t,i} \ell_{t,j}$, shape `(..., d, d)`.

    >>> swap_matrix(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 2.0]])).tolist()
    [[3.0, 2.0], [0.0, 0.0]]
    """
    _check(policies, losses)
    return policies.transpose(-2, -1) @ losses


def internal_regret(policies: Tensor, losses: Tensor) -> Tensor:
    r"""$\max_{i,j} (M_{ii} - M_{ij})$ of every sequence.

    >>> internal_regret(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    5.0
    """
    return _gains(swap_matrix(policies, losses)).amax((-2, -1))


def swap_regret(policies: Tensor, losses: Tensor) -> Tensor:
    r"""$\sum_i (M_{ii} - \min_j M_{ij})$ of every sequence.

    >>> swap_regret(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    6.0
    """
    return _gains(swap_matrix(policies, losses)).amax(-1).sum(-1)


def regret_loss(policies: Tensor, losses: Tensor, h: Surrogate = torch.square) -> Tensor:
    r"""Mean of $h(R)$ over the batch: the regret loss.

    >>> regret_loss(torch.full((3, 2, 2), 0.5), torch.tensor([[2.0, 0.0], [2.0, 0.0]]).expand(3, 2, 2)).item()
    4.0
    """
    return h(external_regret(policies, losses)).mean()


def swap_loss(policies: Tensor, losses: Tensor, h: Surrogate = torch.square) -> Tensor:
    r"""Mean of $h$ of swap regret over the batch.

    >>> swap_loss(torch.eye(2), torch.tensor([[3.0, 2.0], [0.0, 5.0]])).item()
    36.0
    """
    return h(swap_regret(policies, losses)).mean()


def hindsight_loss(policies: Tensor, losses: Tensor) -> Tensor:
    r"""$\sum_t \|\pi_t - e_{J^*}\|^2 - T + (\min_j S_j)^2$, mean over the batch; $J^* = \arg\min_j S_j$.

    For i.i.d. standard Gaussian losses, and for these only, its mean is $E[R^2]$ and so is its gradient's, with less
    noise.

    >>> hindsight_loss(torch.full((1, 2), 0.5), torch.tensor([[1.0, 0.0]])).item()
    -0.5
    """
    _check(policies, losses)
    totals = losses.sum(-2)
    least, best = totals.min(-1)
    target = torch.nn.functional.one_hot(best, losses.shape[-1]).to(policies.dtype)
    errors = (policies - target.unsqueeze(-2)).square().sum((-2, -1))
    return (errors - losses.shape[-2] + least.square()).mean()


def _gains(matrix: Tensor) -> Tensor:
    return torch.diagonal(matrix, dim1=-2, dim2=-1).unsqueeze(-1) - matrix


def _check(policies: Tensor, losses: Tensor) -> None:
    if policies.ndim < 2 or policies.shape != losses.shape:
        raise ValueError(
            f"losses must have the shape {tuple(policies.shape)} of policies, (..., T, d), "
            f"but came with {tuple(losses.shape)}"
        )
