"""Figure (b): deep transformers on losses with a hidden best action, and which policy depth approaches."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import theory
from regrax.experiments.runs import TrainConfig, Trained
from regrax.learners import Hedge, Learner, Uniform
from regrax.paper._config import ReproduceConfig
from regrax.paper._policies import answers
from regrax.theory import Optimal
from regrax.training import Batch, BiasedGaussian, Gaussian

MODELS = (
    "linear", "transformer-2", "transformer-4", "transformer-2-hindsight", "transformer-4-hindsight"
)  # fmt: skip


@dataclass(frozen=True)
class DepthConfig:
    """How many biased test sequences, and how many standard ones for losses and distances."""

    actions: int
    horizon: int
    test: int
    sequences: int
    models: dict[str, TrainConfig]
    seed: int = 11


@dataclass(frozen=True)
class Policies:
    """Of one kind of policy, a value per seed."""

    regret: list[list[float]]  # so far, after each round, on biased losses
    loss: list[float]
    to_hedge: list[float]  # total variation to Hedge at the exact step
    to_optimal: list[float]


@dataclass(frozen=True)
class Depth:
    """What depth adds: the least possible loss, and every kind of policy by its name."""

    optimal_loss: float
    policies: dict[str, Policies]


def parts(config: ReproduceConfig, models: dict[str, TrainConfig]) -> list[DepthConfig]:
    """The one part of the experiment."""
    test, sequences = (2_000, 2_000) if config.quick else (50_000, 100_000)
    return [DepthConfig(config.actions, config.horizon, test, sequences, models)]


def run(config: DepthConfig, models: dict[str, list[Trained]]) -> Depth:
    """Regret over time on biased losses, population loss, and distances to the two candidate policies."""
    sizes, key = (config.horizon, config.actions), jax.random.key(config.seed)
    biased = BiasedGaussian().draw(*sizes, config.test, key=key)
    plain = Gaussian().draw(*sizes, config.sequences, key=jax.random.fold_in(key, 1))
    hedge = Hedge(theory.step_size(config.actions, config.horizon))
    everyone: dict[str, Sequence[Learner]] = {
        "uniform": [Uniform()],
        "hedge": [hedge],
        "optimal": [Optimal(config.horizon)],
        **{name: [one.model for one in models[name]] for name in config.models},
    }
    least = theory.optimal_loss(config.actions, config.horizon)
    targets = answers(hedge, plain), answers(everyone["optimal"][0], plain)
    found = {n: _measured(who, biased, plain, *targets, least) for n, who in everyone.items()}
    return Depth(least, found)


def _measured(
    who: Sequence[Learner],
    biased: Float[Array, "T d m"],
    plain: Batch,
    hedge: Batch,
    optimal: Batch,
    least: float,
) -> Policies:
    played = [answers(learner, plain) for learner in who]
    return Policies(
        [np.asarray(running_regret(answers(one, biased), biased), float).tolist() for one in who],
        [least + float(excess(p, optimal)) for p in played],
        [float(distance(p, hedge)) for p in played],
        [float(distance(p, optimal)) for p in played],
    )


@jax.jit
def running_regret(played: Batch, losses: Batch) -> Float[Array, "T"]:
    """The mean regret of rounds 1 to t, for every t."""
    suffered = jnp.cumsum(jnp.sum(played * losses, 1), 0)
    return (suffered - jnp.cumsum(losses, 0).min(1)).mean(1)


@jax.jit
def excess(played: Batch, optimal: Batch) -> Float[Array, ""]:
    """The population loss beyond the least: the mean squared distance from the best possible policy."""
    return ((played - optimal) ** 2).sum((0, 1)).mean()


@jax.jit
def distance(played: Batch, other: Batch) -> Float[Array, ""]:
    """Mean total variation between two policies."""
    return jnp.abs(played - other).sum(1).mean() / 2
