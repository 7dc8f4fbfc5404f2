"""Tournaments: every learner against every learner over a set of games."""

from regrax.experiments.tournament._results import MEASURES, Failure, Interval, Tournament, interval
from regrax.experiments.tournament._round_robin import round_robin

__all__ = [
    "MEASURES",
    "Failure",
    "Interval",
    "Tournament",
    "interval",
    "round_robin",
]
