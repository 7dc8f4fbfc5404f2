"""Certificates: checks of the paper's theorems and lemmas, and Monte Carlo estimators of the stationary step."""

from regrax.certify._expectations import Identity, check_expectations
from regrax.certify._gradients import Block, gradient_blocks
from regrax.certify._landscape import Curvature, Family, curvature, family
from regrax.certify._lemmas import LEMMAS, Finding, Lemma, check_lemmas
from regrax.certify._monte_carlo import ESTIMATORS, monte_carlo_steps
from regrax.certify._numerical_step import StepInterval, numerical_step

__all__ = [
    "ESTIMATORS",
    "LEMMAS",
    "Block",
    "Curvature",
    "Family",
    "Finding",
    "Identity",
    "Lemma",
    "StepInterval",
    "check_expectations",
    "check_lemmas",
    "curvature",
    "family",
    "gradient_blocks",
    "monte_carlo_steps",
    "numerical_step",
]
