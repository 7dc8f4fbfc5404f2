"""`regrax step-size`: the exact stationary step, its loss, and the limits it lies between."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from regrax.cli._text import print_json, print_table


@dataclass(frozen=True)
class StepSize:
    """Compute the step at which training on squared regret comes to rest, and the losses around it.

    Args:
        actions: How many actions, 2 to 1000000.
        horizon: How many rounds, 2 or more, or inf for the limit of the step times the root of the rounds.
        operator: What turns cumulative losses into play: softmax, or the identity on the L2 ball.
        radius: The radius of the ball.
        json: Print one JSON object.

    regrax step-size --actions 3 --horizon 20
    """

    actions: int
    horizon: str
    operator: Literal["softmax", "ball"] = "softmax"
    radius: float = 1.0
    json: bool = False

    def run(self) -> None:
        """Compute and print."""
        result = _compute(self.actions, _horizon(self.horizon), self.operator, self.radius)
        print_json(result) if self.json else _print(result)


def _horizon(text: str) -> int | float:
    try:
        return math.inf if text == "inf" else int(text)
    except ValueError:
        raise ValueError(f"horizon must be an integer or inf, got {text!r}") from None


def _compute(actions: int, horizon: int | float, operator: str, radius: float) -> dict[str, Any]:
    from regrax import theory

    settings: dict[str, Any] = {"operator": operator, "radius": radius}
    found = theory.step_size_with_error(actions, horizon, **settings)
    return {
        "actions": actions,
        "horizon": "inf" if math.isinf(horizon) else horizon,
        "operator": operator,
        "radius": radius if operator == "ball" else None,
        "step_size": found.value,
        "error": found.error,
        "scaled": found.value * (1 if math.isinf(horizon) else math.sqrt(horizon)),
        "loss": theory.loss(found.value, actions, horizon, **settings),
        "optimal_loss": theory.optimal_loss(actions, horizon, **settings),
        "uniform_loss": theory.uniform_loss(actions, horizon) if operator == "softmax" else None,
    }


def _print(result: dict[str, Any]) -> None:
    per_round = " per round" if result["horizon"] == "inf" else ""
    rows = [
        ["stationary step" + (" x sqrt(T)" if per_round else ""), f"{result['step_size']:.12g}"],
        ["estimated error", f"{result['error']:.1e}"],
        ["step x sqrt(T)", f"{result['scaled']:.12g}"],
        [f"loss{per_round} at that step", f"{result['loss']:.10g}"],
        [f"best possible loss{per_round}", f"{result['optimal_loss']:.10g}"],
    ]
    if result["uniform_loss"] is not None:
        rows.append([f"loss{per_round} of uniform play", f"{result['uniform_loss']:.10g}"])
    ball = "" if result["radius"] is None else f" of radius {result['radius']:g}"
    title = f"{result['actions']} actions, {result['horizon']} rounds, {result['operator']}{ball}"
    print_table(("quantity", "value"), rows, title)
