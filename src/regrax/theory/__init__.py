"""Exact numbers for the theory, no models: the stationary step, the limit of any model, the best possible policy."""

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
    "Estimate",
    "LossParts",
    "Optimal",
    "StepSchedule",
    "loss",
    "loss_derivative",
    "loss_parts",
    "minimum_moment",
    "optimal_loss",
    "optimal_policy",
    "stability",
    "step_schedule",
    "step_size",
    "step_size_with_error",
    "uniform_loss",
]
