"""The paper's experiments, as functions from settings and trained models to numbers.

Every random test draws fresh sequences for each seed of a model, so that the spread over seeds reflects the noise of
both training and testing.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from regrax import theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.domains import Ball
from regrax.experiments.runs import Measured, TrainConfig, measure
from regrax.games import Game, play, random_zero_sum, running_gaps, weighted_rps
from regrax.learners import (
    BlumMansour,
    EuclideanFTRL,
    FollowTheLeader,
    Hedge,
    Learner,
    RegretMatching,
    RegretMatchingPlus,
    Uniform,
    rollout,
)
from regrax.learners.engine import scan_rounds
from regrax.paper.certify import monte_carlo_steps
from regrax.paper.config import SEEDS, ReproduceConfig
from regrax.regret import external_regret
from regrax.theory import Optimal
from regrax.training import (
    Alternating,
    Batch,
    BiasedGaussian,
    Drifting,
    Gaussian,
    StudentT,
    policies,
)

Models = dict[str, list[Any]]
"""Trained models by name, one per seed."""

CHUNK = 250  # sequences that a learner plays at once; more would take gigabytes


@eqx.filter_jit
def answers(learner: Learner, losses: Batch) -> Batch:
    """Compute the policies in every round of every sequence, in chunks of sequences."""
    rounds, actions, count = losses.shape
    size = np.gcd(count, CHUNK)
    chunks = jnp.moveaxis(losses.reshape(rounds, actions, -1, size), 2, 0)
    played = lax.map(lambda chunk: policies(learner, chunk), chunks)
    return jnp.moveaxis(played, 0, 2).reshape(losses.shape)


def measure_seeds(models: Sequence[Any], config: TrainConfig) -> list[Measured]:
    """Measure each model's loss and its distance from the nearest Hedge, on separate test sequences."""
    key = jax.random.key(5)
    return [
        measure(model, config, key=jax.random.fold_in(key, seed))
        for seed, model in enumerate(models)
    ]


# Figure 1: the stationary step by Monte Carlo


@dataclass(frozen=True)
class StepCell:
    """A point of the figure, the number of Monte Carlo runs, and the number of samples per run."""

    architecture: Literal["single", "swap"]
    actions: int
    horizon: int
    runs: int
    samples: int


@dataclass(frozen=True)
class Steps:
    """Monte Carlo estimates of the stationary step, and the exact step."""

    cell: StepCell
    steps: list[float]
    exact: float

    @property
    def mean(self) -> float:
        """Mean of the estimates."""
        return float(np.mean(self.steps))

    @property
    def spread(self) -> float:
        """Standard deviation of the estimates."""
        return float(np.std(self.steps, ddof=1))


def _step_cells(config: ReproduceConfig) -> list[StepCell]:
    sizes = config.sizes()
    cells = itertools.product(
        ("single", "swap"),
        sorted({*sizes.actions, config.actions}),
        sorted({*sizes.horizons, config.horizon}),
    )
    return [StepCell(*cell, sizes.runs, sizes.samples) for cell in cells]


def locate_step(models: Models, config: ReproduceConfig, cell: StepCell) -> Steps:
    """Estimate the stationary step at one point of the figure."""
    key = jax.random.fold_in(jax.random.key(0), 1000 * cell.actions + cell.horizon)
    steps = monte_carlo_steps(**asdict(cell), key=key)
    exact = theory.step_size(cell.actions, cell.horizon)
    return Steps(cell, steps.tolist(), exact)


# Figure (b): depth


@dataclass(frozen=True)
class Policies:
    """Measurements of one kind of policy, with one value per seed.

    Attributes:
        regret: regret after each round on losses with a hidden best action.
        loss: expected squared regret on Gaussian losses.
        to_hedge: total variation to Hedge at the exact step.
        to_optimal: total variation to the optimal policy.
    """

    regret: list[list[float]]
    loss: list[float]
    to_hedge: list[float]
    to_optimal: list[float]


