"""Measure the quality of trained models at d = 3, T = 20, for each seed.

    python benchmarks/training_table.py linear swap ball full transformer-2 transformer-4 --seeds 3
    python benchmarks/training_table.py transformer-2 --hindsight

Every row is trained with the plain regret loss unless `--hindsight` says otherwise, with the library's defaults, and
evaluated on 100,000 fresh sequences. One JSON line per seed.
"""

import argparse
import json
import time

import jax
import numpy as np

from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.games import ce_gap, play, swap_gap, weighted_rps
from regrax.training import (
    BiasedGaussian,
    HindsightObjective,
    RegretObjective,
    SwapRegretObjective,
    evaluate,
    fit,
    fit_step_size,
)

ACTIONS, HORIZON = 3, 20
FRESH = jax.random.key(2**31)
MODELS = {
    "linear": lambda key: LinearAttention(ACTIONS, key=key),
    "full": lambda key: FullLinearAttention(ACTIONS, key=key),
    "ball": lambda key: LinearAttention(ACTIONS, key=key, operator="ball"),
    "swap": lambda key: SwapAttention(ACTIONS, key=key),
    "transformer-2": lambda key: Transformer(ACTIONS, layers=2, key=key),
    "transformer-4": lambda key: Transformer(ACTIONS, layers=4, key=key),
}


def objective_for(name: str, hindsight: bool):
    """Return the objective of a model."""
    if hindsight:
        return HindsightObjective(ACTIONS, HORIZON, swap=name == "swap")
    return (SwapRegretObjective if name == "swap" else RegretObjective)(ACTIONS, HORIZON)


def measured(name: str, model, objective) -> dict:
    """Compute the columns of the table."""
    found = evaluate(model, objective, key=FRESH)
    row = {"loss": found.loss, "error": found.error, "optimal_loss": found.optimal_loss}
    if name.startswith("transformer"):
        biased = RegretObjective(ACTIONS, HORIZON, BiasedGaussian(), surrogate="identity")
        return row | {"R_20 biased": evaluate(model, biased, key=FRESH).loss}
    row |= fit_step_size(model, HORIZON, key=FRESH)._asdict()
    return row | (swap_measures(model) if name == "swap" else {})


def swap_measures(model: SwapAttention) -> dict:
    """Compute the distance of the heads from Blum-Mansour's, and the gaps of their play."""
    step, game = 0.447904905444, weighted_rps()
    centred, ideal = (
        np.asarray(m.values - m.values.mean(1, keepdims=True))
        for m in (model, SwapAttention.hedge(ACTIONS, step))
    )
    blocks = centred.reshape((ACTIONS,) * 4)
    joint = play(game, model.calibrated(), rounds=HORIZON).joint
    raw = play(game, model, rounds=HORIZON).joint
    return {
        "head steps": [float(-np.trace(blocks[j, :, j]) / (ACTIONS - 1)) for j in range(ACTIONS)],
        "largest V error": float(np.abs(centred - ideal).max()),
        "largest a": float(np.abs(np.asarray(model.scores)).max()),
        "CE gap calibrated": float(ce_gap(joint, game)),
        "swap gap calibrated": float(swap_gap(joint, game)),
        "CE gap uncalibrated": float(ce_gap(raw, game)),
    }


def main() -> None:
    """Train and print, one JSON line per seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", choices=MODELS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hindsight", action="store_true")
    options = parser.parse_args()
    for name in options.models:
        objective = objective_for(name, options.hindsight)
        for seed in range(options.seeds):
            start, draws = jax.random.split(jax.random.key(seed))
            began = time.perf_counter()
            model = fit(MODELS[name](start), objective, key=draws).model
            jax.block_until_ready(jax.tree.leaves(model))
            row = {"model": name, "objective": type(objective).__name__, "seed": seed}
            row |= {"seconds": round(time.perf_counter() - began, 1)}
            print(json.dumps(row | measured(name, model, objective)), flush=True)


if __name__ == "__main__":
    main()
