"""Settings of a training run, as plain values for files and command lines."""

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
"""Smallest and largest value of each size, because settings files may be untrusted."""
DEEP = ("layers", "heads", "width")
"""Settings that apply only to the transformer."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run; None means the model's default.

    Args:
        model: Single layer (reduced or full form), swap architecture, or deep transformer.
        actions: Number of actions d.
        horizon: Rounds T per loss sequence.
        objective: Loss to minimise; by default the regret loss (swap regret on Gaussian blocks for the swap model).
        operator: Output of a single layer: softmax on the simplex, or the L2 ball (identity in training).
        layers: Number of transformer layers.
        heads: Attention heads per transformer layer; must divide the width.
        width: Width of the transformer's residual stream.
        distribution: Loss distribution: gaussian, biased-gaussian, rademacher, student-t(5.0), mixture(...), ...
        feedback: Feedback on the losses: delayed(2) or bandit; by default full and immediate.
        surrogate: Function h in the objective E[h(R)]: square, positive, positive-square, softplus or identity.
        steps: Number of Adam steps; by default enough to reach the optimum.
        batch: Loss sequences per step.
        rate: Peak learning rate.
        seeds: Number of models to train simultaneously.
        first_seed: Seed of the first model.
        sequences: Number of fresh loss sequences for measuring a trained model; by default 10,000, or the number used
            in training if smaller.

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
                f"got {self.distribution}; swap-closed accepts any distribution"
            )
        if self.feedback is not None:
            parse_feedback(self.feedback)
            if name != "regret":
                raise ValueError(f"feedback needs the objective regret, got objective {name}")


@cache
def setting_type(name: str) -> tuple[Any, tuple[str, ...]]:
    """Return the type of a `TrainConfig` setting and its allowed values, if they are restricted.

    >>> setting_type("rate"), setting_type("operator")
    ((<class 'float'>, ()), (<class 'str'>, ('softmax', 'ball')))
    """
    hint = get_type_hints(TrainConfig)[name]
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return str, get_args(hint)
    return hint, ()
