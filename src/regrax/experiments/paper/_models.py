"""The models the paper trains: which, on what objective, for how long, and where they are kept."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from regrax.attention import Model
from regrax.experiments._progress import OnProgress
from regrax.experiments._store import Store
from regrax.experiments.runs import TrainConfig, train
from regrax.learners import Learner
from regrax.training import Batch, policies

ACTIONS, HORIZON, SEEDS = 3, 20, 3
AT_A_TIME = 250


def _training(model: Any, **more: Any) -> TrainConfig:
    return TrainConfig(model, ACTIONS, HORIZON, seeds=SEEDS, sequences=2000, **more)


FULL: Mapping[str, TrainConfig] = {
    "linear": _training("linear"),
    "linear-hindsight": _training("linear", objective="hindsight"),
    "full": _training("full"),
    "ball": _training("linear", operator="ball"),
    "swap": _training("swap"),
    "swap-closed": _training("swap", objective="swap-closed", steps=400, batch=512),
    "transformer-2": _training("transformer", layers=2, steps=2000),
    "transformer-4": _training("transformer", layers=4, steps=1500),
    "transformer-2-hindsight": _training(
        "transformer", objective="hindsight", layers=2, steps=2000
    ),
    "transformer-4-hindsight": _training(
        "transformer", objective="hindsight", layers=4, steps=1500
    ),
}

QUICK: Mapping[str, TrainConfig] = {
    "linear": _training("linear", steps=250),
    "linear-hindsight": _training("linear", objective="hindsight", steps=100),
    "ball": _training("linear", operator="ball", steps=150),
    "swap": _training("swap", steps=100),
    "swap-closed": _training("swap", objective="swap-closed", steps=100, batch=256),
    "transformer-2": _training("transformer", layers=2, steps=500, batch=64),
    "transformer-4": _training("transformer", layers=4, steps=400, batch=64),
}


def models_of(name: str, config: TrainConfig, store: Store, on_progress: OnProgress) -> list[Model]:
    """The trained models, one a seed: read from the store, or trained and kept."""
    folder = store.path(f"model-{name}", config)
    return [one.model for one in train(config, folder, on_progress=on_progress)]


@jax.jit
def answers(learner: Learner, losses: Batch) -> Batch:
    """Every round's policy on every sequence, a few sequences at a time so that they stay in the processor's cache."""
    rounds, actions, count = losses.shape
    few = math.gcd(count, AT_A_TIME)
    parts = jnp.moveaxis(losses.reshape(rounds, actions, -1, few), 2, 0)
    played = lax.map(lambda part: policies(learner, part), parts)
    return jnp.moveaxis(played, 0, 2).reshape(losses.shape)
