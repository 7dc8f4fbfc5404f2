"""What a trained model is worth, and the file that keeps both."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import jax
import msgspec

from regrax import _checks as checks
from regrax.attention import TrainableLearner
from regrax.checkpoints import file_of, parse_about, read_whole, save_model, unpack_model
from regrax.experiments.runs._config import TrainConfig
from regrax.sharding import Devices
from regrax.training import evaluate, fit_step_size

MEASURING_SEED = 2**31  # the key of the sequences that models are measured on, the same for all
# sequences that the loss and the nearest step are measured on, at most; a shorter training takes as many as it drew
LOSS_SEQUENCES, STEP_SEQUENCES = 10_000, 4096


@dataclass(frozen=True)
class Measured:
    """The population loss beside the least possible, and the step of the algorithm nearest to the model.

    Attributes:
        loss: population loss.
        loss_error: standard error of its estimate.
        optimal_loss: the least possible, where it is known.
        step_size: of the algorithm nearest to the model.
        mse: between the model's policies and that algorithm's.
        total_variation: the same in total variation.
    """

    loss: float
    loss_error: float
    optimal_loss: float | None
    step_size: float
    mse: float
    total_variation: float


class Trained(NamedTuple):
    """A trained model and what it is worth.

    Attributes:
        model: after training.
        measured: what it is worth.
        seconds: of training.
        operations: that its training took, where they were counted.
    """

    model: TrainableLearner
    measured: Measured
    seconds: float
    operations: int | None = None


class _Numbers(msgspec.Struct):
    measured: Measured
    seconds: float
    operations: int | None


def measure(
    model: TrainableLearner, config: TrainConfig, *, devices: Devices | None = None
) -> Measured:
    """Measure a model on fresh sequences of the losses it was trained on.

    >>> from regrax.attention import LinearAttention
    >>> config = TrainConfig("linear", actions=2, horizon=5, sequences=200)
    >>> measure(LinearAttention.hedge(2, 0.3), config).step_size
    0.3000
    """
    checks.instance("model", model, TrainableLearner, "a trained model")
    checks.instance("config", config, TrainConfig, "a TrainConfig")
    key, objective = jax.random.key(MEASURING_SEED), config.build_objective()
    usual = objective.recipe(model)
    batch = config.batch or usual.batch
    drawn = max(2, (config.steps or usual.steps) * batch)
    count = config.sequences or min(LOSS_SEQUENCES, drawn)
    found = evaluate(model, objective, key=key, sequences=count, devices=devices)
    near = fit_step_size(model, config.horizon, key=key, sequences=min(STEP_SEQUENCES, count))
    return Measured(*found, near.step, near.mse, near.total_variation)


def save_trained(path: Path, config: TrainConfig, trained: Trained) -> None:
    """Write a model with its settings, of one seed, and its numbers, as one checkpoint."""
    model, measured, seconds, operations = trained
    numbers = msgspec.to_builtins(_Numbers(measured, seconds, operations))
    save_model(path, model, config=asdict(config), **numbers)


def load_trained(path: Path, config: TrainConfig, data: bytes | None = None) -> Trained:
    """What was saved for these settings; raises ValueError if the file is of others, or of something else.

    `data` is what the file held, where it has been read already.
    """
    file = file_of(path)
    model, about = unpack_model(read_whole(file) if data is None else data, file)
    kept = about.get("config")
    if not isinstance(kept, dict):
        raise ValueError(
            f"{file} must hold a model that was trained here, got one without settings"
        )
    for name, value in asdict(config).items():
        if name not in kept or kept[name] != value:
            raise ValueError(
                f"{file} holds a model with {name} = {kept.get(name)!r}, but {value!r} was asked for"
            )
    numbers = parse_about(file, about, _Numbers)
    return Trained(model, numbers.measured, numbers.seconds, numbers.operations)
