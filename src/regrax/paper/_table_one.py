"""Table 1: for each system its step by theory, and how far the layer is from its algorithm."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.domains import Ball
from regrax.experiments.runs import TrainConfig, Trained
from regrax.learners import BlumMansour, EuclideanFTRL, Hedge, Learner, rollout
from regrax.paper._config import ReproduceConfig

MODELS = ("ball", "linear", "swap")


@dataclass(frozen=True)
class SystemsConfig:
    """On how many sequences the forward passes are compared."""

    actions: int
    horizon: int
    compared: int


@dataclass(frozen=True)
class Systems:
    """By system: the step of theory, and the largest difference between layer and algorithm."""

    steps: dict[str, float]
    differences: dict[str, float]


def parts(config: ReproduceConfig, models: dict[str, TrainConfig]) -> list[SystemsConfig]:
    """The one part of the experiment."""
    return [SystemsConfig(config.actions, config.horizon, 20 if config.quick else 200)]


def run(config: SystemsConfig, models: dict[str, list[Trained]]) -> Systems:
    """The largest entry of |layer - algorithm| at the stationary parameters, in float64."""
    d, T = config.actions, config.horizon
    soft, ball = theory.step_size(d, T), theory.step_size(d, T, operator="ball")
    losses = np.random.default_rng(0).normal(size=(config.compared, T, d))
    with jax.enable_x64(True):
        found = _differences(ball, soft, losses)
    differences = {name: float(gap) for name, gap in found.items()}
    return Systems({"ball": ball, "linear": soft, "swap": soft}, differences)


@eqx.filter_jit
def _differences(ball: float, soft: float, losses: Float[Any, "n T d"]) -> dict[str, Any]:
    d = losses.shape[2]
    pairs: dict[str, tuple[Learner, Learner]] = {
        "ball": (LinearAttention.hedge(d, ball, operator="ball"), EuclideanFTRL(ball, Ball())),
        "linear": (LinearAttention.hedge(d, soft), Hedge(soft)),
        "swap": (SwapAttention.hedge(d, soft), BlumMansour(Hedge(soft), tolerance=1e-13)),
    }
    return {name: _difference(*pair, losses) for name, pair in pairs.items()}


def _difference(layer: Learner, algorithm: Learner, losses: Float[Array, "n T d"]) -> Array:
    gaps = jax.vmap(lambda l: jnp.abs(rollout(layer, l) - rollout(algorithm, l)).max())(losses)
    return gaps.max()
