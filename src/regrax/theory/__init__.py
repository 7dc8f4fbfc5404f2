"""Exact numbers for the theory, no models: the stationary step, the limit of any model, the best possible policy."""

from regrax.theory._curvature import Curvature, Eigenvalue, curvature
from regrax.theory._curvature_operator import Direction, hessian_product, newton_direction
from regrax.theory._curvature_surface import curvatures
from regrax.theory._gaussian import minimum_moment, stability
from regrax.theory._loss import (
    LossParts,
    loss,
    loss_derivative,
    loss_parts,
    optimal_loss,
    uniform_loss,
)
from regrax.theory._optimal import Optimal, optimal_policy
from regrax.theory._schedule import StepSchedule, step_schedule
from regrax.theory._step_size import Estimate, step_size, step_size_with_error

__all__ = [
    "Curvature",
    "Direction",
    "Eigenvalue",
    "Estimate",
    "LossParts",
    "Optimal",
    "StepSchedule",
    "curvature",
    "curvatures",
    "hessian_product",
    "loss",
    "loss_derivative",
    "loss_parts",
    "minimum_moment",
    "newton_direction",
    "optimal_loss",
    "optimal_policy",
    "stability",
    "step_schedule",
    "step_size",
    "step_size_with_error",
    "uniform_loss",
]
