"""Certificates: checks of the paper's theorems and lemmas, and Monte Carlo estimators of the stationary step."""

from regrax.certify._descent import Descent, descent
from regrax.certify._expectations import Identity, check_expectations
from regrax.certify._gradients import Block, gradient_blocks
from regrax.certify._landscape import Curvature, Family, curvature, family
from regrax.certify._lemmas import LEMMAS, Finding, Lemma, check_lemmas
from regrax.certify._monte_carlo import ESTIMATORS, monte_carlo_steps
from regrax.certify._numerical_step import StepInterval, numerical_step
from regrax.certify._rigorous import Certificate, Enclosure, NotProved, rigorous_certificate
from regrax.certify._rigorous_three import three_action_step
from regrax.certify._sampled_curvature import (
    SampledCurvature,
    SampledEigenvalue,
    hessian_matrix,
    sampled_curvature,
)

__all__ = [
    "ESTIMATORS",
    "LEMMAS",
    "Block",
    "Certificate",
    "Curvature",
    "Descent",
    "Enclosure",
    "Family",
    "Finding",
    "Identity",
    "Lemma",
    "NotProved",
    "SampledCurvature",
    "SampledEigenvalue",
    "StepInterval",
    "check_expectations",
    "check_lemmas",
    "curvature",
    "descent",
    "family",
    "gradient_blocks",
    "hessian_matrix",
    "monte_carlo_steps",
    "numerical_step",
    "rigorous_certificate",
    "sampled_curvature",
    "three_action_step",
]
