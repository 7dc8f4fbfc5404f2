r"""Exact theory: step sizes, losses, curvature, the optimal policy, and worst cases.

Conventions: $d$ actions, $T$ rounds, losses $l_t$ with sums $S_t = l_1 + \dots + l_t$; round $t$ is played from
$S_{t-1}$. Losses are i.i.d. standard Gaussian except in worst cases, where they lie in $[0, 1]$.
"""

from .hessian import (
    Curvature as Curvature,
    Direction as Direction,
    Eigenvalue as Eigenvalue,
    curvature as curvature,
    curvatures as curvatures,
    hessian_product as hessian_product,
    newton_direction as newton_direction,
)
from .losses import (
    LossParts as LossParts,
    loss as loss,
    loss_derivative as loss_derivative,
    loss_parts as loss_parts,
    minimum_moment as minimum_moment,
    optimal_loss as optimal_loss,
    stability as stability,
    uniform_loss as uniform_loss,
)
from .minimax_regret import (
    Minimax as Minimax,
    balanced_collections as balanced_collections,
    minimax as minimax,
)
from .optimal import Optimal as Optimal, optimal_policy as optimal_policy
from .steps import (
    Estimate as Estimate,
    StepSchedule as StepSchedule,
    step_schedule as step_schedule,
    step_size as step_size,
    step_size_with_error as step_size_with_error,
    step_summary as step_summary,
)
from .worst_cases import (
    WorstCase as WorstCase,
    worst_case as worst_case,
    worst_case_search as worst_case_search,
)
