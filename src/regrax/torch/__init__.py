"""Regret losses for PyTorch tensors, for training pipelines that do not use JAX. Requires the `torch` extra.

Policies and losses have shape `(..., T, d)`, with any leading batch axes; gradients flow to both. Values and gradients
equal those of `regrax.regret` and `regrax.training` up to rounding.

    external   R = sum_t <l_t, pi_t> - min_j sum_t l_tj                      regret_loss      mean of h(R)
    swap       sum_i (M_ii - min_j M_ij),  M = sum_t pi_t l_t^T              swap_loss        mean of h(swap)
    hindsight  sum_t |pi_t - e_J|^2 - T + (min_j S_j)^2, J = argmin_j S_j    hindsight_loss   mean; E = E[R^2]

Every function takes the same four arguments: `policies`, which are distributions or integer actions of shape `(...,
T)`; `losses`; `logits`, whose softmax is used in place of policies; and `mask` of shape `(..., T)`, True where a round
was played, so that sequences of different lengths can share a tensor. Values in masked rounds are ignored, even if they
are NaN. Values are checked, except during compilation.

    from regrax.torch import regret_loss

    regret_loss(losses=losses, logits=model(losses)).backward()      # row t depends on losses 1..t-1
"""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError(
        "regrax.torch needs torch, but it is not installed: pip install 'regrax[torch]'",
        name="torch",
    )

from .losses import (
    bandit_estimates as bandit_estimates,
    external_regret as external_regret,
    hindsight_loss as hindsight_loss,
    internal_regret as internal_regret,
    regret_loss as regret_loss,
    swap_loss as swap_loss,
    swap_matrix as swap_matrix,
    swap_regret as swap_regret,
)
