"""Settings of the reproduction: which experiments to run, and on what scale."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from regrax import _checks as checks
from regrax.experiments.runs import TrainConfig

SEEDS = 3
Name = Literal["step-size", "matching", "depth", "cce", "ce", "table-one", "generalization"]


@dataclass(frozen=True)
class Sizes:
    """Sample sizes of the experiments.

    Attributes:
        actions: numbers of actions in the step-size figure.
        horizons: numbers of rounds in the step-size figure.
        runs: Monte Carlo estimates per step.
        samples: sequences per estimate.
        biased: test sequences with a hidden best action, per seed.
        gaussian: test sequences with standard Gaussian losses, per seed.
        long_horizons: horizons at which the corollaries are checked.
        compared: sequences on which a layer is compared with its algorithm.
        lengths: test horizons for generalization, as multiples of the training horizon.
        drawn: sequences per loss family for generalization.
    """

    actions: tuple[int, ...] = (2, 3, 5, 10)
    horizons: tuple[int, ...] = (10, 20, 50, 100, 200)
    runs: int = 50
    samples: int = 800
    biased: int = 50_000
    gaussian: int = 100_000
    long_horizons: tuple[int, ...] = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
    compared: int = 200
    lengths: tuple[float, ...] = (0.25, 1, 5)
    drawn: int = 4000


QUICK = Sizes(
    actions=(2, 3),
    horizons=(10, 20, 50),
    runs=12,
    biased=2000,
    gaussian=2000,
    long_horizons=(20, 100, 500),
    compared=20,
    lengths=(1,),
    drawn=2000,
)


@dataclass(frozen=True)
class ReproduceConfig:
    """Experiments to reproduce; the paper reports numbers only for three actions and twenty rounds.

    Args:
        quick: Run everything on a smaller scale, in one minute instead of half an hour.
        actions: Number of actions d.
        horizon: Number of rounds T.
        only: Run only these experiments.

    >>> ReproduceConfig().is_the_papers, ReproduceConfig(actions=4).is_the_papers
    (True, False)
    """

    quick: bool = False
    actions: int = 3
    horizon: int = 20
    only: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        checks.at_least("actions", self.actions, 2)
        checks.at_least("horizon", self.horizon, 2)
        known = get_args(Name)
        for name in self.only:
            if name not in known:
                raise ValueError(
                    f"only must list experiments from {', '.join(known)}, got {name!r}"
                )

    @property
    def is_the_papers(self) -> bool:
        """True if the paper reports numbers for these sizes."""
        return (self.actions, self.horizon) == (3, 20)

    def has(self, *names: str) -> bool:
        """True if any of these experiments is requested."""
        return not self.only or any(name in self.only for name in names)

    def sizes(self) -> Sizes:
        """Sample sizes of the experiments."""
        if self.quick:
            return QUICK
        return Sizes()

    def trainings(self) -> dict[str, TrainConfig]:
        """Settings of every model that the experiments use, by name."""
        if self.quick:
            layer = {"batch": 1024, "sequences": 10_000}
            # half the width learns as much from the same number of sequences, in half the time
            deep = {"batch": 32, "sequences": 500, "width": 16, "heads": 2, "rate": 0.006}
            return {
                "linear": self._training("linear", 150, layer),
                "linear-hindsight": self._training(
                    "linear", 100, layer, batch=2048, objective="hindsight"
                ),
                "ball": self._training("linear", 150, layer, operator="ball"),
                "swap": self._training("swap", 100, layer),
                "swap-closed": self._training(
                    "swap", 100, layer, batch=256, objective="swap-closed"
                ),
                "transformer-2": self._training("transformer", 900, deep, layers=2),
                "transformer-4": self._training("transformer", 600, deep, layers=4),
            }
        layer = {"batch": 4096, "sequences": 200_000}  # another digit of the step than 2048
        deep = {"sequences": 2000}
        hindsight = {"objective": "hindsight"}
        return {
            "linear": self._training("linear", 1000, layer),
            "linear-hindsight": self._training("linear", 1000, layer, batch=8192, **hindsight),
            "full": self._training("full", 1000, layer),
            "ball": self._training("linear", 1000, layer, operator="ball"),
            "swap": self._training("swap", 1000, layer),
            "swap-closed": self._training("swap", 400, layer, batch=512, objective="swap-closed"),
            "transformer-2": self._training("transformer", 2000, deep, layers=2),
            "transformer-2-hindsight": self._training(
                "transformer", 2000, deep, layers=2, **hindsight
            ),
            "transformer-4": self._training("transformer", 1500, deep, layers=4),
            "transformer-4-hindsight": self._training(
                "transformer", 1500, deep, layers=4, **hindsight
            ),
        }

    def _training(self, model: Any, steps: int, common: dict[str, Any], **more: Any) -> TrainConfig:
        settings: dict[str, Any] = {"steps": steps, "seeds": SEEDS, **common, **more}
        return TrainConfig(model, self.actions, self.horizon, **settings)
