"""How a model is trained: by gradient descent, and what the settings of all methods are checked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from regrax import _checks as checks

Objective = Literal["regret", "swap", "hindsight"]


@dataclass(frozen=True)
class TrainConfig:
    r"""How a model is trained.

    Args:
        objective: squared external regret, squared swap regret, or the hindsight loss (standard Gaussian losses only).
        steps: of Adam.
        batch: transcripts per step.
        accumulate: parts that a batch is read in, one after the other, to need less memory.
        rate: the highest learning rate: it rises over `warmup` steps and falls to 0 along a cosine.
        warmup: see there.
        kl: weight of the mean over rounds of $KL(\pi_t \| \pi_t^{base})$, the policies before training.
        clip: the largest norm of a gradient.
        lora: rank of LoRA; 0 trains every parameter.
        seed: of everything that is drawn.

    >>> TrainConfig("hindsight", steps=100).batch
    32
    """

    objective: Objective = "regret"
    steps: int = 300
    batch: int = 32
    accumulate: int = 1
    rate: float = 1e-4
    warmup: int = 20
    kl: float = 0.0
    clip: float = 1.0
    lora: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("objective", self.objective, get_args(Objective))
        integers(self, steps=1, batch=1, accumulate=1, warmup=0, lora=0, seed=0)
        for name in ("rate", "clip"):
            checks.positive(name, getattr(self, name))
        nonnegative("kl", self.kl)
        if self.batch % self.accumulate:
            raise ValueError(
                f"batch must be a multiple of accumulate, got {self.batch} and {self.accumulate}"
            )


def integers(config: Any, **least: int) -> None:
    """Raise unless these settings are integers, each of at least this."""
    for name, number in least.items():
        checks.at_least(name, getattr(config, name), number)


def one_of(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise unless the value is one of these.

    >>> one_of("objective", "regrets", ("regret", "swap"))
    Traceback (most recent call last):
    ValueError: objective must be one of regret, swap, got 'regrets'
    """
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def nonnegative(name: str, value: Any) -> None:
    """Raise unless the value is a finite number of at least 0."""
    checks.finite(name, value)
    if value < 0:
        raise ValueError(f"{name} must be at least 0, got {value}")
