"""Exact numbers for the theory, no models: the stationary step, the limit of any model, the best possible policy."""

from regrax.specs import register

from ._curvature import (
    Curvature as Curvature,
    Eigenvalue as Eigenvalue,
    curvature as curvature,
)
from ._curvature_operator import (
    Direction as Direction,
    hessian_product as hessian_product,
    newton_direction as newton_direction,
)
from ._curvature_surface import (
    curvatures as curvatures,
)
from ._loss import (
    LossParts as LossParts,
    loss as loss,
    loss_derivative as loss_derivative,
    loss_parts as loss_parts,
    minimum_moment as minimum_moment,
    optimal_loss as optimal_loss,
    stability as stability,
    uniform_loss as uniform_loss,
)
from ._minimax import (
    Minimax as Minimax,
    balanced_collections as balanced_collections,
    minimax as minimax,
)
from ._optimal import (
    Optimal as Optimal,
    optimal_policy as optimal_policy,
)
from ._schedule import (
    StepSchedule as StepSchedule,
    step_schedule as step_schedule,
)
from ._step_size import (
    Estimate as Estimate,
    step_size as step_size,
    step_size_with_error as step_size_with_error,
)
from ._worst_case import (
    WorstCase as WorstCase,
    worst_case as worst_case,
    worst_case_search as worst_case_search,
)

register("learner", "optimal(20)", "optimal(20, 0.68)")(Optimal)
register("learner", "minimax(20)")(Minimax)
