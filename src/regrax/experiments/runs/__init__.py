"""Trainings: plain settings, a folder in which they run and can be continued, and their results."""

from ._config import DEEP as DEEP, TrainConfig as TrainConfig
from ._measure import (
    Measured as Measured,
    Trained as Trained,
    load_trained as load_trained,
    measure as measure,
    save_trained as save_trained,
)
from ._train import train as train
