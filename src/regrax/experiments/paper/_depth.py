"""Figure (b): deep transformers on losses with a hidden best action, and which policy depth approaches."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import theory
from regrax.experiments.paper._models import ACTIONS, HORIZON, answers
from regrax.experiments.paper._rows import Row, row
from regrax.learners import Hedge, Learner, Uniform
from regrax.show.report import Chart, Section, Series, Table
from regrax.theory import Optimal
from regrax.training import BiasedGaussian, Gaussian

NAME, TITLE = "depth", "What depth adds"
MODELS = (
    "linear",
    "transformer-2",
    "transformer-4",
    "transformer-2-hindsight",
    "transformer-4-hindsight",
)
LABELS = {
    "uniform": "uniform play",
    "hedge": "Hedge at k*",
    "optimal": "best possible policy",
    "linear": "1 layer",
    "transformer-2": "2 layers",
    "transformer-4": "4 layers",
    "transformer-2-hindsight": "2 layers, hindsight loss",
    "transformer-4-hindsight": "4 layers, hindsight loss",
}


def settings(quick: bool) -> dict[str, Any]:
    """How many biased test sequences, and how many standard ones for losses and distances."""
    return {
        "test": 2_000 if quick else 50_000,
        "sequences": 2_000 if quick else 100_000,
        "seed": 11,
    }


def run(settings: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Regret over time on biased losses, population loss, and distances to the two candidate policies."""
    key = jax.random.key(settings["seed"])
    biased = BiasedGaussian().draw(HORIZON, ACTIONS, settings["test"], key=key)
    plain = Gaussian().draw(HORIZON, ACTIONS, settings["sequences"], key=jax.random.fold_in(key, 1))
    step = theory.step_size(ACTIONS, HORIZON)
    fixed = {"uniform": [Uniform()], "hedge": [Hedge(step)], "optimal": [Optimal(HORIZON)]}
    everyone = {**fixed, **{name: models[name] for name in MODELS if name in models}}
    targets = {name: answers(fixed[name][0], plain) for name in ("hedge", "optimal")}
    return {
        "best_loss": theory.optimal_loss(ACTIONS, HORIZON),
        **{
            name: _measured(learners, biased, plain, targets) for name, learners in everyone.items()
        },
    }


def _measured(
    learners: Sequence[Learner],
    biased: Float[Array, "T d m"],
    plain: Float[Array, "T d n"],
    targets: dict[str, Float[Array, "T d n"]],
) -> dict[str, Any]:
    played = [answers(learner, plain) for learner in learners]
    return {
        "regret": [running_regret(answers(learner, biased), biased) for learner in learners],
        "loss": [population_loss(policies, targets["optimal"]) for policies in played],
        "distance": {
            name: [distance(policies, target) for policies in played]
            for name, target in targets.items()
        },
    }


def population_loss(played: Float[Array, "T d n"], optimal: Float[Array, "T d n"]) -> float:
    r"""$L^* + \sum_t E\|\pi_t - \pi^*_t\|^2$, exact but for the mean over sequences."""
    excess = float(((played - optimal) ** 2).sum((0, 1)).mean())
    return theory.optimal_loss(ACTIONS, HORIZON) + excess


def running_regret(played: Float[Array, "T d n"], losses: Float[Array, "T d n"]) -> list[float]:
    """The mean regret of rounds 1 to t, for every t."""
    suffered = jnp.cumsum(jnp.sum(played * losses, 1), 0)
    return np.asarray((suffered - jnp.cumsum(losses, 0).min(1)).mean(1), float).tolist()


def distance(played: Float[Array, "T d n"], other: Float[Array, "T d n"]) -> float:
    """Mean total variation between two policies."""
    return float(jnp.abs(played - other).sum(1).mean() / 2)


def rows(numbers: dict[str, Any]) -> list[Row]:
    """Regret at the horizon beside the paper's, and population losses."""
    limit = numbers["optimal"]["regret"][0][-1]
    why = "the models here are trained until they are near the best possible policy"
    lines = [
        row(
            f"R_20 on biased losses, {LABELS[m]}",
            f"depth.regret.{m[-1]}",
            _last(numbers, m),
            exact=limit,
            why=why,
        )
        for m in ("transformer-2", "transformer-4")
    ]
    lines.append(
        row("R_20, uniform play", "depth.regret.uniform", _last(numbers, "uniform"), why="")
    )
    for m in (name for name in MODELS[1:] if name in numbers):
        text = "exact: the loss of the best possible policy, which no model can beat"
        lines.append(
            row(
                f"population loss, {LABELS[m]}",
                None,
                numbers[m]["loss"],
                exact=numbers["best_loss"],
                why=text,
            )
        )
    return lines


def _last(numbers: dict[str, Any], name: str) -> list[float]:
    return [curve[-1] for curve in numbers[name]["regret"]]


def section(numbers: dict[str, Any]) -> Section:
    """Normalised regret over rounds, and the table of distances."""
    near = "best possible policy" if _deep_is_optimal(numbers) else "entropy-FTRL"
    text = [
        "Two- and four-layer transformers, trained on mean-zero Gaussian losses only, meet sequences in which every "
        "action has a mean of its own. Regret over t falls as they find the best one. Hedge at the stationary step "
        "and the best possible policy for the training distribution are drawn for scale.",
        f"Which algorithm does depth approach? Measured by total variation on fresh Gaussian sequences, the deep "
        f"models end nearer to the {near}: one layer is confined to smoothed fictitious play, depth is not.",
        "On the biased losses themselves the policy that is best for Gaussian noise is no longer best, and Hedge at "
        "its fixed step does slightly better: the transformers learned the optimum of what they were trained on.",
    ]
    table = Table(
        ("policy", "population loss", "TV to Hedge at k*", "TV to the best possible"),
        [
            (
                label,
                *(
                    row("", None, v, why="").ours
                    for v in (numbers[m]["loss"], *numbers[m]["distance"].values())
                ),
            )
            for m, label in LABELS.items()
            if m in numbers
        ],
    )
    return Section(NAME, TITLE, text, [_curves(numbers)], [table])


def _deep_is_optimal(numbers: dict[str, Any]) -> bool:
    far = numbers["transformer-4"]["distance"]
    return float(np.mean(far["optimal"])) < float(np.mean(far["hedge"]))


def _curves(numbers: dict[str, Any]) -> Chart:
    shown = ("uniform", "hedge", "optimal", "transformer-2", "transformer-4")
    rounds = np.arange(1, HORIZON + 1)
    series = []
    for color, name in enumerate(shown):
        curves = np.array(numbers[name]["regret"]) / rounds
        style = "dashed" if len(curves) == 1 else "line"
        band = None if len(curves) == 1 else curves.std(0, ddof=1) / len(curves) ** 0.5
        series.append(Series(LABELS[name], rounds.tolist(), curves.mean(0), band, style, color))
    caption = "Mean over test sequences; bands are one standard error over three seeds."
    return Chart(
        "depth", "Regret per round on biased losses", "round t", "R_t / t", series, caption=caption
    )
