"""The paper, experiment by experiment: settings to numbers to figures, beside the reported and the exact values."""

from regrax.experiments.paper._reproduce import EXPERIMENTS, reproduce
from regrax.experiments.paper._rows import Row

__all__ = ["EXPERIMENTS", "Row", "reproduce"]
