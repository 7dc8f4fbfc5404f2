"""Training: distributions of loss sequences, objectives, and `fit`, which minimises an objective."""

import warnings
from typing import Any

from regrax.attention import Recipe as Recipe

from .distributions import (
    Alternating as Alternating,
    BanditFeedback as BanditFeedback,
    Batch as Batch,
    BiasedGaussian as BiasedGaussian,
    DelayedFeedback as DelayedFeedback,
    Distribution as Distribution,
    Drifting as Drifting,
    FromKey as FromKey,
    Gaussian as Gaussian,
    InGame as InGame,
    Laplace as Laplace,
    Mixture as Mixture,
    PartialFeedback as PartialFeedback,
    Rademacher as Rademacher,
    RandomHorizon as RandomHorizon,
    Rescaled as Rescaled,
    StudentT as StudentT,
    UniformLosses as UniformLosses,
)
from .evaluation import (
    Evaluation as Evaluation,
    StepFit as StepFit,
    evaluate as evaluate,
    fit_step_size as fit_step_size,
)
from .fitting import (
    Fitted as Fitted,
    Report as Report,
    TrainingDiverged as TrainingDiverged,
    TrainingState as TrainingState,
    adam as adam,
    fit as fit,
    start as start,
)
from .objectives import (
    SURROGATES as SURROGATES,
    ClosedLoopSwapObjective as ClosedLoopSwapObjective,
    HindsightObjective as HindsightObjective,
    Objective as Objective,
    RegretObjective as RegretObjective,
    SwapRegretObjective as SwapRegretObjective,
    policies as policies,
)

_RENAMED = {
    "Adam": ("adam", adam),
    "Feedback": ("PartialFeedback", PartialFeedback),
    "least_loss": (
        "objective.optimal_loss(model)",
        lambda model, objective: objective.optimal_loss(model),
    ),
    "recipe": ("objective.recipe(model)", lambda model: getattr(model, "recipe", Recipe())),
}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new, value = _RENAMED[name]
    warnings.warn(f"training.{name} is now {new}", DeprecationWarning, stacklevel=2)
    return value
