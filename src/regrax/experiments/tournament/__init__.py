"""Tournaments: every learner against every learner over a set of games."""

from .results import (
    MEASURES as MEASURES,
    Failure as Failure,
    Interval as Interval,
    Tournament as Tournament,
    interval as interval,
)
from .round_robin import round_robin as round_robin
