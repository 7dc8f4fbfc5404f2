"""`regrax step-size`: compute the exact stationary step size."""

import math
from typing import Any, Literal

from regrax.cli.inputs import Json
from regrax.cli.output import print_json, print_table


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
        "horizon": "inf" if math.isinf(rounds) else rounds,
        "operator": operator,
        "radius": radius if operator == "ball" else None,
        "step_size": step.value,
        "error": step.error,
        "scaled": step.value * (1 if math.isinf(rounds) else math.sqrt(rounds)),
        "loss": theory.loss(step.value, actions, rounds, **settings),
        "optimal_loss": theory.optimal_loss(actions, rounds, **settings),
        "uniform_loss": theory.uniform_loss(actions, rounds) if operator == "softmax" else None,
    }
    print_json(result) if json else _print(result)


def _print(result: dict[str, Any]) -> None:
    unit = "per round" if result["horizon"] == "inf" else "total"
    rows = [
        ["step size x sqrt(T)", f"{result['scaled']:.12g}"],
        ["estimated error of the step size", f"{result['error']:.1e}"],
        [f"loss at that step size, {unit}", f"{result['loss']:.10g}"],
        [f"lower bound for any policy, {unit}", f"{result['optimal_loss']:.10g}"],
    ]
    if result["horizon"] != "inf":
        rows.insert(0, ["stationary step size", f"{result['step_size']:.12g}"])
    if result["uniform_loss"] is not None:
        rows.append([f"loss of uniform play, {unit}", f"{result['uniform_loss']:.10g}"])
    title = f"{result['actions']} actions, {result['horizon']} rounds, {result['operator']}"
    if result["radius"] is not None:
        title += f" of radius {result['radius']:g}"
    print_table(("quantity", "value"), rows, title)
