"""What to train and how, as plain settings: they go into a file and come from a command line."""

import copy
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import jax

    from regrax.attention import TrainableLearner
    from regrax.training import Objective

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
"""The least and the most of every size."""
COPIES = 6
"""Of the parameters while they are trained: the model, its average, Adam's two moments, gradient and change."""


@dataclass(frozen=True)
class TrainConfig:
    """What to train and how; whatever is None takes the model's default.

    Args:
        model: One layer (reduced or full form), the swap architecture, or a deep transformer.
        actions: Number of actions d.
        horizon: Rounds T per loss sequence.
        objective: What is minimised; by default the plain regret loss (swap regret on Gaussian blocks for the swap
            model).
        operator: Where one layer plays: the simplex, or the L2 ball (identity in training).
        layers: Layers of the transformer.
        heads: Attention heads per layer of the transformer, a divisor of its width.
        width: Width of the transformer's residual stream.
        distribution: Of the losses: gaussian, biased-gaussian, rademacher, student-t(5.0), mixture(...), ...
        feedback: What the model sees of the losses: delayed(2) or bandit; without it everything.
        surrogate: The h of E[h(R)]: square, positive, positive-square, softplus or identity.
        steps: Steps of Adam; by default as many as it takes to reach the optimum.
        batch: Loss sequences per step.
        rate: The highest learning rate.
        seeds: How many models to train, all at once.
        first_seed: The seed of the first of them.
        sequences: On how many fresh loss sequences a trained model is measured.

    >>> TrainConfig("linear", actions=3, horizon=20).build_objective().horizon
    20
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
    surrogate: str = "square"
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seeds: int = 1
    first_seed: int = 0
    sequences: int = 20_000

    def __post_init__(self) -> None:
        from regrax import _checks as checks

        for name, (least, most) in LIMITS.items():
            if getattr(self, name) is not None:
                checks.at_least(name, getattr(self, name), least, most)
        if self.rate is not None:
            checks.positive("rate", self.rate)
        alike = copy.copy(self)
        for name in ("first_seed", "sequences"):
            object.__setattr__(alike, name, getattr(TrainConfig, name))
        _check_parts(alike)

    @property
    def objective_name(self) -> str:
        """The objective, which the model decides where it is not given."""
        return self.objective or ("swap" if self.model == "swap" else "regret")

    def build_models(self) -> "TrainableLearner":
        """Models with random parameters, one per seed, stacked."""
        import jax

        from regrax import attention

        if self.operator != "softmax" and self.model not in ("linear", "full"):
            raise ValueError(
                f"operator must be softmax for the {self.model} model, got {self.operator}"
            )
        if self.model == "transformer":
            sizes = {"layers": self.layers, "heads": self.heads, "width": self.width}
            return jax.vmap(lambda key: attention.Transformer(self.actions, key=key, **sizes))(
                self.keys(0)
            )
        if self.model == "swap":
            return jax.vmap(lambda key: attention.SwapAttention(self.actions, key=key))(
                self.keys(0)
            )
        layer = {"linear": attention.LinearAttention, "full": attention.FullLinearAttention}
        make: Any = layer[self.model]
        return jax.vmap(lambda key: make(self.actions, key=key, operator=self.operator))(
            self.keys(0)
        )

    def keys(self, purpose: int) -> "jax.Array":
        """A key per seed; purpose 0 is for the parameters, 1 for the draws."""
        import jax

        roots = [jax.random.key(self.first_seed + i) for i in range(self.seeds)]
        return jax.numpy.stack([jax.random.fold_in(root, purpose) for root in roots])

    def build_objective(self) -> "Objective":
        """The objective itself; raises ValueError for settings that do not go together."""
        from regrax import training

        name, swap, sizes = self.objective_name, self.model == "swap", (self.actions, self.horizon)
        if (swap and name == "regret") or (not swap and name.startswith("swap")):
            own = "swap, swap-closed" if swap else "regret"
            raise ValueError(
                f"the {self.model} model takes the objectives {own}, hindsight and hindsight-mean, "
                f"got {name}"
            )
        losses, feedback = self._losses(), self._feedback()
        if name == "regret":
            return training.RegretObjective(
                *sizes, losses, surrogate=self.surrogate, feedback=feedback
            )
        if name == "swap":
            return training.SwapRegretObjective(*sizes, surrogate=self.surrogate)
        if name == "swap-closed":
            return training.ClosedLoopSwapObjective(*sizes, losses, surrogate=self.surrogate)
        conditional = name == "hindsight-mean"
        return training.HindsightObjective(*sizes, losses, conditional=conditional, swap=swap)

    def _losses(self) -> Any:
        from regrax.specs import parse_distribution

        distribution = parse_distribution(self.distribution)
        if self.objective_name == "swap" and self.distribution != "gaussian":
            raise ValueError(
                f"the objective swap draws Gaussian blocks, got distribution {self.distribution}; "
                "swap-closed takes any"
            )
        return distribution

    def _feedback(self) -> Any:
        from regrax.specs import parse_feedback

        if self.feedback is None:
            return None
        if self.objective_name != "regret":
            raise ValueError(
                f"feedback belongs to the objective regret, got objective {self.objective_name}"
            )
        return parse_feedback(self.feedback)


@lru_cache(1024)
def _check_parts(config: TrainConfig) -> None:
    """Build the objective and the models' shapes, once for all seeds."""
    import equinox as eqx
    import jax

    from regrax import _checks as checks

    config.build_objective()
    leaves = jax.tree.leaves(eqx.filter_eval_shape(config.build_models))
    parameters = config.seeds * sum(math.prod(leaf.shape) for leaf in leaves)
    losses = config.seeds * config.horizon * config.actions * min(config.batch or 64, 64)
    needed = 4 * COPIES * (parameters + losses)
    hint = "choose fewer actions, rounds or seeds, or a smaller transformer"
    checks.fits_in_memory("this training", needed, hint)
