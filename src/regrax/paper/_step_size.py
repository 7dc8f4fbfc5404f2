"""Figure 1: the stationary step by Monte Carlo over (d, T), both architectures, beside the exact one."""

from dataclasses import asdict, dataclass
from typing import Literal

import jax
import numpy as np

from regrax import theory
from regrax.experiments.runs import TrainConfig, Trained
from regrax.paper._config import ReproduceConfig
from regrax.paper.certify import monte_carlo_steps

MODELS = ()


@dataclass(frozen=True)
class StepCell:
    """One point of the figure: where, and how many runs of how many samples."""

    architecture: Literal["single", "swap"]
    actions: int
    horizon: int
    runs: int
    samples: int = 800
    seed: int = 0


@dataclass(frozen=True)
class Steps:
    """The estimates of a cell, and the exact step."""

    cell: StepCell
    steps: list[float]
    exact: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.steps))

    @property
    def spread(self) -> float:
        return float(np.std(self.steps, ddof=1))


def parts(config: ReproduceConfig, models: dict[str, TrainConfig]) -> list[StepCell]:
    """The grid cell by cell, so that an interrupted run keeps what it has."""
    actions = {2, 3, config.actions} if config.quick else {2, 3, 5, 10, config.actions}
    horizons = {10, 20, 50, config.horizon} | (set() if config.quick else {100, 200})
    runs = 12 if config.quick else 50
    return [
        StepCell(architecture, d, T, runs)
        for architecture in ("single", "swap")
        for d in sorted(actions)
        for T in sorted(horizons)
    ]


def run(cell: StepCell, models: dict[str, list[Trained]]) -> Steps:
    """Locate the step of one cell."""
    settings = asdict(cell)
    key = jax.random.key(settings.pop("seed"))
    key = jax.random.fold_in(key, 1000 * cell.actions + cell.horizon)
    steps = monte_carlo_steps(**settings, key=key)
    exact = theory.step_size(cell.actions, cell.horizon)
    return Steps(cell, np.asarray(steps, float).tolist(), exact)


def exponent(points: list[Steps], architecture: str, actions: int) -> tuple[float, float]:
    """The slope of log k over log T, estimated and exact."""
    mine = [s for s in points if (s.cell.architecture, s.cell.actions) == (architecture, actions)]
    rounds = np.log([s.cell.horizon for s in mine])
    both = np.polyfit(rounds, np.log([(s.mean, s.exact) for s in mine]), 1)[0]
    return tuple(both.tolist())
