"""The models the paper trains: which, on what objective, for how long, and where they are kept."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from regrax.attention import Model
from regrax.experiments.paper._store import Store
from regrax.experiments.runs import Kind, Progress, Training, train
from regrax.learners import Learner
from regrax.training import Batch, policies

ACTIONS, HORIZON, SEEDS = 3, 20, 3
AT_A_TIME = 250


def _training(model: Kind, **more: Any) -> Training:
    return Training(model, ACTIONS, HORIZON, seeds=SEEDS, **more)


FULL: Mapping[str, Training] = {
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

QUICK: Mapping[str, Training] = {
    "linear": _training("linear", steps=250),
    "linear-hindsight": _training("linear", objective="hindsight", steps=100),
    "ball": _training("linear", operator="ball", steps=150),
    "swap": _training("swap", steps=100),
    "swap-closed": _training("swap", objective="swap-closed", steps=100, batch=256),
    "transformer-2": _training("transformer", layers=2, steps=500, batch=64),
    "transformer-4": _training("transformer", layers=4, steps=400, batch=64),
}


def models_of(
    name: str, training: Training, store: Store, heard: Callable[[Progress], None]
) -> list[Model]:
    """The trained models, one a seed: read from the store, or trained and kept."""
    return train(training, store.path(f"model-{name}", asdict(training), ""), heard=heard)


@jax.jit
def answers(learner: Learner, losses: Batch) -> Batch:
    """Every round's policy on every sequence, a few sequences at a time so that they stay in the processor's cache."""
    rounds, actions, count = losses.shape
    few = math.gcd(count, AT_A_TIME)
    parts = jnp.moveaxis(losses.reshape(rounds, actions, -1, few), 2, 0)
    played = lax.map(lambda part: policies(learner, part), parts)
    return jnp.moveaxis(played, 0, 2).reshape(losses.shape)
