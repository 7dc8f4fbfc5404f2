"""What to train and how, as plain settings: they go into a file and come from a command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from regrax import _checks as checks
from regrax.attention import (
    FullLinearAttention,
    LinearAttention,
    Model,
    SwapAttention,
    Transformer,
)
from regrax.specs import parse_distribution, parse_feedback
from regrax.training import (
    ClosedLoopSwapObjective,
    HindsightObjective,
    Objective,
    RegretObjective,
    SwapRegretObjective,
)

Kind = Literal["linear", "full", "swap", "transformer"]
Aim = Literal["regret", "hindsight", "hindsight-mean", "swap", "swap-closed"]


@dataclass(frozen=True)
class Training:
    """What to train and how; whatever is None is as the model's recipe has it.

    >>> Training("linear", actions=3, horizon=20).made_objective().horizon
    20
    """

    model: Kind
    actions: int
    horizon: int
    objective: Aim | None = None  # for the swap architecture "swap", else "regret"
    operator: Literal["softmax", "ball"] = "softmax"
    layers: int = 2
    heads: int = 4
    width: int = 32
    distribution: str = "gaussian"
    feedback: str | None = None
    surrogate: str = "square"
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seeds: int = 1
    first_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("actions", "horizon", "seeds"):
            checks.at_least(name, getattr(self, name), 1)
        checks.at_least("first_seed", self.first_seed, 0)
        if self.steps is not None:
            checks.at_least("steps", self.steps, 1)
        if self.rate is not None:
            checks.positive("rate", self.rate)
        self.made_objective()
        eqx.filter_eval_shape(self.fresh)

    @property
    def aim(self) -> Aim:
        """The objective's name."""
        return self.objective or ("swap" if self.model == "swap" else "regret")

    def fresh(self) -> Model:
        """Models with random parameters, one a seed, stacked."""
        makers: dict[Kind, Callable[[Any], Model]] = {
            "linear": lambda key: LinearAttention(self.actions, key=key, operator=self.operator),
            "full": lambda key: FullLinearAttention(self.actions, key=key, operator=self.operator),
            "swap": lambda key: SwapAttention(self.actions, key=key),
            "transformer": lambda key: Transformer(
                self.actions, key=key, layers=self.layers, heads=self.heads, width=self.width
            ),
        }
        if self.operator != "softmax" and self.model not in ("linear", "full"):
            raise ValueError(
                f"operator must be softmax for the {self.model} model, but is {self.operator}"
            )
        return jax.vmap(makers[self.model])(self.keys(0))

    def keys(self, purpose: int) -> jax.Array:
        """A key a seed; purpose 0 is for the parameters, 1 for the draws."""
        roots = [jax.random.key(self.first_seed + i) for i in range(self.seeds)]
        return jnp.stack([jax.random.fold_in(root, purpose) for root in roots])

    def made_objective(self) -> Objective:
        """The objective itself; raises ValueError for settings that do not go together."""
        swap, sizes = self.model == "swap", (self.actions, self.horizon)
        if (swap and self.aim == "regret") or (not swap and self.aim.startswith("swap")):
            own = "swap, swap-closed" if swap else "regret"
            raise ValueError(
                f"the {self.model} model takes the objectives {own}, hindsight and hindsight-mean, "
                f"but was given {self.aim}"
            )
        losses, feedback = self._losses(), self._feedback()
        if self.aim == "regret":
            return RegretObjective(*sizes, losses, h=self.surrogate, feedback=feedback)
        if self.aim == "swap":
            return SwapRegretObjective(*sizes, h=self.surrogate)
        if self.aim == "swap-closed":
            return ClosedLoopSwapObjective(*sizes, losses, h=self.surrogate)
        return HindsightObjective(
            *sizes, losses, conditional=self.aim == "hindsight-mean", swap=swap
        )

    def _losses(self) -> Any:
        distribution = parse_distribution(self.distribution)
        if self.aim == "swap" and self.distribution != "gaussian":
            raise ValueError(
                f"the objective swap draws Gaussian blocks, but the distribution is {self.distribution}; "
                "swap-closed takes any"
            )
        return distribution

    def _feedback(self) -> Any:
        if self.feedback is None:
            return None
        if self.aim != "regret":
            raise ValueError(
                f"feedback belongs to the objective regret, but the objective is {self.aim}"
            )
        return parse_feedback(self.feedback)
