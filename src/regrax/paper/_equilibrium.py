"""The equilibrium figures: gaps of joint play in a game, and the corollaries at long horizons."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from regrax import theory
from regrax.experiments.runs import TrainConfig, Trained
from regrax.games import Game, play, random_zero_sum, running_gaps, weighted_rps
from regrax.learners import BlumMansour, Hedge, Learner, Uniform
from regrax.paper._config import ReproduceConfig

MODELS = ("linear", "transformer-2", "transformer-4", "swap", "swap-closed")


@dataclass(frozen=True)
class EquilibriumConfig:
    """The horizons at which the corollaries are checked, and by what factor the players' steps differ there.

    Two exact copies play alike for ever, and play that is alike spirals into the equilibrium at any step; the least
    difference between them grows, and is what a user meets.
    """

    actions: int
    horizon: int
    horizons: list[int]
    models: dict[str, TrainConfig]
    apart: float = 1 + 1e-9


Gaps = dict[str, list[list[float]]]
"""Running gaps of joint play by name, a curve per ordered pair of checkpoints, or one for a fixed learner."""


@dataclass(frozen=True)
class Equilibrium:
    """Gaps by who plays whom, and at long horizons.

    Attributes:
        game: its spec.
        gaps: by who plays whom.
        horizons: of the long plays.
        long: gaps after each horizon, at its own step and at that of the first.
        path: of Blum-Mansour's policy.
    """

    game: str
    gaps: dict[str, Gaps]
    horizons: list[int]
    long: dict[str, list[float]]
    path: list[list[float]]


def parts(config: ReproduceConfig, models: dict[str, TrainConfig]) -> list[EquilibriumConfig]:
    """The one part of the experiment."""
    horizons = [20, 100, 500] if config.quick else [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
    return [EquilibriumConfig(config.actions, config.horizon, horizons, models)]


def game_of(actions: int) -> Game:
    """The paper's game for three actions, a random zero-sum game for any other number."""
    return weighted_rps() if actions == 3 else random_zero_sum(actions, actions)


def run(config: EquilibriumConfig, models: dict[str, list[Trained]]) -> Equilibrium:
    """Gap curves of ordered pairs for every kind of trained model, of the baselines, and at long horizons."""
    d, game = config.actions, game_of(config.actions)
    step = theory.step_size(d, config.horizon)
    classical = d * float(np.sqrt(2 * np.log(d) / config.horizon))
    seeds: dict[str, Any] = {n: [one.model for one in models[n]] for n in config.models}
    seats: dict[str, Sequence[Learner]] = {
        **{name: seeds[name] for name in ("linear", "transformer-2", "transformer-4")},
        "calibrated": [model.calibrated() for model in seeds["swap"]],
        "uncalibrated": seeds["swap"],
        "closed": seeds["swap-closed"],
        "uniform": [Uniform()],
        "hedge": [Hedge(step)],
        "blum_mansour": [BlumMansour(Hedge(classical))],
        "blum_mansour_best": [BlumMansour(Hedge(d * step))],
    }
    path = play(game, BlumMansour(Hedge(0.3)), 400).policies[0]
    return Equilibrium(
        str(game),
        {name: _pairs(who, game, config.horizon) for name, who in seats.items()},
        config.horizons,
        _long(game, config.horizons, step, config.apart),
        np.asarray(path, float).tolist(),
    )


def _pairs(seeds: Sequence[Learner], game: Game, rounds: int) -> Gaps:
    """Running gaps of every ordered pair of checkpoints: row player by column player."""
    plays = [play(game, pair, rounds) for pair in itertools.product(seeds, repeat=2)]
    found = [running_gaps(one, game) for one in plays]
    names = ("cce_gap", "ce_gap", "swap_gap")
    return {n: [np.asarray(curves[n], float).tolist() for curves in found] for n in names}


def _long(
    game: Game, horizons: Sequence[int], fixed: float, apart: float
) -> dict[str, list[float]]:
    """Final gaps at each horizon with the step for that horizon, and with the fixed one.

    Every step is played to the last horizon, by one program, and read off at its own.
    """
    found, d = {}, game.sizes[0]
    own = [theory.step_size(d, horizon) for horizon in horizons]
    with jax.enable_x64(True):
        for suffix, steps in (("", own), ("_fixed", [fixed] * len(own))):
            for gap, learner in (("cce", Hedge), ("ce", lambda k: BlumMansour(Hedge(d * k)))):
                pairs = [(learner(k), learner(apart * k)) for k in steps]
                curves = [running_gaps(play(game, two, max(horizons)), game) for two in pairs]
                ends = zip(curves, horizons, strict=True)
                found[gap + suffix] = [float(one[f"{gap}_gap"][T - 1]) for one, T in ends]
    return found
