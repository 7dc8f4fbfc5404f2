"""Certificates: checks of the paper's theorems and lemmas, Monte Carlo estimates of the stationary step, and proofs."""

from .curvature import (
    Descent as Descent,
    descent as descent,
    hessian_matrix as hessian_matrix,
    sampled_curvature as sampled_curvature,
)
from .identities import check_expectations as check_expectations
from .lemmas import (
    LEMMAS as LEMMAS,
    Finding as Finding,
    Lemma as Lemma,
    check_lemmas as check_lemmas,
)
from .monte_carlo import (
    ESTIMATORS as ESTIMATORS,
    StepInterval as StepInterval,
    monte_carlo_steps as monte_carlo_steps,
    numerical_step as numerical_step,
)
from .samples import Comparison as Comparison
from .stationarity import (
    Family as Family,
    family as family,
    gradient_blocks as gradient_blocks,
)
from .three_actions import three_action_step as three_action_step
from .two_actions import (
    Certificate as Certificate,
    Enclosure as Enclosure,
    NotProved as NotProved,
    rigorous_certificate as rigorous_certificate,
)
from .worst_cases import (
    rigorous_minimax as rigorous_minimax,
    rigorous_worst_case as rigorous_worst_case,
)
