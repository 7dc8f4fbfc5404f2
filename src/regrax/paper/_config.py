"""What is reproduced, and on what scale."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from regrax.experiments.runs import TrainConfig

SEEDS = 3
LARGE_BATCH = 4096
"""Sequences per step of one layer: more than by default, for another digit of the step."""
QUICK_TRANSFORMER = {"width": 16, "heads": 2, "rate": 0.006}
"""Transformers of a quick run: of half the width they learn as much of as many sequences, in half the time."""
Name = Literal["step-size", "matching", "depth", "cce", "ce", "table-one", "generalization"]


@dataclass(frozen=True)
class ReproduceConfig:
    """What is reproduced: the paper has three actions and twenty rounds; for others nothing was reported.

    Args:
        quick: All of it, smaller: one minute instead of half an hour.
        actions: The number of actions d.
        horizon: The number of rounds T.
        only: Only these of the experiments.

    >>> ReproduceConfig().is_the_papers, ReproduceConfig(actions=4).is_the_papers
    (True, False)
    """

    quick: bool = False
    actions: int = 3
    horizon: int = 20
    only: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        from regrax import _checks as checks

        checks.at_least("actions", self.actions, 2)
        checks.at_least("horizon", self.horizon, 2)
        for name in self.only:
            if name not in get_args(Name):
                there = ", ".join(get_args(Name))
                raise ValueError(f"unknown experiment {name!r}; there are {there}")

    @property
    def is_the_papers(self) -> bool:
        """Whether there are reported numbers."""
        return (self.actions, self.horizon) == (3, 20)

    def has(self, *names: str) -> bool:
        """Whether one of these experiments is asked for."""
        return not self.only or any(name in self.only for name in names)

    def trainings(self) -> dict[str, TrainConfig]:
        """The models that the experiments use, by their names."""
        deep = partial(self._training, "transformer", **(QUICK_TRANSFORMER if self.quick else {}))
        found = {
            "linear": self._training("linear", (150, 1000)),
            "linear-hindsight": self._training(
                "linear", (100, 1000), (2048, 2 * LARGE_BATCH), objective="hindsight"
            ),
            "full": self._training("full", (1000, 1000)),
            "ball": self._training("linear", (150, 1000), operator="ball"),
            "swap": self._training("swap", (100, 1000)),
            "swap-closed": self._training("swap", (100, 400), (256, 512), objective="swap-closed"),
            "transformer-2": deep((900, 2000), layers=2),
            "transformer-2-hindsight": deep((500, 2000), layers=2, objective="hindsight"),
            "transformer-4": deep((600, 1500), layers=4),
            "transformer-4-hindsight": deep((400, 1500), layers=4, objective="hindsight"),
        }
        left_out = ("full", "transformer-2-hindsight", "transformer-4-hindsight")
        return {name: one for name, one in found.items() if not self.quick or name not in left_out}

    def _training(self, model: Any, steps: Any, batch: Any = None, **more: Any) -> TrainConfig:
        """The steps and the batch are those of a quick run and of a whole one."""
        deep, run = model == "transformer", 0 if self.quick else 1
        batch = batch or ((32, None) if deep else (1024, LARGE_BATCH))
        sequences = ((500, 2000) if deep else (10_000, 200_000))[run]
        settings = {"steps": steps[run], "batch": batch[run], "seeds": SEEDS, **more}
        return TrainConfig(model, self.actions, self.horizon, sequences=sequences, **settings)
