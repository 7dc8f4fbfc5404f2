"""Certificates: checks of the paper's theorems and lemmas, and Monte Carlo estimators of the stationary step."""

from ._descent import (
    Descent as Descent,
    descent as descent,
)
from ._expectations import (
    Identity as Identity,
    check_expectations as check_expectations,
)
from ._gradients import (
    Block as Block,
    gradient_blocks as gradient_blocks,
)
from ._landscape import (
    Family as Family,
    family as family,
)
from ._lemmas import (
    LEMMAS as LEMMAS,
    Finding as Finding,
    Lemma as Lemma,
    check_lemmas as check_lemmas,
)
from ._monte_carlo import (
    ESTIMATORS as ESTIMATORS,
    monte_carlo_steps as monte_carlo_steps,
)
from ._numerical_step import (
    StepInterval as StepInterval,
    numerical_step as numerical_step,
)
from ._rigorous import (
    Certificate as Certificate,
    Enclosure as Enclosure,
    NotProved as NotProved,
    rigorous_certificate as rigorous_certificate,
)
from ._rigorous_three import (
    three_action_step as three_action_step,
)
from ._rigorous_worst_case import (
    rigorous_minimax as rigorous_minimax,
    rigorous_worst_case as rigorous_worst_case,
)
from ._sampled_curvature import (
    SampledCurvature as SampledCurvature,
    SampledEigenvalue as SampledEigenvalue,
    hessian_matrix as hessian_matrix,
    sampled_curvature as sampled_curvature,
)
