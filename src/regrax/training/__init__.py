"""Training: where loss sequences come from, what is minimised, and `fit`, which does it."""

from regrax.training.distributions import (
    Alternating,
    BiasedGaussian,
    Distribution,
    Drifting,
    FromKey,
    Gaussian,
    Laplace,
    Mixture,
    Rademacher,
    StudentT,
    UniformLosses,
)
from regrax.training.evaluation import Evaluation, StepFit, evaluate, fit_step_size, least_loss
from regrax.training.fitting import Fitted, Report, TrainingDiverged, TrainingState, fit
from regrax.training.hindsight import HindsightObjective
from regrax.training.objectives import (
    ClosedLoopSwapObjective,
    Objective,
    RegretObjective,
    SwapRegretObjective,
)
from regrax.training.recipes import Recipe, recipe
from regrax.training.surrogates import SURROGATES
from regrax.training.surroundings import BanditFeedback, DelayedFeedback, Feedback, InGame

__all__ = [
    "SURROGATES",
    "Alternating",
    "BanditFeedback",
    "BiasedGaussian",
    "ClosedLoopSwapObjective",
    "DelayedFeedback",
    "Distribution",
    "Drifting",
    "Evaluation",
    "Feedback",
    "Fitted",
    "FromKey",
    "Gaussian",
    "HindsightObjective",
    "InGame",
    "Laplace",
    "Mixture",
    "Objective",
    "Rademacher",
    "Recipe",
    "RegretObjective",
    "Report",
    "StepFit",
    "StudentT",
    "SwapRegretObjective",
    "TrainingDiverged",
    "TrainingState",
    "UniformLosses",
    "evaluate",
    "fit",
    "fit_step_size",
    "least_loss",
    "recipe",
]
