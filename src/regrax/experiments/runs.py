"""Training runs: re-exports `regrax.experiments.train` and its settings."""

from .config import DEEP as DEEP, TrainConfig as TrainConfig
from .train import (
    Measured as Measured,
    Trained as Trained,
    load_trained as load_trained,
    measure as measure,
    save_trained as save_trained,
    train as train,
)
