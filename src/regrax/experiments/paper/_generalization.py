"""Beyond the paper: regret of everyone, trained and classical, on losses and horizons that nobody was trained on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import theory
from regrax.experiments.paper._models import ACTIONS, HORIZON, answers
from regrax.experiments.paper._rows import Row
from regrax.learners import (
    BlumMansour,
    FollowTheLeader,
    Hedge,
    Learner,
    RegretMatching,
    RegretMatchingPlus,
    Uniform,
    Vectors,
    init_seats,
    scan_rounds,
)
from regrax.regret import external_regret
from regrax.show.report import Section, Table
from regrax.theory import Optimal
from regrax.training import Alternating, BiasedGaussian, Drifting, Gaussian, StudentT

NAME, TITLE = "beyond", "Losses and horizons nobody was trained on"
MODELS = ("linear", "swap", "transformer-2", "transformer-4")
FAMILIES = {
    "Gaussian (trained on)": Gaussian(),
    "biased Gaussian": BiasedGaussian(),
    "alternating": Alternating(),
    "drifting": Drifting(),
    "heavy-tailed": StudentT(),
}


def settings(quick: bool) -> dict[str, Any]:
    """The horizons, and how many sequences of each family."""
    return {
        "horizons": [HORIZON] if quick else [5, HORIZON, 100],
        "sequences": 2000 if quick else 4000,
        "seed": 17,
    }


def everyone(models: dict[str, Any], horizon: int) -> dict[str, Learner]:
    """All learners by name; those with a step have the exact one for horizon 20, as the trained ones do."""
    step = theory.step_size(ACTIONS, HORIZON)
    first = {name: models[name][0] for name in MODELS}
    return {
        "uniform": Uniform(),
        "follow the leader": FollowTheLeader(),
        "Hedge at k*(3, 20)": Hedge(step),
        "Hedge at k*(3, T)": Hedge(theory.step_size(ACTIONS, horizon)),
        "regret matching": RegretMatching(),
        "regret matching +": RegretMatchingPlus(),
        "Blum-Mansour at 3 k*(3, 20)": BlumMansour(Hedge(ACTIONS * step)),
        "best possible for Gaussian": Optimal(horizon),
        "trained: 1 layer": first["linear"],
        "trained: swap heads": first["swap"].calibrated(),
        "trained: 2 layers": first["transformer-2"],
        "trained: 4 layers": first["transformer-4"],
    }


def run(settings: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Mean regret of every learner on every family at every horizon."""
    key = jax.random.key(settings["seed"])
    found: dict[str, Any] = {}
    for horizon in settings["horizons"]:
        learners = everyone(models, horizon)
        table = {name: {} for name in learners}
        for index, (family, distribution) in enumerate(FAMILIES.items()):
            losses = distribution.draw(
                horizon, ACTIONS, settings["sequences"], key=jax.random.fold_in(key, index)
            )
            for name, learner in learners.items():
                table[name][family] = regret(answers(learner, losses), losses)
        for name, learner in learners.items():
            table[name]["adversarial"] = adversarial_regret(learner, horizon)
        found[str(horizon)] = table
    return found


def regret(played: Float[Array, "T d n"], losses: Float[Array, "T d n"]) -> float:
    """Mean external regret."""
    return float((jnp.sum(played * losses, (0, 1)) - losses.sum(0).min(0)).mean())


def adversarial_regret(learner: Learner, rounds: int) -> float:
    """Regret when each round's most likely action loses 1 and the others nothing."""

    def adversary(shown: Vectors, _: None) -> Vectors:
        return (jax.nn.one_hot(jnp.argmax(shown[0]), ACTIONS),)

    seats = init_seats((learner,), (ACTIONS,), rounds, None)
    whole = jax.jit(lambda seats: scan_rounds((learner,), adversary, seats, rounds)[1])(seats)
    return float(external_regret(whole.policies[0], whole.losses[0]))


def rows(numbers: dict[str, Any]) -> list[Row]:
    """Nothing of this is in the paper."""
    return []


def section(numbers: dict[str, Any]) -> Section:
    """A table a horizon, the least regret of each column marked."""
    text = [
        "Mean regret after T rounds, lower is better, the best of each column marked with a star. Trained models are "
        "the first seed of each kind; transformers were trained at T = 20 and are not made for other horizons.",
    ]
    return Section(
        NAME, TITLE, text, tables=[_table(horizon, table) for horizon, table in numbers.items()]
    )


def _table(horizon: str, table: dict[str, dict[str, float]]) -> Table:
    families = list(next(iter(table.values())))
    least = {family: min(found[family] for found in table.values()) for family in families}

    def cell(value: float, family: str) -> str:
        return f"{value:.2f}" + (
            " *" if np.isclose(value, least[family], rtol=1e-3, atol=5e-3) else ""
        )

    rows = [(name, *(cell(found[f], f) for f in families)) for name, found in table.items()]
    return Table((f"T = {horizon}", *families), rows)
