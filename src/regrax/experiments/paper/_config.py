"""What is reproduced, and on what scale."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from regrax.experiments.runs import TrainConfig

SEEDS = 3
LARGE_BATCH = 4096
"""Sequences per step of one layer: more than by default, for another digit of the step."""
Name = Literal["step-size", "matching", "depth", "cce", "ce", "table-one", "generalization"]


@dataclass(frozen=True)
class ReproduceConfig:
    """What is reproduced: the paper has three actions and twenty rounds; for others nothing was reported.

    Args:
        quick: All of it, smaller: two minutes instead of half an hour.
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
        quick = self.quick
        found = {
            "linear": self._training("linear", steps=250 if quick else 1000),
            "linear-hindsight": self._training(
                "linear", objective="hindsight", steps=100 if quick else 1000, batch=None if quick else 2 * LARGE_BATCH
            ),
            "full": self._training("full", steps=1000),
            "ball": self._training("linear", operator="ball", steps=150 if quick else 1000),
            "swap": self._training("swap", steps=100 if quick else 1000),
            "swap-closed": self._training(
                "swap", objective="swap-closed", steps=100 if quick else 400, batch=256 if quick else 512
            ),
        }  # fmt: skip
        for layers, steps, few in ((2, 2000, 500), (4, 1500, 400)):
            deep: Any = {"layers": layers, "steps": few if quick else steps}
            deep |= {"batch": 64} if quick else {}
            name = f"transformer-{layers}"
            found[name] = self._training("transformer", **deep)
            found[f"{name}-hindsight"] = self._training(
                "transformer", objective="hindsight", **deep
            )
        left_out = ("full", "transformer-2-hindsight", "transformer-4-hindsight") if quick else ()
        return {name: one for name, one in found.items() if name not in left_out}

    def _training(self, model: Any, **more: Any) -> TrainConfig:
        deep = model == "transformer"
        sequences = 2000 if deep else 20_000 if self.quick else 200_000
        batch = None if deep or self.quick else LARGE_BATCH
        settings = {"seeds": SEEDS, "sequences": sequences, "batch": batch, **more}
        return TrainConfig(model, self.actions, self.horizon, **settings)
