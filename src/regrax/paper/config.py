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


HINDSIGHT = {"objective": "hindsight"}
TRAININGS: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "linear": ("linear", {}, (1000, 4096), (150, 1024)),  # another digit of the step than 2048
    "linear-hindsight": ("linear", HINDSIGHT, (1000, 8192), (100, 2048)),
    "full": ("full", {}, (1000, 4096), None),
    "ball": ("linear", {"operator": "ball"}, (1000, 4096), (150, 1024)),
    "swap": ("swap", {}, (1000, 4096), (100, 1024)),
    "swap-closed": ("swap", {"objective": "swap-closed"}, (400, 512), (100, 256)),
    "transformer-2": ("transformer", {"layers": 2}, (2000, None), (900, 32)),
    "transformer-2-hindsight": ("transformer", {"layers": 2, **HINDSIGHT}, (2000, None), None),
    "transformer-4": ("transformer", {"layers": 4}, (1500, None), (600, 32)),
    "transformer-4-hindsight": ("transformer", {"layers": 4, **HINDSIGHT}, (1500, None), None),
}
"""For each trained model: its kind and settings, and its steps and batch in the full and in the quick run."""


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
        trainings = {}
        for name, (model, own, full, quick) in TRAININGS.items():
            sizes = quick if self.quick else full
            if sizes is None:
                continue
            settings = {"steps": sizes[0], "batch": sizes[1], "seeds": SEEDS, **own}
            if model != "transformer":
                settings["sequences"] = 10_000 if self.quick else 200_000
            elif self.quick:
                # half the width learns as much from the same number of sequences, in half the time
                settings |= {"sequences": 500, "width": 16, "heads": 2, "rate": 0.006}
            else:
                settings["sequences"] = 2000
            trainings[name] = TrainConfig(model, self.actions, self.horizon, **settings)
        return trainings
