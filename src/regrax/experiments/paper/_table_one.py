"""Table 1: for each system its step by training and by theory, and whether the layer is its algorithm."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from regrax import theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.domains import Ball
from regrax.experiments.paper._models import ACTIONS, HORIZON
from regrax.experiments.paper._rows import Row, row
from regrax.learners import BlumMansour, EuclideanFTRL, Hedge, Learner, rollout
from regrax.show.report import Section, Table, architecture
from regrax.training import fit_step_size

NAME, TITLE = "table-one", "Three systems, three algorithms"
SYSTEMS = {
    "ball": ("identity, L2 ball", "Euclidean FTRL"),
    "linear": ("softmax", "Hedge (entropy FTRL)"),
    "swap": ("softmax columns, fixed point", "Blum-Mansour over Hedge"),
}
MODELS = tuple(SYSTEMS)
ROUNDING = 1e-9


def settings(quick: bool) -> dict[str, Any]:
    """How many sequences the step is fitted on and the forward passes compared on."""
    return {"held_out": 4096, "compared": 20 if quick else 200, "seed": 13}


def run(settings: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Measured and theoretical steps, and the largest difference between layer and algorithm."""
    key = jax.random.key(settings["seed"])
    steps = {
        "ball": theory.step_size(ACTIONS, HORIZON, operator="ball"),
        "linear": theory.step_size(ACTIONS, HORIZON),
        "swap": theory.step_size(ACTIONS, HORIZON),
    }
    return {
        name: {
            "steps": [
                fit_step_size(m, HORIZON, key=key, sequences=settings["held_out"]).step
                for m in models[name]
            ],
            "theory": steps[name],
            "difference": _difference(name, steps[name], settings["compared"]),
        }
        for name in SYSTEMS
    }


def _difference(name: str, step: float, count: int) -> float:
    """The largest entry of |layer - algorithm| at the stationary parameters, in float64."""
    with jax.enable_x64(True):
        pairs: dict[str, tuple[Learner, Learner]] = {
            "ball": (
                LinearAttention.hedge(ACTIONS, step, operator="ball"),
                EuclideanFTRL(step, Ball()),
            ),
            "linear": (LinearAttention.hedge(ACTIONS, step), Hedge(step)),
            "swap": (SwapAttention.hedge(ACTIONS, step), BlumMansour(Hedge(step), tolerance=1e-13)),
        }
        layer, algorithm = pairs[name]
        losses = jnp.asarray(np.random.default_rng(0).normal(size=(count, HORIZON, ACTIONS)))
        gaps = jax.vmap(lambda l: jnp.abs(rollout(layer, l) - rollout(algorithm, l)).max())(losses)
        return float(gaps.max())


def rows(numbers: dict[str, Any]) -> list[Row]:
    """The step of each system."""
    scales = {"ball": "1/sqrt(Td)", "linear": "1/sqrt(T)", "swap": "1/sqrt(T)"}
    return [
        row(f"step, {operator}", None, numbers[name]["steps"], exact=numbers[name]["theory"],
            why=f"the paper gives the order, {scales[name]}, and no number")
        for name, (operator, _) in SYSTEMS.items()
    ]  # fmt: skip


def section(numbers: dict[str, Any]) -> Section:
    """The table, and the architecture drawn anew."""
    text = [
        "At the stationary parameters the forward pass of each system is an algorithm with a name. The last column is "
        "the largest difference between the two over random sequences, in double precision.",
    ]
    table = Table(
        ("operator", "algorithm", "step found by training", "step by theory", "same policies", "largest difference"),
        [
            (*SYSTEMS[name], row("", None, found["steps"], why="", digits=5).ours, f"{found['theory']:.7f}",
             "yes" if found["difference"] < ROUNDING else "no", f"{found['difference']:.1e}")
            for name, found in numbers.items()
        ],
    )  # fmt: skip
    return Section(NAME, TITLE, text, tables=[table], drawings=[architecture()])
