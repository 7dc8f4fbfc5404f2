"""Settings of a training run, as plain values that fit in files and command lines."""

from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from regrax import _checks as checks
from regrax.specs import parse_distribution, parse_feedback

LIMITS = {
    "actions": (2, 10_000),
    "horizon": (1, 1_000_000),
    "layers": (1, 1000),
    "heads": (1, 1000),
    "width": (1, 100_000),
    "steps": (1, 10**9),
    "batch": (1, 2**24),
    "seeds": (1, 10_000),
    "first_seed": (0, 2**32 - 1),
    "sequences": (2, 10**9),
}
"""Smallest and largest value of each size; files of settings may come from strangers."""
DEEP = ("layers", "heads", "width")
"""Settings of the transformer only."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run; None stands for the model's default.

    Args:
        model: One layer (reduced or full form), the swap architecture, or a deep transformer.
        actions: Number of actions d.
        horizon: Rounds T per loss sequence.
        objective: Loss to minimise; by default the regret loss (swap regret on Gaussian blocks for the swap model).
        operator: Set that one layer plays on: the simplex, or the L2 ball (identity in training).
        layers: Layers of the transformer.
        heads: Attention heads per layer of the transformer, a divisor of its width.
        width: Width of the transformer's residual stream.
        distribution: Law of the losses: gaussian, biased-gaussian, rademacher, student-t(5.0), mixture(...), ...
        feedback: What the model sees of the losses: delayed(2) or bandit; by default everything.
        surrogate: The h of E[h(R)]: square, positive, positive-square, softplus or identity.
        steps: Steps of Adam; by default enough to reach the optimum.
        batch: Loss sequences per step.
        rate: Peak learning rate.
        seeds: Number of models to train at the same time.
        first_seed: Seed of the first model.
        sequences: Fresh loss sequences to measure a trained model on; by default 10,000, or as many as it was trained
            on if that is fewer.

    >>> TrainConfig("swap", actions=3, horizon=20).objective_name
    'swap'
    """

    model: Literal["linear", "full", "swap", "transformer"]
    actions: int = 3
    horizon: int = 20
    objective: Literal["regret", "hindsight", "hindsight-mean", "swap", "swap-closed"] | None = None
    operator: Literal["softmax", "ball"] = "softmax"
    layers: int = 2
    heads: int = 4
    width: int = 32
    distribution: str = "gaussian"
    feedback: str | None = None
    surrogate: Literal["square", "positive", "positive-square", "softplus", "identity"] = "square"
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seeds: int = 1
    first_seed: int = 0
    sequences: int | None = None

    @property
    def objective_name(self) -> str:
        """Name of the objective, which depends on the model by default."""
        if self.objective is not None:
            return self.objective
        return "swap" if self.model == "swap" else "regret"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            _, choices = setting_type(field.name)
            if choices and value != field.default and value not in choices:
                raise ValueError(
                    f"{field.name} must be one of {', '.join(choices)}, got {value!r:.60}"
                )
        for name, (least, most) in LIMITS.items():
            if getattr(self, name) is not None:
                checks.at_least(name, getattr(self, name), least, most)
        if self.rate is not None:
            checks.positive("rate", self.rate)
        self._check_combination()

    def _check_combination(self) -> None:
        name = self.objective_name
        if self.operator != "softmax" and self.model not in ("linear", "full"):
            raise ValueError(
                f"operator must be softmax for the {self.model} model, got {self.operator}"
            )
        if self.model == "swap" and name == "regret":
            raise ValueError(
                "objective of the swap model must be swap, swap-closed, hindsight or hindsight-mean, got regret"
            )
        if self.model != "swap" and name.startswith("swap"):
            raise ValueError(
                f"objective of the {self.model} model must be regret, hindsight or hindsight-mean, got {name}"
            )
        parse_distribution(self.distribution)
        if name == "swap" and self.distribution != "gaussian":
            raise ValueError(
                "distribution must be gaussian for the objective swap, which draws Gaussian blocks, "
                f"got {self.distribution}; swap-closed takes any"
            )
        if self.feedback is not None:
            parse_feedback(self.feedback)
            if name != "regret":
                raise ValueError(f"feedback needs the objective regret, got objective {name}")


@cache
def setting_type(name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the type of a setting of `TrainConfig`, and the values it may take if they are listed.

    >>> setting_type("rate"), setting_type("operator")
    ((<class 'float'>, ()), (<class 'str'>, ('softmax', 'ball')))
    """
    hint = get_type_hints(TrainConfig)[name]
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return str, get_args(hint)
    return hint, ()
