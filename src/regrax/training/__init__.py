"""Training: where loss sequences come from, what is minimised, and `fit`, which does it."""

import warnings
from typing import Any

from regrax.training._derived_distributions import InGame, Mixture, RandomHorizon, Rescaled
from regrax.training._distributions import (
    Alternating,
    Batch,
    BiasedGaussian,
    Distribution,
    Drifting,
    FromKey,
    Gaussian,
    Laplace,
    Rademacher,
    StudentT,
    UniformLosses,
)
from regrax.training._evaluation import Evaluation, StepFit, evaluate, fit_step_size, least_loss
from regrax.training._feedback import BanditFeedback, DelayedFeedback, Feedback
from regrax.training._fit import (
    Fitted,
    Recipe,
    Report,
    TrainingDiverged,
    TrainingState,
    adam,
    fit,
    recipe,
    start,
)
from regrax.training._hindsight import HindsightObjective
from regrax.training._objectives import SURROGATES, Objective, RegretObjective, policies
from regrax.training._swap_objectives import ClosedLoopSwapObjective, SwapRegretObjective

__all__ = [
    "SURROGATES",
    "Alternating",
    "BanditFeedback",
    "Batch",
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
    "RandomHorizon",
    "Recipe",
    "RegretObjective",
    "Report",
    "Rescaled",
    "StepFit",
    "StudentT",
    "SwapRegretObjective",
    "TrainingDiverged",
    "TrainingState",
    "UniformLosses",
    "adam",
    "evaluate",
    "fit",
    "fit_step_size",
    "least_loss",
    "policies",
    "recipe",
    "start",
]


def __getattr__(name: str) -> Any:
    if name == "Adam":
        warnings.warn("training.Adam is now training.adam", DeprecationWarning, stacklevel=2)
        return adam
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
