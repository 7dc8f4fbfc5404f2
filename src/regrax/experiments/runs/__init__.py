"""Trainings: plain settings, and a folder in which they run and can be continued."""

from regrax.experiments.runs._folder import Progress, train
from regrax.experiments.runs._settings import Aim, Kind, Training

__all__ = ["Aim", "Kind", "Progress", "Training", "train"]
