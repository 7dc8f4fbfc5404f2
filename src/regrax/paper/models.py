"""The models the paper trains: which, on what objective, for how long, and where they are kept."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from safetensors.numpy import load, save

from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.files import write_whole
from regrax.learners import Learner
from regrax.paper.store import Store
from regrax.training import (
    ClosedLoopSwapObjective,
    HindsightObjective,
    Objective,
    RegretObjective,
    Report,
    SwapRegretObjective,
    fit,
)
from regrax.training.distributions import Batch
from regrax.training.objectives import policies

ACTIONS, HORIZON, SEEDS = 3, 20, 3
REPORT_EVERY = 25  # steps

Kind = Literal["linear", "full", "ball", "swap", "transformer"]
Aim = Literal["regret", "hindsight", "swap", "swap-closed"]


@dataclass(frozen=True)
class Training:
    """One kind of model on one objective; whatever is None is as the model's recipe has it."""

    name: str
    kind: Kind
    aim: Aim
    layers: int = 0
    steps: int | None = None
    batch: int | None = None
    actions: int = ACTIONS
    horizon: int = HORIZON
    seeds: int = SEEDS
    seed: int = 0


FULL = (
    Training("linear", "linear", "regret"),
    Training("linear-hindsight", "linear", "hindsight"),
    Training("full", "full", "regret"),
    Training("ball", "ball", "regret"),
    Training("swap", "swap", "swap"),
    Training("swap-closed", "swap", "swap-closed"),
    Training("transformer-2", "transformer", "regret", 2),
    Training("transformer-4", "transformer", "regret", 4),
    Training("transformer-2-hindsight", "transformer", "hindsight", 2),
    Training("transformer-4-hindsight", "transformer", "hindsight", 4),
)

QUICK = (
    Training("linear", "linear", "regret", steps=400),
    Training("linear-hindsight", "linear", "hindsight", steps=400),
    Training("ball", "ball", "regret", steps=300),
    Training("swap", "swap", "swap", steps=400),
    Training("swap-closed", "swap", "swap-closed", steps=100, batch=256),
    Training("transformer-2", "transformer", "regret", 2, steps=150),
    Training("transformer-4", "transformer", "regret", 4, steps=100),
)


def models_of(
    training: Training, store: Store, heard: Callable[[Report], None] | None = None
) -> Learner:
    """The trained models, seeds stacked on a leading axis: read from the store, or trained and kept."""
    path = store.path(f"model-{training.name}", asdict(training), ".safetensors")
    if path.exists():
        return unpack(fresh(training), path.read_bytes())
    keys = jax.random.split(jax.random.key(training.seed + 1), training.seeds)
    fitted = fit(
        fresh(training),
        objective(training),
        key=keys,
        steps=training.steps,
        batch=training.batch,
        every=REPORT_EVERY,
        callback=heard,
    )
    write_whole(path, pack(fitted.model))
    return fitted.model


def fresh(training: Training) -> Learner:
    """Random parameters, one set a seed."""
    makers: dict[Kind, Callable[[Any], Learner]] = {
        "linear": lambda key: LinearAttention(training.actions, key=key),
        "full": lambda key: FullLinearAttention(training.actions, key=key),
        "ball": lambda key: LinearAttention(training.actions, key=key, operator="ball"),
        "swap": lambda key: SwapAttention(training.actions, key=key),
        "transformer": lambda key: Transformer(training.actions, key=key, layers=training.layers),
    }
    keys = jax.random.split(jax.random.key(training.seed), training.seeds)
    return jax.vmap(makers[training.kind])(keys)


def objective(training: Training) -> Objective:
    """What the model is trained on: standard Gaussian losses throughout."""
    sizes = (training.actions, training.horizon)
    makers: dict[Aim, Callable[[], Objective]] = {
        "regret": lambda: RegretObjective(*sizes),
        "hindsight": lambda: HindsightObjective(*sizes),
        "swap": lambda: SwapRegretObjective(*sizes),
        "swap-closed": lambda: ClosedLoopSwapObjective(*sizes),
    }
    return makers[training.aim]()


def seeds_of(models: Learner) -> list[Any]:
    """The models of a stack, one by one."""
    count = jax.tree.leaves(models)[0].shape[0]
    return [jax.tree.map(lambda leaf, i=i: leaf[i], models) for i in range(count)]


@eqx.filter_jit
def answers(learner: Learner, losses: Batch) -> Batch:
    """Every round's policy on every sequence, compiled once for all seeds of a kind."""
    return policies(learner, losses)


def pack(models: Learner) -> bytes:
    """The parameters as safetensors."""
    return save({f"{i:03d}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(models))})


def unpack(template: Learner, data: bytes) -> Learner:
    """The models whose parameters were packed; `template` gives their structure."""
    leaves, structure = jax.tree.flatten(template)
    arrays = load(data)
    return jax.tree.unflatten(
        structure, [jax.numpy.asarray(arrays[f"{i:03d}"]) for i in range(len(leaves))]
    )
