"""Training: where loss sequences come from, what is minimised, and `fit`, which does it."""

import warnings
from typing import Any

from regrax.specs import register
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

for kind, spec, make in [
    ("distribution", "gaussian", Gaussian),
    ("distribution", "biased_gaussian(0.35)", BiasedGaussian),
    ("distribution", "uniform", UniformLosses),
    ("distribution", "rademacher", Rademacher),
    ("distribution", "laplace", Laplace),
    ("distribution", "student_t(5.0)", StudentT),
    ("distribution", "alternating(0.1)", Alternating),
    ("distribution", "drifting(0.2)", Drifting),
    ("distribution", "mixture(gaussian, laplace)", lambda *parts: Mixture(parts)),
    ("distribution", "in_game", lambda game, *learners, seat=0: InGame(game, learners, seat)),
    ("feedback", "delayed(2)", DelayedFeedback),
    ("feedback", "bandit()", BanditFeedback),
]:
    register(kind, spec)(make)

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
