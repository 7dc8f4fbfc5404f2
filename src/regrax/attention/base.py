"""`TrainableLearner`, the interface between models and the objectives of `regrax.training`."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from regrax.learners import Learner, rollout

Batch = Float[Array, "T d n"]


class Recipe(NamedTuple):
    """Default training settings of a model.

    Args:
        steps: optimizer steps.
        batch: sequences per step.
        chunk: sequences processed at a time, few enough to fit in the processor's cache.
        rate: highest learning rate.
        tail: fraction of steps at the end of training whose models are averaged.
    """

    steps: int = 300
    batch: int = 2048
    chunk: int = 1024
    rate: float = 0.03
    tail: float = 0.5


def play_batch(learner: Learner, losses: Batch) -> Batch:
    """Play a learner on every sequence of a batch."""
    return jnp.asarray(jax.vmap(lambda sequence: rollout(learner, sequence), -1, -1)(losses))


MODELS: dict[str, type["TrainableLearner"]] = {}
"""Model classes by name, as checkpoints store them."""


class TrainableLearner(Learner):
    r"""A learner with trained parameters, which can also map a batch of complete loss sequences to policies.

    `policies` is the training form; `policy` and `update` are the playing form. The two agree to rounding, up to the
    projection that play adds on the ball. Batches have the sequence axis last: `losses[t, j, n]` is the loss of
    action $j$ in round $t$ of sequence $n$. Every array leaf is a trained parameter; all other fields are static.
    Defining a subclass with a `name` adds it to `MODELS`, so that checkpoints and sweeps can name it.
    """

    name: ClassVar[str]  # in checkpoints, `str` and `MODELS`
    recipe: ClassVar[Recipe] = Recipe()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            known = MODELS.setdefault(cls.name, cls)
            if known.__module__.startswith("regrax.") and known.__module__ != cls.__module__:
                raise ValueError(f"name must not be that of a model in regrax, got {cls.name!r}")
            MODELS[cls.name] = cls

    @property
    @abstractmethod
    def actions(self) -> int:
        """Number of actions $d$."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Constructor arguments besides `key`. Together with the parameters they determine the model."""

    def policies(self, losses: Batch) -> Batch:
        r"""Compute $\pi_t$ of every round and sequence from rounds $1..t-1$ of `losses`; by default, play them."""
        return play_batch(self, losses)

    def __str__(self) -> str:
        return f"{self.name}({self.actions})"