@dataclass(frozen=True)
class Depth:
    """All kinds of policy by name, and the lower bound on their losses."""

    optimal_loss: float
    policies: dict[str, Policies]


def compare_depths(models: Models, config: ReproduceConfig, _: None) -> Depth:
    """Measure regret on biased losses, population loss, and distances to the two candidate policies."""
    T, d = config.horizon, config.actions
    sizes = config.sizes()
    fixed = {"uniform": Uniform(), "hedge": Hedge(theory.step_size(d, T)), "optimal": Optimal(T)}
    lower_bound = theory.optimal_loss(d, T)
    results = {name: Policies([], [], [], []) for name in (*fixed, *models)}
    for seed in range(SEEDS):
        key = jax.random.fold_in(jax.random.key(11), seed)
        biased = BiasedGaussian().draw(T, d, sizes.biased, key=key)
        gaussian = Gaussian().draw(T, d, sizes.gaussian, key=jax.random.fold_in(key, 1))
        hedge = answers(fixed["hedge"], gaussian)
        optimal = answers(fixed["optimal"], gaussian)
        for name, result in results.items():
            learner = fixed[name] if name in fixed else models[name][seed]
            result.regret.append(running_regret(answers(learner, biased), biased).tolist())
            excess, *variations = distances(answers(learner, gaussian), hedge, optimal)
            result.loss.append(lower_bound + float(excess))
            result.to_hedge.append(float(variations[0]))
            result.to_optimal.append(float(variations[1]))
    for name in fixed:  # one policy for the sequences of all seeds
        columns = vars(results[name]).values()
        results[name] = Policies(
            *(np.mean(column, 0, keepdims=True).tolist() for column in columns)
        )
    return Depth(lower_bound, results)


@jax.jit
def running_regret(played: Batch, losses: Batch) -> Float[Array, "T"]:
    """Compute the mean regret over rounds 1 to t, for every t."""
    suffered = jnp.cumsum(jnp.sum(played * losses, 1), 0)
    return (suffered - jnp.cumsum(losses, 0).min(1)).mean(1)


@jax.jit
def distances(played: Batch, hedge: Batch, optimal: Batch) -> list[Float[Array, ""]]:
    """Compute the expected squared distance from the optimal policy, and total variation to Hedge and to it."""
    excess = ((played - optimal) ** 2).sum((0, 1)).mean()
    return [excess, *(jnp.abs(played - other).sum(1).mean() / 2 for other in (hedge, optimal))]


# The equilibrium figures


@dataclass(frozen=True)
class Equilibrium:
    """Equilibrium gaps of play in a game.

    Attributes:
        game: spec of the game.
        gaps: running gaps by learner and kind of gap, one curve per ordered pair of seeds, or one for a fixed learner.
        horizons: numbers of rounds in the long runs.
        long: gaps at each horizon, with the step for that horizon and (`_fixed`) the step for the training horizon.
        path: policies of Blum-Mansour over 400 rounds.
    """

    game: str
    gaps: dict[str, dict[str, list[list[float]]]]
    horizons: list[int]
    long: dict[str, list[float]]
    path: list[list[float]]


