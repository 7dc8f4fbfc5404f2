"""Beyond the paper: regret of everyone, trained and classical, on losses and horizons that nobody was trained on."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import theory
from regrax.experiments.runs import TrainConfig, Trained
from regrax.learners import (
    BlumMansour,
    FollowTheLeader,
    Hedge,
    Learner,
    RegretMatching,
    RegretMatchingPlus,
    Uniform,
    Vectors,
    init_players,
    scan_rounds,
)
from regrax.paper._config import ReproduceConfig
from regrax.paper._policies import answers
from regrax.regret import external_regret
from regrax.theory import Optimal
from regrax.training import Alternating, Batch, BiasedGaussian, Drifting, Gaussian, StudentT

MODELS = ("linear", "swap", "transformer-2", "transformer-4")
FAMILIES = {
    "Gaussian (trained on)": Gaussian(),
    "biased Gaussian": BiasedGaussian(),
    "alternating": Alternating(),
    "drifting": Drifting(),
    "heavy-tailed": StudentT(),
}
"""Not part of the settings that results are kept by: after a change here, use a new folder, or old results are read."""


@dataclass(frozen=True)
class GeneralizationConfig:
    """One horizon to measure at: how many rounds, how many sequences of each family, and which trained models."""

    actions: int
    horizon: int  # that the models were trained for
    rounds: int  # that are played
    sequences: int  # of each family
    models: dict[str, TrainConfig]
    seed: int = 17


@dataclass(frozen=True)
class Generalization:
    """Mean regret after so many rounds, by learner and by family of losses."""

    rounds: int
    regret: dict[str, dict[str, float]]


def parts(config: ReproduceConfig, models: dict[str, TrainConfig]) -> list[GeneralizationConfig]:
    """A part per number of rounds: the trained horizon, and unless `quick` also a shorter and a longer one."""
    own, count = config.horizon, 2000 if config.quick else 4000
    rounds = [own] if config.quick else [max(2, own // 4), own, 5 * own]
    return [GeneralizationConfig(config.actions, own, T, count, models) for T in rounds]


def run(config: GeneralizationConfig, models: dict[str, list[Trained]]) -> Generalization:
    """Mean regret of every learner on every family of losses, and against an adversary."""
    key, sizes = jax.random.key(config.seed), (config.rounds, config.actions)
    learners = _everyone(config, {name: models[name][0].model for name in MODELS})
    found: dict[str, dict[str, float]] = {name: {} for name in learners}
    for family, losses in _drawn(key, *sizes, config.sequences).items():
        for name, learner in learners.items():
            found[name][family] = float(regret(answers(learner, losses), losses))
    for name, worst in adversarial_regrets(learners, *sizes).items():
        found[name]["adversarial"] = float(worst)
    return Generalization(config.rounds, found)


@eqx.filter_jit
def _drawn(key: PRNGKeyArray, rounds: int, actions: int, count: int) -> dict[str, Batch]:
    """Losses of every family."""
    return {
        family: distribution.draw(rounds, actions, count, key=jax.random.fold_in(key, index))
        for index, (family, distribution) in enumerate(FAMILIES.items())
    }


def _everyone(config: GeneralizationConfig, trained: dict[str, Any]) -> dict[str, Learner]:
    """All learners by name; those with a step have the exact one for the trained horizon, as the trained ones do."""
    d, at = config.actions, f"k*({config.actions}, {config.horizon})"
    step = theory.step_size(d, config.horizon)
    return {
        "uniform": Uniform(),
        "follow the leader": FollowTheLeader(),
        f"Hedge at {at}": Hedge(step),
        f"Hedge at k*({d}, T)": Hedge(theory.step_size(d, config.rounds)),
        "regret matching": RegretMatching(),
        "regret matching +": RegretMatchingPlus(),
        f"Blum-Mansour at {d} {at}": BlumMansour(Hedge(d * step)),
        "best possible for Gaussian": Optimal(config.rounds),
        "trained: 1 layer": trained["linear"],
        "trained: swap heads": trained["swap"].calibrated(),
        "trained: 2 layers": trained["transformer-2"],
        "trained: 4 layers": trained["transformer-4"],
    }


@jax.jit
def regret(played: Batch, losses: Batch) -> Float[Array, ""]:
    """Mean external regret over sequences."""
    return (jnp.sum(played * losses, (0, 1)) - losses.sum(0).min(0)).mean()


@eqx.filter_jit
def adversarial_regrets(learners: dict[str, Learner], rounds: int, actions: int) -> dict[str, Any]:
    """Regret when each round's most likely action loses 1 and the others nothing."""

    def adversary(shown: Vectors, _: None) -> Vectors:
        return (jax.nn.one_hot(jnp.argmax(shown[0]), actions),)

    def worst(learner: Learner) -> Any:
        states, _ = init_players((learner,), (actions,), rounds, None)
        whole = scan_rounds((learner,), adversary, states, rounds)[1]
        return external_regret(whole.policies[0], whole.losses[0])

    return {name: worst(learner) for name, learner in learners.items()}
