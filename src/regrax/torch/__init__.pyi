"""The names of `regrax.torch`."""

from ._losses import (
    bandit_estimates as bandit_estimates,
    external_regret as external_regret,
    hindsight_loss as hindsight_loss,
    internal_regret as internal_regret,
    regret_loss as regret_loss,
    swap_loss as swap_loss,
    swap_matrix as swap_matrix,
    swap_regret as swap_regret,
)