def measure_gaps(models: Models, config: ReproduceConfig, _: None) -> Equilibrium:
    """Measure the gaps of ordered pairs of trained models, of baselines, and of exact learners at long horizons.

    With three actions the game is the paper's, otherwise it is a random zero-sum game.
    """
    actions, horizon = config.actions, config.horizon
    game = weighted_rps() if actions == 3 else random_zero_sum(actions, actions)
    step = theory.step_size(actions, horizon)
    classical = actions * float(np.sqrt(2 * np.log(actions) / horizon))
    learners: dict[str, Sequence[Learner]] = {
        "linear": models["linear"],
        "transformer-2": models["transformer-2"],
        "transformer-4": models["transformer-4"],
        "calibrated": [model.calibrated() for model in models["swap"]],
        "uncalibrated": models["swap"],
        "closed": models["swap-closed"],
        "uniform": [Uniform()],
        "hedge": [Hedge(step)],
        "blum_mansour": [BlumMansour(Hedge(classical))],
        "blum_mansour_best": [BlumMansour(Hedge(actions * step))],
    }
    gaps = {}
    for name, seeds in learners.items():
        gaps[name] = {"cce_gap": [], "ce_gap": [], "swap_gap": []}
        for pair in itertools.product(seeds, repeat=2):
            curves = running_gaps(play(game, pair, horizon), game)
            for kind, found in gaps[name].items():
                found.append(curves[kind].tolist())
    path = play(game, BlumMansour(Hedge(0.3)), 400).policies[0]
    horizons = list(config.sizes().long_horizons)
    long = _long_gaps(game, horizons, step)
    return Equilibrium(game.name, gaps, horizons, long, path.tolist())


def _long_gaps(game: Game, horizons: Sequence[int], fixed: float) -> dict[str, list[float]]:
    """Compute the final gaps at each horizon, with the step for that horizon and with the fixed step.

    The two players' steps differ by one part in a billion. Exact copies would play identically for ever and spiral into
    the equilibrium at any step; in practice even the smallest difference between the players grows.
    """
    d = game.sizes[0]
    learners: dict[str, Callable[[float], Learner]] = {
        "cce": Hedge,
        "ce": lambda step: BlumMansour(Hedge(d * step)),
    }

    gaps = {}
    own = [theory.step_size(d, horizon) for horizon in horizons]
    with jax.enable_x64(True):
        for suffix, steps in (("", own), ("_fixed", [fixed] * len(own))):
            for kind, learner in learners.items():
                last = []
                for step, horizon in zip(steps, horizons, strict=True):
                    pair = (learner(step), learner((1 + 1e-9) * step))
                    # the same number of rounds every time compiles once
                    played = play(game, pair, max(horizons))
                    last.append(float(running_gaps(played, game)[f"{kind}_gap"][horizon - 1]))
                gaps[kind + suffix] = last
    return gaps


# Table 1


@dataclass(frozen=True)
class Systems:
    """Each system's theoretical step, and the largest difference between the layer and its algorithm."""

    steps: dict[str, float]
    differences: dict[str, float]


def compare_systems(models: Models, config: ReproduceConfig, _: None) -> Systems:
    """Compare each layer, at its stationary parameters, with its algorithm in double precision."""
    actions, horizon = config.actions, config.horizon
    soft = theory.step_size(actions, horizon)
    ball = theory.step_size(actions, horizon, operator="ball")
    losses = np.random.default_rng(0).normal(size=(config.sizes().compared, horizon, actions))

    @eqx.filter_jit
    def difference(layer: Learner, algorithm: Learner) -> Array:
        def of_sequence(sequence: Float[Array, "T d"]) -> Array:
            return jnp.abs(rollout(layer, sequence) - rollout(algorithm, sequence)).max()

        return jax.vmap(of_sequence)(jnp.asarray(losses)).max()

    with jax.enable_x64(True):
        pairs: dict[str, tuple[Learner, Learner]] = {
            "ball": (
                LinearAttention.hedge(actions, ball, operator="ball"),
                EuclideanFTRL(ball, Ball()),
            ),
            "linear": (LinearAttention.hedge(actions, soft), Hedge(soft)),
            "swap": (
                SwapAttention.hedge(actions, soft),
                BlumMansour(Hedge(soft), tolerance=1e-13),
            ),
        }
        differences = {name: float(difference(*pair)) for name, pair in pairs.items()}
    return Systems({"ball": ball, "linear": soft, "swap": soft}, differences)


# Beyond the paper: losses and horizons not seen in training

FAMILIES = {
    "Gaussian (trained on)": Gaussian(),
    "biased Gaussian": BiasedGaussian(),
    "alternating": Alternating(),
    "drifting": Drifting(),
    "heavy-tailed": StudentT(),
}


