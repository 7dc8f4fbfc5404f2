"""Table (a): how close one layer, trained from random parameters with the regret loss, comes to entropy-FTRL."""

from typing import Any

import jax

from regrax import theory
from regrax.experiments.paper._models import ACTIONS, HORIZON
from regrax.experiments.paper._rows import Row, row
from regrax.show.report import Section, Table
from regrax.training import RegretObjective, evaluate, fit_step_size

NAME, TITLE = "matching", "One layer becomes smoothed fictitious play"
MODELS = ("linear", "linear-hindsight", "full")
MEASURES = {
    "step": "fitted step",
    "mse": "policy MSE",
    "l1": "mean L1 distance",
    "total_variation": "total variation",
    "per_action": "error per action",
}


def settings(quick: bool) -> dict[str, Any]:
    """How many held-out sequences the fit and the population loss use."""
    return {"held_out": 4096, "sequences": 20_000 if quick else 200_000, "seed": 7}


def run(settings: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Fit a step to every trained model, and evaluate its population loss."""
    key = jax.random.key(settings["seed"])
    objective = RegretObjective(ACTIONS, HORIZON)
    numbers: dict[str, Any] = {
        "exact_step": theory.step_size(ACTIONS, HORIZON),
        "best_loss": theory.optimal_loss(ACTIONS, HORIZON),
    }
    numbers["exact_loss"] = theory.loss(numbers["exact_step"], ACTIONS, HORIZON)
    for name in (m for m in MODELS if m in models):
        fits = [
            fit_step_size(m, HORIZON, key=key, sequences=settings["held_out"]) for m in models[name]
        ]
        losses = [
            evaluate(m, objective, key=key, sequences=settings["sequences"]).loss
            for m in models[name]
        ]
        numbers[name] = {m: [float(getattr(f, m)) for f in fits] for m in MEASURES} | {
            "loss": losses
        }
    return numbers


def rows(numbers: dict[str, Any]) -> list[Row]:
    """The five rows of the table, and the population loss it leaves out."""
    trained = numbers["linear"]
    why = "training here runs to convergence, the paper's stops short of the optimum"
    exact = {
        "step": numbers["exact_step"],
        "mse": 0.0,
        "l1": 0.0,
        "total_variation": 0.0,
        "per_action": 0.0,
    }
    lines = [
        row(
            label,
            f"matching.{name}",
            trained[name],
            exact=exact[name],
            why=why,
            digits=_digits(name),
        )
        for name, label in MEASURES.items()
    ]
    why = "one layer can do no better than the exact value; the best possible policy has " + (
        f"{numbers['best_loss']:.4f}"
    )
    lines.append(
        row("population loss", None, trained["loss"], exact=numbers["exact_loss"], why=why)
    )
    return lines


def _digits(measure: str) -> int:
    return {"mse": 8, "loss": 4}.get(measure, 5)


def section(numbers: dict[str, Any]) -> Section:
    """The table, for the plain loss, the hindsight loss and the full parametrisation."""
    text = [
        "The model starts from random parameters and sees nothing but the squared regret of its own play: no "
        "trajectories of an algorithm, no constraint on its matrices. Afterwards one number, the step of "
        "softmax(-k S), is fitted to its policies on 4,096 fresh sequences.",
        "The hindsight loss, beside it, sees only which action turned out best; its expected gradient is the "
        "same. The full form trains V, K, Q and all biases.",
    ]
    labels = {
        "linear": "regret loss",
        "linear-hindsight": "hindsight loss",
        "full": "regret loss, full form",
    }
    labels = {name: label for name, label in labels.items() if name in numbers}
    table = Table(
        ("measure", *labels.values()),
        [
            (
                text,
                *(
                    row("", None, numbers[m][name], why="", digits=_digits(name)).ours
                    for m in labels
                ),
            )
            for name, text in {**MEASURES, "loss": "population loss"}.items()
        ],
    )
    return Section(NAME, TITLE, text, tables=[table])
