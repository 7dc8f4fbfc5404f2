"""`regrax step-size`: compute the exact stationary step size."""

import math
from typing import Any, Literal

from regrax.cli.inputs import Json
from regrax.cli.output import print_json, print_quantities

LABELS = {
    "step_size": "stationary step size",
    "scaled": "step size x sqrt(T)",
    "error": "estimated error of the step size",
    "loss": "loss at that step size, {unit}",
    "optimal_loss": "lower bound for any policy, {unit}",
    "uniform_loss": "loss of uniform play, {unit}",
}


def step_size(
    *,
    actions: int,
    horizon: str,
    operator: Literal["softmax", "ball"] = "softmax",
    radius: float = 1.0,
    json: Json = False,
) -> None:
    """Compute the exact stationary step size and its loss.

    Training on squared regret converges to smoothed fictitious play with this
    step size.

    Example uses:
        regrax step-size --actions 3 --horizon 20
        regrax step-size --actions 3 --horizon inf

    Args:
        actions: Number of actions, from 2 to 1000000.
        horizon: Number of rounds T, at least 2, or inf for the limit of step size times sqrt(T).
        operator: Map from cumulative losses to play: softmax, or the identity on the L2 ball.
        radius: Radius of the ball.
    """
    from regrax import theory

    if horizon != "inf" and not horizon.isdecimal():
        raise ValueError(f"horizon must be an integer or inf, got {horizon[:40]!r}")
    rounds = math.inf if horizon == "inf" else int(horizon)
    settings: dict[str, Any] = {"operator": operator, "radius": radius}
    step = theory.step_size_with_error(actions, rounds, **settings)
    result = {
        "actions": actions,
        "horizon": horizon if horizon == "inf" else rounds,
        "operator": operator,
        "radius": radius if operator == "ball" else None,
        "step_size": step.value,
        "error": step.error,
        "scaled": step.value * (1 if horizon == "inf" else math.sqrt(rounds)),
        "loss": theory.loss(step.value, actions, rounds, **settings),
        "optimal_loss": theory.optimal_loss(actions, rounds, **settings),
        "uniform_loss": theory.uniform_loss(actions, rounds) if operator == "softmax" else None,
    }
    if json:
        return print_json(result)
    title = f"{actions} actions, {horizon} rounds, {operator}"
    if operator == "ball":
        title += f" of radius {radius:g}"
    unit = "per round" if horizon == "inf" else "total"
    labels = {name: label.format(unit=unit) for name, label in LABELS.items()}
    if horizon == "inf":
        del labels["step_size"]
    exact = {name: f"{result[name]:.12g}" for name in labels if result[name] is not None}
    return print_quantities({**exact, "error": f"{step.error:.1e}"}, labels, title)