@dataclass(frozen=True)
class Generalization:
    """Mean regret after a number of rounds, by learner and by loss family."""

    rounds: int
    regret: dict[str, dict[str, float]]


def _lengths(config: ReproduceConfig) -> list[int]:
    return [max(2, int(config.horizon * length)) for length in config.sizes().lengths]


def measure_generalization(models: Models, config: ReproduceConfig, rounds: int) -> Generalization:
    """Measure the mean regret of trained and classical learners over `rounds` rounds on every loss family.

    Only the first seed of each model plays.
    """
    actions, horizon = config.actions, config.horizon
    at = f"k*({actions}, {horizon})"
    step = theory.step_size(actions, horizon)
    learners: dict[str, Learner] = {
        "uniform": Uniform(),
        "follow the leader": FollowTheLeader(),
        f"Hedge at {at}": Hedge(step),
        f"Hedge at k*({actions}, T)": Hedge(theory.step_size(actions, rounds)),
        "regret matching": RegretMatching(),
        "regret matching +": RegretMatchingPlus(),
        f"Blum-Mansour at {actions} {at}": BlumMansour(Hedge(actions * step)),
        "best possible for Gaussian": Optimal(rounds),
        "trained: 1 layer": models["linear"][0],
        "trained: swap heads": models["swap"][0].calibrated(),
        "trained: 2 layers": models["transformer-2"][0],
        "trained: 4 layers": models["transformer-4"][0],
    }
    results: dict[str, dict[str, float]] = {name: {} for name in learners}
    for index, (family, distribution) in enumerate(FAMILIES.items()):
        key = jax.random.fold_in(jax.random.key(17), index)
        losses = distribution.draw(rounds, actions, config.sizes().drawn, key=key)
        for name, learner in learners.items():
            regret = running_regret(answers(learner, losses), losses)
            results[name][family] = float(regret[-1])
    for name, learner in learners.items():
        results[name]["adversarial"] = float(adversarial_regret(learner, rounds, actions))
    return Generalization(rounds, results)


@eqx.filter_jit
def adversarial_regret(learner: Learner, rounds: int, actions: int) -> Any:
    """Compute the regret if each round's most likely action has loss 1 and the others 0."""

    def adversary(policies: tuple, _: None) -> tuple:
        (policy,) = policies
        return (jax.nn.one_hot(jnp.argmax(policy), actions),)

    states = (learner.init(actions, rounds),)
    _, played = scan_rounds((learner,), adversary, states, rounds)
    return external_regret(*played.policies, *played.losses)


def _whole(config: ReproduceConfig) -> list[None]:
    return [None]


class Experiment(NamedTuple):
    """A figure or table.

    Attributes:
        names: names on the command line.
        models: trained models it needs, if they are in the configuration.
        run: function of the models, the configuration and a part that computes the part's result.
        result: type of a part's result.
        parts: parts to compute and store one by one.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    run: Callable[..., Any]
    result: Any
    parts: Callable[[ReproduceConfig], list[Any]] = _whole


DEEP = ("transformer-2", "transformer-4")
HINDSIGHT = ("transformer-2-hindsight", "transformer-4-hindsight")
EXPERIMENTS = {
    "step_size": Experiment(("step-size",), (), locate_step, Steps, _step_cells),
    "depth": Experiment(("depth",), ("linear", *DEEP, *HINDSIGHT), compare_depths, Depth),
    "equilibrium": Experiment(
        ("cce", "ce"), ("linear", *DEEP, "swap", "swap-closed"), measure_gaps, Equilibrium
    ),
    "table_one": Experiment(("table-one",), ("ball", "linear", "swap"), compare_systems, Systems),
    "generalization": Experiment(
        ("generalization",),
        ("linear", "swap", *DEEP),
        measure_generalization,
        Generalization,
        _lengths,
    ),
}
MATCHING = ("linear", "linear-hindsight", "full")
"""Models of the experiment that only trains and measures them."""
