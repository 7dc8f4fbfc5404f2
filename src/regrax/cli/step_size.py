"""`regrax step-size`: compute the exact stationary step size."""

import math
from typing import Literal

from regrax._text import quantities
from regrax.cli.options import Json
from regrax.cli.shared import print_result

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
        actions: Number of actions, from 2 to 1,000,000.
        horizon: Number of rounds T, at least 2, or inf for the limit of step size times sqrt(T).
        operator: Map from cumulative losses to play: softmax, or the identity on the L2 ball.
        radius: Radius of the ball.
    """
    from regrax.theory import step_summary

    if horizon != "inf" and not horizon.isdecimal():
        raise ValueError(f"horizon must be an integer or inf, got {horizon[:40]!r}")
    rounds = math.inf if horizon == "inf" else int(horizon)
    exact = step_summary(actions, rounds, operator=operator, radius=radius)
    count = "infinitely many" if horizon == "inf" else horizon
    title = f"{actions} actions, {count} rounds, {operator}"
    if operator == "ball":
        title += f" of radius {radius:g}"
    unit = "per round" if horizon == "inf" else "total"
    shown = {name: f"{value:.12g}" for name, value in exact.items() if value is not None}
    shown["error"] = f"{exact['error']:.2g}"
    if horizon == "inf":
        del shown["step_size"]
    labels = {name: label.format(unit=unit) for name, label in LABELS.items()}
    settings = {"actions": actions, "horizon": horizon if horizon == "inf" else rounds}
    settings |= {"operator": operator, "radius": radius if operator == "ball" else None}
    print_result(quantities(shown, labels, title), json, settings | exact)
