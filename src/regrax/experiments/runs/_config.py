"""What to train and how, as plain settings: they go into a file and come from a command line."""

import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from regrax._settings import settings_of

if TYPE_CHECKING:
    import jax
    import numpy as np
    from jaxtyping import UInt32

    from regrax.attention import TrainableLearner
    from regrax.training import Objective

    Seeds = UInt32[np.ndarray, "seeds"] | UInt32[jax.Array, "seeds"]

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
DEEP = ("layers", "heads", "width")
"""Settings that only a transformer has."""
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
        sequences: On how many fresh loss sequences a trained model is measured; by default 10,000, or as many as it was
            trained on if these are fewer.

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
    surrogate: Literal["square", "positive", "positive-square", "softplus", "identity"] = "square"
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seeds: int = 1
    first_seed: int = 0
    sequences: int | None = None

    def __post_init__(self) -> None:
        from regrax import _checks as checks

        self._check_choices()
        for name, (least, most) in LIMITS.items():
            if getattr(self, name) is not None:
                checks.at_least(name, getattr(self, name), least, most)
        if self.rate is not None:
            checks.positive("rate", self.rate)
        if self.operator != "softmax" and self.model not in ("linear", "full"):
            raise ValueError(
                f"operator must be softmax for the {self.model} model, got {self.operator}"
            )
        self.shapes()

    def _check_choices(self) -> None:
        for setting in settings_of(type(self)):
            value = getattr(self, setting.name)
            if setting.choices and value != setting.default and value not in setting.choices:
                known = ", ".join(setting.choices)
                raise ValueError(f"{setting.name} must be one of {known}, got {value!r:.60}")

    def shapes(self) -> "TrainableLearner":
        """The models, with the shapes of their arrays for these; raises ValueError for settings that do not fit."""
        return _checked_shapes(self.for_any_seed())

    def for_any_seed(self) -> "TrainConfig":
        """The settings that decide what is compiled."""
        alike = copy.copy(self)
        for name in ("first_seed", "sequences"):
            object.__setattr__(alike, name, getattr(TrainConfig, name))
        return alike

    @property
    def objective_name(self) -> str:
        """The objective, which the model decides where it is not given."""
        return self.objective or ("swap" if self.model == "swap" else "regret")

    def build_models(self, seeds: "Seeds | None" = None) -> "TrainableLearner":
        """Models with random parameters, stacked if there are several seeds: a batch of one trains half as fast."""
        import jax

        build = self._build_model if self.seeds == 1 else jax.vmap(self._build_model)
        return build(self.keys(0, seeds))

    def _build_model(self, key: "jax.Array") -> "TrainableLearner":
        from regrax import attention

        if self.model == "transformer":
            sizes = {"layers": self.layers, "heads": self.heads, "width": self.width}
            return attention.Transformer(self.actions, key=key, **sizes)
        if self.model == "swap":
            return attention.SwapAttention(self.actions, key=key)
        layer: Any = {"linear": attention.LinearAttention, "full": attention.FullLinearAttention}
        return layer[self.model](self.actions, key=key, operator=self.operator)

    def keys(self, purpose: int, seeds: "Seeds | None" = None) -> "jax.Array":
        """The key of the seed, one per seed if there are several; purpose 0 is for the parameters, 1 for the draws."""
        import jax
        import numpy as np

        seeds = self.all_seeds() if seeds is None else seeds
        if self.seeds == 1:
            return jax.jit(_key)(seeds[0], np.uint32(purpose))
        return jax.vmap(jax.jit(_key), (0, None))(seeds, np.uint32(purpose))

    def all_seeds(self) -> "Seeds":
        """The numbers of the seeds, which a program that serves any of them is given."""
        import numpy as np

        return np.arange(self.first_seed, self.first_seed + self.seeds).astype(np.uint32)

    def build_objective(self) -> "Objective":
        """The objective itself; raises ValueError for settings that do not go together."""
        name, swap, sizes = self.objective_name, self.model == "swap", (self.actions, self.horizon)
        if (swap and name == "regret") or (not swap and name.startswith("swap")):
            own = "swap, swap-closed" if swap else "regret"
            raise ValueError(
                f"the {self.model} model takes the objectives {own}, hindsight and hindsight-mean, "
                f"got {name}"
            )
        feedback, losses = self._feedback(), self._losses()
        from regrax import training  # jax is imported for settings that go together

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


def _key(seed: "jax.Array", purpose: "jax.Array") -> "jax.Array":
    import jax

    return jax.random.fold_in(jax.random.key(seed), purpose)


@lru_cache(1024)
def _checked_shapes(config: TrainConfig) -> "TrainableLearner":
    """Build the objective and the models' shapes, once for all seeds."""
    config.build_objective()
    import equinox as eqx
    import jax

    from regrax import _checks as checks

    shapes = eqx.filter_eval_shape(config.build_models)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(shapes))  # of all seeds
    losses = config.seeds * config.horizon * config.actions * min(config.batch or 64, 64)
    needed = 4 * COPIES * (parameters + losses)
    hint = "choose fewer actions, rounds or seeds, or a smaller transformer"
    checks.fits_in_memory("this training", needed, hint)
    return shapes
